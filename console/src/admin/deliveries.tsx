// The deliveries of a webhook. Polls the states while some are pending.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Delivery, Webhook } from "../../../packages/parley-client/src/index.ts";
import { nameLimit } from "../failures.ts";
import { useSession } from "../session/session.ts";
import { type Pages, usePages } from "../ui/use-pages.ts";
import { diagnose, isFailing, toDeliveryState, toEventName } from "./advice.ts";
import { mergeDeliveries, readSince, toOldestOpen } from "./delivery-list.ts";
import { Badge, CopyButton, Time, useVisibleInterval } from "./parts.tsx";
import { ResponseBody } from "./response-body.tsx";
import { type Column, Table } from "./table.tsx";
import { JUDGED } from "./webhook-table.tsx";
import { formatSoon } from "./words.ts";

/** Polling intervals: while some are pending, and otherwise. */
const BUSY_MS = 2000;
const CALM_MS = 10_000;

export interface Deliveries extends Pages<Delivery> {
  /** Shows a delivery that was just sent or resent. */
  add: (delivery: Delivery) => void;
}

/** Why nothing more can be sent to a webhook for now. */
export const TOO_MANY_PENDING =
  "Too many deliveries of this webhook are pending. Wait until the receiver has accepted some.";

/** Deliveries per request after the first page. */
const MANY = 100;

/**
 * Reads the deliveries of a webhook. Also reads the webhook when a delivery has failed for good, because that may
 * disable it.
 */
export function useDeliveries(hook: Webhook, onChange: (hook: Webhook) => void): Deliveries {
  const { parley, endIfRefused } = useSession();
  const list = (limit: number, after?: string, signal?: AbortSignal) =>
    parley.webhooks.listDeliveries(hook.id, { limit, ...(after && { starting_after: after }) }, { signal });
  const pages = usePages<Delivery>(hook.id, (after, signal) => list(JUDGED, after, signal));
  const isRefreshing = useRef(false);
  const controller = useRef<AbortController | undefined>(undefined);
  useEffect(() => {
    controller.current = new AbortController();
    return () => controller.current!.abort();
  }, [hook.id]);
  const refresh = async () => {
    const { signal } = controller.current!;
    const known = new Map(pages.items.map(({ id, state }) => [id, state]));
    const fresh = await readSince(toOldestOpen(pages.items), (after) =>
      list(after ? MANY : JUDGED, after, signal),
    );
    pages.edit((items) => mergeDeliveries(items, fresh));
    const isEnded = fresh.some(({ id, state }) => state === "failed" && known.get(id) !== "failed");
    if (isEnded) onChange(await parley.webhooks.retrieve(hook.id, { signal }));
  };
  const poll = () => {
    // A page request in flight could answer later, with older states.
    if (isRefreshing.current || !pages.current || pages.loading || pages.failure) return;
    isRefreshing.current = true;
    void refresh()
      .catch(endIfRefused)
      .finally(() => {
        isRefreshing.current = false;
      });
  };
  const isBusy = pages.items.some(({ state }) => state === "pending");
  useVisibleInterval(poll, isBusy ? BUSY_MS : CALM_MS);
  return { ...pages, add: (delivery) => pages.edit((items) => mergeDeliveries(items, [delivery])) };
}

export function DeliveryTable({ hook, deliveries }: { hook: Webhook; deliveries: Deliveries }) {
  const { parley, say, report } = useSession();
  const [busyId, setBusyId] = useState("");
  const redeliver = async ({ id }: Delivery) => {
    // The button stays enabled, to keep the focus.
    if (busyId === id) return;
    setBusyId(id);
    try {
      deliveries.add(await parley.webhooks.redeliver(hook.id, id));
      say("The event is sent again.");
    } catch (error) {
      report("The event was not sent again.", nameLimit(error, TOO_MANY_PENDING));
    }
    setBusyId("");
  };
  const columns: Column<Delivery>[] = [
    {
      label: "Event",
      kind: "name",
      cell: ({ type, event_id }) => (
        <span class="two-lines">
          <span>{toEventName(type)}</span>
          <span class="copyable muted small">
            <code>{event_id}</code>
            <CopyButton text={event_id} what="Event id" />
          </span>
        </span>
      ),
    },
    { label: "State", cell: (delivery) => <State delivery={delivery} /> },
    { label: "Last answer", cell: (delivery) => <Answer delivery={delivery} /> },
    { label: "Attempts", kind: "number", cell: ({ attempts }) => attempts },
    { label: "Next attempt", cell: (delivery) => <Next delivery={delivery} /> },
    { label: "Created", kind: "minor", cell: ({ created_at }) => <Time seconds={created_at} /> },
    {
      label: "Actions",
      kind: "actions",
      cell: (delivery) => (
        <button
          type="button"
          class="button small-button"
          aria-label={`Send again: ${toEventName(delivery.type)}`}
          disabled={!hook.enabled}
          onClick={() => redeliver(delivery)}
        >
          Send again
        </button>
      ),
    },
  ];
  return <Table label="Deliveries" columns={columns} items={deliveries.items} isBusy={!deliveries.current} />;
}

function State({ delivery }: { delivery: Delivery }) {
  const { tone, label } = toDeliveryState(delivery);
  return <Badge tone={tone}>{label}</Badge>;
}

function Answer({ delivery }: { delivery: Delivery }) {
  if (delivery.attempts === 0) return <span class="muted">–</span>;
  const { last_status: status, response_body: body } = delivery;
  const { short, problem } = isFailing(delivery) ? diagnose(delivery) : { short: status, problem: "" };
  return (
    <div class="two-lines">
      <span>{short ?? <span class="muted">–</span>}</span>
      {problem && <span class="muted small">{problem}</span>}
      {body && <ResponseBody body={body} />}
    </div>
  );
}

function Next({ delivery }: { delivery: Delivery }) {
  if (delivery.state !== "pending") return <span class="muted">–</span>;
  const at = delivery.next_attempt_at;
  if (at === null) return <span class="muted">After an earlier event</span>;
  return <span class="moment">{formatSoon(at)}</span>;
}
