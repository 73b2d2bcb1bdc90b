// A window on the messages of a conversation, oldest first. Scrolling extends it at one end and drops messages at the
// other, so the page stays small.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Message } from "../../../packages/parley-client/src/index.ts";
import type {
  AroundState,
  AroundView,
  ConversationState,
  Sync,
  SyncMessage,
} from "../../../packages/parley-sync/src/index.ts";
import { nullIfGone } from "../failures.ts";
import { useFileDetails } from "../files/use-file-details.ts";
import { useView } from "../session/copy.ts";
import { useChanges, useSession } from "../session/session.ts";
import { useLoading } from "../session/use-loading.ts";
import { useRedraw } from "../ui/use-redraw.ts";

const PAGE = 50;
const MAX_HELD = 400;
/** Greater than all ids. */
const AFTER_ALL = "~";
const NOWHERE = { subscribe: () => () => {}, getSnapshot: () => undefined };

export interface Messages {
  /** Messages of the server. */
  items: readonly SyncMessage[];
  /** Those that are still to be sent. */
  outgoing: readonly SyncMessage[];
  hasOlder: boolean;
  hasNewer: boolean;
  /** Whether another page at one end removes messages at the other. */
  isFull: boolean;
  loading: boolean;
  failure: string;
  older: () => void;
  newer: () => void;
  /** Shows the newest messages, or those around one of them. */
  open: (around?: string) => void;
  retry: (() => void) | undefined;
}

interface All {
  messages: readonly SyncMessage[];
  hasOlder: boolean;
  hasNewer: boolean;
}

/** The ids of the first and the last message of the window; undefined where it ends with the conversation. */
interface Range {
  first: string | undefined;
  last: string | undefined;
}

const NEWEST: Range = { first: undefined, last: undefined };

/** Whether the server has it. */
export const isSent = ({ id }: SyncMessage) => id.startsWith("msg_");

/** Joins messages that are far back with the newest ones, once nothing is missing in between. */
function join({ messages, hasOlder }: ConversationState, far: AroundState | undefined): All {
  const newest = messages.filter(isSent);
  if (!far) return { messages: newest, hasOlder, hasNewer: false };
  const first = newest[0]?.id ?? AFTER_ALL;
  if (far.hasNewer && (far.messages.at(-1)?.id ?? "") < first) return far;
  const before = far.messages.filter(({ id }) => id < first);
  return { messages: [...before, ...newest], hasOlder: far.hasOlder, hasNewer: false };
}

class MessageWindow {
  range = NEWEST;
  all: All = { messages: [], hasOlder: true, hasNewer: false };
  /** Messages far back, which the copy does not have. */
  far: AroundView | undefined;
  /** Loads what is wanted next. */
  load = async () => {};
  #sync: Sync;
  #id: string;

  constructor(sync: Sync, id: string) {
    this.#sync = sync;
    this.#id = id;
  }

  /** Where the window begins and ends in the list. */
  get bounds(): [start: number, end: number] {
    const { messages } = this.all;
    const { first, last } = this.range;
    const end = last === undefined ? messages.length : messages.findLastIndex(({ id }) => id <= last) + 1;
    if (first === undefined) return [Math.max(0, end - PAGE), end];
    const at = messages.findIndex(({ id }) => id >= first);
    return [at < 0 ? messages.length : at, end];
  }

  /** Moves the window. Returns true: nothing is to be loaded. */
  show(start: number, end: number): true {
    const { messages, hasOlder, hasNewer } = this.all;
    this.range = {
      first: start <= 0 && !hasOlder ? "" : messages[Math.max(0, start)]?.id,
      last:
        end >= messages.length && !hasNewer ? undefined : messages[Math.min(end, messages.length) - 1]?.id,
    };
    return true;
  }

  #showAround(id: string): true {
    const { messages } = this.all;
    const at = messages.findIndex((each) => each.id >= id);
    return this.show((at < 0 ? messages.length : at) - PAGE / 2, at < 0 ? messages.length : at + PAGE / 2);
  }

  /** Shows the newest messages, or those around one of them. Returns false if they must be loaded. */
  open(around: string | undefined): boolean {
    const [oldest] = this.all.messages;
    if (around === undefined) {
      this.close();
      this.range = NEWEST;
      return true;
    }
    const isHere = oldest && (oldest.id <= around || !this.all.hasOlder) && !this.all.hasNewer;
    if (isHere) return this.#showAround(around);
    const load = async () => {
      const far = await this.#sync.around(this.#id, around);
      // Another message is wanted by now, or none.
      if (this.load !== load) return far.close();
      this.close();
      this.far = far;
      this.all = join(this.#sync.conversation(this.#id).getSnapshot(), far.getSnapshot());
      this.#showAround(around);
    };
    this.load = load;
    return false;
  }

  /** Extends the window upwards. Returns false if older messages must be loaded. */
  older(): boolean {
    const [start, end] = this.bounds;
    const from = Math.max(0, start - PAGE);
    if (start > 0) return this.show(from, Math.min(end, from + MAX_HELD));
    this.load = async () => {
      const first = this.all.messages[0]?.id;
      await (this.far ?? this.#sync.conversation(this.#id)).loadOlder();
      this.range = { ...this.range, first };
    };
    return !this.all.hasOlder;
  }

  newer(): boolean {
    const [start, end] = this.bounds;
    const to = Math.min(this.all.messages.length, end + PAGE);
    if (to > end) return this.show(Math.max(start, to - MAX_HELD), to);
    this.load = async () => this.far?.loadNewer();
    return !this.all.hasNewer;
  }

  /** Also cancels a jump that is still loading. */
  close(): void {
    this.far?.close();
    this.far = undefined;
    this.load = async () => {};
  }
}

/** `around`: where to start; undefined for the newest. The copy must have loaded the conversation. */
export function useMessages(id: string, state: ConversationState, around: string | undefined): Messages {
  const { sync, people } = useSession();
  const redraw = useRedraw();
  const [view] = useState(() => new MessageWindow(sync, id));
  const loading = useLoading(() => view.load());
  const far = useView<AroundState | undefined>(view.far ?? NOWHERE);
  const all = useMemo(() => join(state, far), [state, far]);
  view.all = all;
  const [start, end] = view.bounds;
  const items = useMemo(() => all.messages.slice(start, end), [all, start, end]);
  const isEmpty = items.length === 0 && (start > 0 || all.hasOlder || all.hasNewer);
  const open = (around?: string) => (view.open(around) ? redraw() : loading.restart());
  const extend = (act: "older" | "newer") => {
    if (loading.loading) return;
    const [before] = view.bounds;
    const last = view.range.last;
    if (!view[act]()) loading.more();
    else if (view.bounds[0] !== before || view.range.last !== last) redraw();
  };
  const [hasBegun, setBegun] = useState(around === undefined);
  useLayoutEffect(() => {
    if (around !== undefined) open(around);
    setBegun(true);
    return () => view.close();
  }, [view]);
  useEffect(() => {
    // Nothing is known, or all messages of the window were deleted.
    if (isEmpty) extend("older");
    // The shown messages do not move when others follow.
    else if (view.range.first === undefined && items[0]) view.show(start, end);
  });
  useEffect(() => people.learn(items.map(({ sender }) => sender)), [items]);
  return {
    items: useFileDetails(id, items),
    outgoing: useMemo(() => state.messages.filter((each) => !isSent(each)), [state]),
    hasOlder: start > 0 || all.hasOlder,
    hasNewer: end < all.messages.length || all.hasNewer,
    isFull: items.length > MAX_HELD - PAGE,
    loading: loading.loading || !hasBegun || (isEmpty && !loading.failure),
    failure: loading.failure,
    older: () => extend("older"),
    newer: () => extend("newer"),
    open,
    retry: loading.retry,
  };
}

/** Returns quoted messages that are not in the window; null for deleted ones. */
export function useQuoted(
  items: readonly Message[],
  copied: readonly Message[],
): (id: string) => Message | null | undefined {
  const { parley } = useSession();
  const [loaded, setLoaded] = useState<ReadonlyMap<string, Message | null>>(new Map());
  /** The latest request of each message. A change of the message is newer than a running request's answer. */
  const requests = useRef(new Map<string, object>());
  const held = useMemo(() => new Map([...copied, ...items].map((each) => [each.id, each])), [copied, items]);
  const ask = (id: string) => {
    const request = {};
    requests.current.set(id, request);
    const isNewest = () => requests.current.get(id) === request;
    parley.messages
      .retrieve(id)
      .catch(nullIfGone)
      .then((message) => isNewest() && setLoaded((old) => new Map(old).set(id, message)))
      // The next change of the page retries, and so does a restored connection.
      .catch(() => isNewest() && requests.current.delete(id));
  };
  const askMissing = () => {
    for (const { reply_to_id: id } of items)
      if (id !== null && !held.has(id) && !requests.current.has(id)) ask(id);
  };
  useEffect(askMissing, [items]);
  useChanges((change) => {
    if (change.type === "missed") requests.current.clear();
    if (change.type === "retry") askMissing();
    if (change.type !== "message.updated" && change.type !== "message.deleted") return;
    const { id } = change.payload;
    if (!requests.current.has(id)) return;
    requests.current.set(id, change);
    setLoaded((old) => new Map(old).set(id, change.type === "message.updated" ? change.payload : null));
  });
  return (id) => held.get(id) ?? loaded.get(id);
}
