// The webhooks of all users.
import { useState } from "preact/hooks";
import type { Webhook } from "../../../packages/parley-client/src/index.ts";
import { useSession } from "../session/session.ts";
import { Choice } from "../ui/choice.tsx";
import { counted } from "../ui/format.ts";
import { Icon } from "../ui/icons.tsx";
import { type Pages, usePages } from "../ui/use-pages.ts";
import { Empty, More, PageHead } from "./parts.tsx";
import { CreateWebhook } from "./webhook-form.tsx";
import { type HookStates, useHookStates, WebhookTable } from "./webhook-table.tsx";

const PAGE = 50;

const CHOICES = [
  ["all", "All"],
  ["failing", "Failing"],
  ["disabled", "Disabled"],
] as const;
type Shown = (typeof CHOICES)[number][0];

export function WebhooksPage() {
  const { me } = useSession();
  if (me.scopes.includes("events:read")) return <AllWebhooks />;
  return (
    <>
      <PageHead title="Webhooks" />
      <MissingScope />
    </>
  );
}

/** Shown instead of webhooks if the token lacks the scope. */
export function MissingScope() {
  return (
    <Empty
      icon="hook"
      title="This token does not show webhooks"
      text="Webhooks need the scopes admin and events:read. Create a token with both for yourself, and sign in with it."
    >
      <a class="button" href="#admin/tokens">
        Create a token
      </a>
    </Empty>
  );
}

function AllWebhooks() {
  const { parley } = useSession();
  const webhooks = usePages<Webhook>("", (after, signal) =>
    parley.webhooks.list({ all: true, limit: PAGE, ...(after && { starting_after: after }) }, { signal }),
  );
  const states = useHookStates(webhooks.items);
  const [shown, setShown] = useState<Shown>("all");
  const isShown = ({ id, enabled }: Webhook) =>
    shown === "all" || (shown === "disabled" ? !enabled : states.get(id)?.label === "Failing");
  const isNoneShown = webhooks.items.length > 0 && !webhooks.items.some(isShown);
  const [isCreating, setCreating] = useState(false);
  return (
    <>
      <PageHead title="Webhooks">
        <button type="button" class="button primary" onClick={() => setCreating(true)}>
          <Icon name="add" />
          Create a webhook
        </button>
      </PageHead>
      {webhooks.items.length > 0 && (
        <>
          <div class="page-tools">
            <Choice
              legend="Which webhooks are listed"
              name="hooks"
              chosen={shown}
              choices={CHOICES}
              onChoose={setShown}
            />
            <span class="muted small" role="status">
              {toSummary(webhooks, states)}
            </span>
          </div>
          {!isNoneShown && (
            <WebhookTable label="Webhooks" pages={webhooks} states={states} isShown={isShown} />
          )}
        </>
      )}
      {isNoneShown && areKnown(webhooks.items, states) && (
        <p class="muted">
          {webhooks.hasMore ? `None of the newest ${webhooks.items.length} webhooks` : "No webhook"} is{" "}
          {shown}.
        </p>
      )}
      {webhooks.items.length === 0 && webhooks.current && !webhooks.failure && (
        <Empty
          icon="hook"
          title="No webhooks yet"
          text="A webhook sends events to your back end, and shows here whether they arrive."
        />
      )}
      <More pages={webhooks} />
      {isCreating && (
        <CreateWebhook
          onCreated={(hook) => webhooks.edit((items) => [hook, ...items])}
          onClose={() => setCreating(false)}
        />
      )}
    </>
  );
}

function areKnown(hooks: readonly Webhook[], states: HookStates): boolean {
  return hooks.every(({ id }) => states.has(id));
}

/** Returns how many webhooks fail, once the state of each loaded one is known. */
function toSummary({ items, hasMore }: Pages<Webhook>, states: HookStates): string {
  if (!areKnown(items, states)) return "";
  const failing = items.filter(({ id }) => states.get(id)?.label === "Failing").length;
  const which = hasMore ? ` of the newest ${items.length}` : "";
  return failing === 0
    ? `None${which} is failing`
    : `${counted(failing, "webhook is", "webhooks are")} failing${which && `,${which}`}`;
}
