// A table of webhooks and their states.
import { useEffect, useState } from "preact/hooks";
import type { Webhook } from "../../../packages/parley-client/src/index.ts";
import { useSession } from "../session/session.ts";
import type { Pages } from "../ui/use-pages.ts";
import { type HookState, toEventsText, toHookState, toOrigin } from "./advice.ts";
import { UserLink } from "./directory.tsx";
import { Badge, Time } from "./parts.tsx";
import { toWebhookPlace } from "./places.ts";
import { type Column, Table } from "./table.tsx";

/** How many deliveries to read to judge a webhook. */
export const JUDGED = 20;

export function WebhookTable(props: {
  label: string;
  pages: Pages<Webhook>;
  states: HookStates;
  /** Filters the listed webhooks; all by default. */
  isShown?: (hook: Webhook) => boolean;
  /** Whether all webhooks are of the user whose page is open. */
  isOfOne?: boolean;
  /** Whether the state says why a webhook fails, in a sentence. */
  isExplained?: boolean;
}) {
  const { pages, states, isShown = () => true } = props;
  const columns: Column<Webhook>[] = [
    {
      label: "Receiver",
      kind: "name",
      cell: (hook) => (
        <a class="row-link ellipsis" href={toWebhookPlace(hook.id)}>
          {toOrigin(hook)}
        </a>
      ),
    },
    {
      label: "State",
      cell: ({ id }) => <StateCell state={states.get(id)} isExplained={props.isExplained} />,
    },
    ...(props.isOfOne ? [] : [{ label: "User", cell: ({ user_id }: Webhook) => <UserLink id={user_id} /> }]),
    { label: "Events", cell: (hook) => <span class="small clamp">{toEventsText(hook)}</span> },
    { label: "Created", kind: "minor", cell: ({ created_at }) => <Time seconds={created_at} /> },
  ];
  return (
    <Table
      label={props.label}
      columns={columns}
      items={pages.items.filter(isShown)}
      isBusy={!pages.current}
    />
  );
}

function StateCell({
  state,
  isExplained,
}: {
  state: HookState | undefined;
  isExplained: boolean | undefined;
}) {
  if (!state) return <span class="muted">…</span>;
  return (
    <span class="hook-state">
      <Badge tone={state.tone}>{state.label}</Badge>
      {state.diagnosis && <span class="small">{state.diagnosis.short}</span>}
      {isExplained && state.diagnosis && <span class="muted small">{state.diagnosis.problem}</span>}
    </span>
  );
}

/** The state of each webhook, by id, as far as it is known. */
export type HookStates = ReadonlyMap<string, HookState>;

/** Reads the latest deliveries of each webhook, once. */
export function useHookStates(hooks: readonly Webhook[]): HookStates {
  const { parley, endIfRefused } = useSession();
  const [states, setStates] = useState<HookStates>(new Map());
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    for (const hook of hooks) {
      if (states.has(hook.id)) continue;
      parley.webhooks.listDeliveries(hook.id, { limit: JUDGED }, { signal }).then(
        ({ data }) => setStates((known) => new Map(known).set(hook.id, toHookState(hook, data))),
        (error) => signal.aborted || endIfRefused(error),
      );
    }
    return () => controller.abort();
  }, [hooks, parley]);
  return states;
}
