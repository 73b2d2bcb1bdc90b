// The webhooks whose last attempt failed, and why.
import type { Webhook } from "../../../packages/parley-client/src/index.ts";
import { useSession } from "../session/session.ts";
import { useInterval } from "../ui/use-interval.ts";
import { usePages } from "../ui/use-pages.ts";
import { More } from "./parts.tsx";
import { useHookStates, WebhookTable } from "./webhook-table.tsx";

const SHOWN = 10;
const POLL_MS = 30_000;

export function FailingWebhooks() {
  const { parley, can } = useSession();
  const isAllowed = can("events:read");
  const webhooks = usePages<Webhook>("", async (after, signal) => {
    if (!isAllowed) return { data: [], has_more: false };
    const query = { all: true, failing: true, limit: SHOWN, ...(after && { starting_after: after }) };
    return parley.webhooks.list(query, { signal });
  });
  const states = useHookStates(webhooks.items);
  useInterval(webhooks.reload, POLL_MS);
  if (webhooks.items.length === 0) return null;
  return (
    <section class="admin-section" aria-labelledby="failing">
      <div class="section-head">
        <h2 id="failing">Failing webhooks</h2>
        <a class="button" href="#admin/webhooks">
          All webhooks
        </a>
      </div>
      <WebhookTable label="Failing webhooks" pages={webhooks} states={states} isExplained />
      <More pages={webhooks} />
    </section>
  );
}
