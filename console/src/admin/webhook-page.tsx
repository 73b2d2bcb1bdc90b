// A webhook: its state, why it fails and what to do, and its deliveries.
import { useState } from "preact/hooks";
import type { Delivery, Webhook } from "../../../packages/parley-client/src/index.ts";
import { nameLimit } from "../failures.ts";
import { openPlace } from "../place.ts";
import { useSession } from "../session/session.ts";
import { ConfirmDialog } from "../ui/dialog.tsx";
import { counted } from "../ui/format.ts";
import { Icon } from "../ui/icons.tsx";
import { PageFailure, Reading } from "../ui/page-notes.tsx";
import { type HookState, isFailing, toEventsText, toHookState, toOrigin } from "./advice.ts";
import { type Deliveries, DeliveryTable, TOO_MANY_PENDING, useDeliveries } from "./deliveries.tsx";
import { UserLink } from "./directory.tsx";
import { Badge, CopyButton, Empty, Facts, More, PageHead, Time } from "./parts.tsx";
import { toAuditPlace } from "./places.ts";
import { useOne } from "./use-one.ts";
import { EditWebhook, ShowWebhookSecret } from "./webhook-form.tsx";
import { MissingScope } from "./webhooks-page.tsx";
import { formatSoon } from "./words.ts";

const BACK = { href: "#admin/webhooks", label: "Webhooks" };

export function WebhookPage({ id }: { id: string }) {
  const { me } = useSession();
  if (me.scopes.includes("events:read")) return <OneWebhook id={id} />;
  return (
    <>
      <PageHead title="Webhook" back={BACK} />
      <MissingScope />
    </>
  );
}

function OneWebhook({ id }: { id: string }) {
  const { parley } = useSession();
  const { item, failure, isMissing, retry, change } = useOne(id, (signal) =>
    parley.webhooks.retrieve(id, { signal }),
  );
  if (item) return <Loaded hook={item} onChange={change} />;
  if (!isMissing) return failure ? <PageFailure pages={{ failure, retry }} /> : <Reading />;
  return (
    <>
      <PageHead title="Webhook" back={BACK} />
      <Empty icon="hook" title="This webhook does not exist" text="It may have been deleted.">
        <a class="button" href={toAuditPlace({ about: id })}>
          Look in the audit trail
        </a>
      </Empty>
    </>
  );
}

function Loaded({ hook, onChange }: { hook: Webhook; onChange: (hook: Webhook) => void }) {
  const deliveries = useDeliveries(hook, onChange);
  const state = toHookState(hook, deliveries.items);
  return (
    <>
      <PageHead title={toOrigin(hook)} back={BACK}>
        <Actions hook={hook} onChange={onChange} onSent={deliveries.add} />
      </PageHead>
      {deliveries.current && <Verdict hook={hook} state={state} deliveries={deliveries} />}
      <Facts
        facts={[
          ["User", <UserLink key="user" id={hook.user_id} />],
          ["Events", toEventsText(hook)],
          [
            "Address",
            <span key="address" class="copyable">
              <code>{hook.url}</code>
              <CopyButton text={hook.url} what="Address" />
            </span>,
          ],
          ["Created", <Time key="created" seconds={hook.created_at} />],
        ]}
      />
      <section class="admin-section" aria-labelledby="deliveries">
        <h2 id="deliveries">Deliveries</h2>
        {deliveries.items.length > 0 && <DeliveryTable hook={hook} deliveries={deliveries} />}
        {deliveries.items.length === 0 && deliveries.current && !deliveries.failure && (
          <p class="muted">Nothing has been sent yet. The owner of the webhook can send a test event.</p>
        )}
        <More pages={deliveries} />
      </section>
    </>
  );
}

/** Shows the most important thing first: whether the webhook works, and if not, why and what to do. */
function Verdict(props: { hook: Webhook; state: HookState; deliveries: Deliveries }) {
  const { hook, state, deliveries } = props;
  const { diagnosis } = state;
  return (
    <section class={`verdict ${state.tone}`} aria-label="State" role="status">
      <p class="verdict-head">
        <Badge tone={state.tone}>{state.label}</Badge>
        {diagnosis && <strong>{diagnosis.short}</strong>}
      </p>
      {diagnosis && (
        <>
          <p>{diagnosis.problem}</p>
          <p>{diagnosis.advice}</p>
        </>
      )}
      {!hook.enabled && (
        <p>
          The webhook gets no events until it is enabled. Parley disables one that has accepted nothing for
          days, and one that answers 410.
        </p>
      )}
      {hook.enabled && <Waiting hook={hook} deliveries={deliveries} />}
    </section>
  );
}

/** Says how many events wait for a retry or for an earlier event, and has a button that sends them. */
function Waiting({ hook, deliveries }: { hook: Webhook; deliveries: Deliveries }) {
  const { parley } = useSession();
  const act = useAction();
  const pending = deliveries.items.filter(({ state }) => state === "pending");
  // Those without a time follow these.
  const due = pending.filter(({ next_attempt_at }) => next_attempt_at !== null);
  const count = pending.filter((each) => isFailing(each) || each.next_attempt_at === null).length;
  if (count === 0) return null;
  const sendAll = () =>
    act("Not all events were sent.", "The waiting events are being sent.", async () => {
      for (const { id } of due) deliveries.add(await parley.webhooks.redeliver(hook.id, id));
    });
  return (
    <p class="verdict-waiting">
      <span>
        {deliveries.hasMore ? `${count}+ events are` : counted(count, "event is", "events are")} waiting.
        {due.length > 0 &&
          ` Next attempt: ${formatSoon(Math.min(...due.map((each) => each.next_attempt_at!)))}.`}
      </span>
      {due.length > 0 && (
        <button type="button" class="button small-button" onClick={sendAll}>
          Send all now
        </button>
      )}
    </p>
  );
}

/** Returns a function that makes one request at a time, and says how it ended. */
function useAction() {
  const { say, report } = useSession();
  const [isBusy, setBusy] = useState(false);
  return async (failed: string, done: string, request: () => Promise<void>) => {
    // The buttons stay enabled, to keep the focus.
    if (isBusy) return;
    setBusy(true);
    try {
      await request();
      say(done);
    } catch (error) {
      report(failed, nameLimit(error, TOO_MANY_PENDING));
    }
    setBusy(false);
  };
}

function Actions(props: {
  hook: Webhook;
  onChange: (hook: Webhook) => void;
  onSent: (delivery: Delivery) => void;
}) {
  const { hook, onChange, onSent } = props;
  const { parley, me } = useSession();
  const act = useAction();
  const [asking, setAsking] = useState<"disable" | "delete" | "edit" | "rotate">();
  const [secret, setSecret] = useState<string>();
  const test = () =>
    act("The test was not sent.", "A test event was sent.", async () =>
      onSent(await parley.webhooks.test(hook.id)),
    );
  const setEnabled = (enabled: boolean) =>
    act(
      `The webhook was not ${enabled ? "enabled" : "disabled"}.`,
      `The webhook was ${enabled ? "enabled" : "disabled"}.`,
      async () => onChange(await parley.webhooks.update(hook.id, { enabled })),
    );
  const remove = () =>
    act("The webhook was not deleted.", "The webhook was deleted.", async () => {
      await parley.webhooks.delete(hook.id);
      openPlace("admin/webhooks");
    });
  const rotate = () =>
    act("The secret was not rotated.", "The previous secret also signs for 24 hours.", async () =>
      setSecret((await parley.webhooks.rotateSecret(hook.id)).secret),
    );
  const close = () => setAsking(undefined);
  return (
    <>
      {hook.user_id === me.id && (
        <>
          <button type="button" class="button" disabled={!hook.enabled} onClick={test}>
            <Icon name="send" />
            Send a test
          </button>
          <button type="button" class="button" onClick={() => setAsking("rotate")}>
            Rotate the secret
          </button>
          <button type="button" class="button" onClick={() => setAsking("edit")}>
            <Icon name="edit" />
            Change
          </button>
        </>
      )}
      {hook.enabled ? (
        <button type="button" class="button" onClick={() => setAsking("disable")}>
          Disable
        </button>
      ) : (
        <button type="button" class="button primary" onClick={() => setEnabled(true)}>
          Enable
        </button>
      )}
      <button type="button" class="button danger" onClick={() => setAsking("delete")}>
        Delete
      </button>
      {asking === "edit" && <EditWebhook hook={hook} onChange={onChange} onClose={close} />}
      {secret && <ShowWebhookSecret secret={secret} onClose={() => setSecret(undefined)} />}
      {asking === "rotate" && (
        <ConfirmDialog
          title="Rotate the secret?"
          text="You get a new secret, shown once. The previous one also signs for 24 hours: replace it in the receiver by then."
          action="Rotate"
          onConfirm={rotate}
          onClose={close}
        />
      )}
      {asking === "disable" && (
        <ConfirmDialog
          title="Disable this webhook?"
          text="It gets no events until you enable it. Events that happen meanwhile are not sent later."
          action="Disable"
          onConfirm={() => setEnabled(false)}
          onClose={close}
        />
      )}
      {asking === "delete" && (
        <ConfirmDialog
          title="Delete this webhook?"
          text="Pending deliveries are dropped, and the receiver gets no more events. You can't undo this. To pause it, disable it instead."
          action="Delete"
          onConfirm={remove}
          onClose={close}
        />
      )}
    </>
  );
}
