// A window on the messages of a conversation, oldest first. Scrolling extends it at one end and drops messages at the
// other, so the page stays small.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Attachment, Message, MessageQuery, Parley } from "../../../packages/parley-client/src/index.ts";
import { withReaction } from "../../../packages/parley-client/src/reactions.ts";
import { explain, isAborted, isGone, isPassing } from "../failures.ts";
import { toKind } from "../files/media.ts";
import type { KnownPeople } from "../people/known-people.ts";
import type { ReactionChange } from "../session/live.ts";
import { type Session, useChanges, useSession } from "../session/session.ts";
import { oncePerFrame } from "../ui/frames.ts";
import { useRedraw } from "../ui/use-redraw.ts";

const PAGE = 50;
/** Fields that the server adds to files on request. */
const INCLUDED = "unscanned,image";
const MAX_HELD = 400;
/** Links stay valid for at least an hour. */
const RENEW_MS = 30 * 60 * 1000;

interface State {
  items: Message[];
  hasOlder: boolean;
  hasNewer: boolean;
  loading: boolean;
  /** The error of the page that failed; empty if none did. */
  failure: string;
  /** Whether a retry may succeed. */
  isPassing: boolean;
}

/** Changes the window. Must be idempotent. */
type Edit = (items: Message[], state: State) => Message[];

export interface Messages extends State {
  older: () => void;
  newer: () => void;
  /** Shows the newest messages, or those around one of them. */
  open: (around?: string) => void;
  edit: (change: Edit) => void;
  retry: () => void;
}

class MessageWindow {
  state: State = {
    ...{ items: [], hasOlder: false, hasNewer: false, loading: true },
    ...{ failure: "", isPassing: false },
  };
  #parley: Parley;
  #people: KnownPeople;
  #conversationId: string;
  #redraw: () => void;
  #redrawSoon: () => void;
  #refused: (error: unknown) => void;
  #controller = new AbortController();
  /** Edits since the page was requested: the page may not contain them. */
  #edits: Edit[] = [];
  /** Ids of pictures whose previews were requested, because their events lack them. */
  #requestedPictures = new Set<string>();
  #last = () => {};

  constructor({ parley, people, endIfRefused }: Session, conversationId: string, redraw: () => void) {
    this.#parley = parley;
    this.#people = people;
    this.#conversationId = conversationId;
    this.#redraw = redraw;
    this.#redrawSoon = oncePerFrame(redraw);
    this.#refused = endIfRefused;
  }

  open(around?: string): void {
    this.stop();
    this.#load(around ? { around } : {}, (items, has_more) => ({
      items,
      hasOlder: has_more,
      hasNewer: around !== undefined,
    }));
  }

  stop(): void {
    this.#controller.abort();
    this.#controller = new AbortController();
  }

  older(): void {
    const { items, hasOlder, loading, failure } = this.state;
    if (!hasOlder || loading || failure) return;
    this.#load({ starting_after: items[0]!.id }, (page, has_more) => {
      const all = [...page, ...this.state.items];
      return {
        items: all.slice(0, MAX_HELD),
        hasOlder: has_more,
        hasNewer: this.state.hasNewer || all.length > MAX_HELD,
      };
    });
  }

  newer(): void {
    const { items, hasNewer, loading, failure } = this.state;
    if (!hasNewer || loading || failure) return;
    this.#load({ ending_before: items.at(-1)!.id }, (page, has_more) => {
      const all = [...this.state.items, ...page];
      return {
        items: all.slice(-MAX_HELD),
        hasOlder: this.state.hasOlder || all.length > MAX_HELD,
        hasNewer: has_more,
      };
    });
  }

  retry(): void {
    if (!this.state.loading) this.#last();
  }

  /** Retries a failed load when the server may be back. */
  resume(): void {
    if (this.state.failure && this.state.isPassing) this.retry();
  }

  edit(change: Edit): void {
    if (this.state.loading) this.#edits.push(change);
    const items = change(this.state.items, this.state);
    this.state = { ...this.state, items };
    // All its messages were deleted at once, so there is no id left to load from.
    if (items.length === 0 && (this.state.hasOlder || this.state.hasNewer)) this.open();
    this.#redrawSoon();
  }

  /** Reads the previews of a message's pictures, which its event lacks, once. On failure the originals are shown. */
  async readPictures(id: string): Promise<void> {
    const message = this.state.items.find((each) => each.id === id);
    const isUnread = (file: Attachment) =>
      file.image === undefined && toKind(file) === "image" && !this.#requestedPictures.has(file.id);
    const unread = message?.attachments.filter(isUnread) ?? [];
    if (unread.length === 0) return;
    for (const file of unread) this.#requestedPictures.add(file.id);
    const attachments = await this.#parley.messages.retrieve(id, { include: INCLUDED }).then(
      (read) => read.attachments,
      () => unread.map((file) => ({ ...file, image: null })),
    );
    this.edit((items) => items.map((each) => (each.id === id ? withFiles(each, { attachments }) : each)));
  }

  #load(query: Partial<MessageQuery>, place: (page: Message[], has_more: boolean) => Partial<State>): void {
    this.#last = () => void this.#run(query, place);
    this.#last();
  }

  async #run(query: Partial<MessageQuery>, place: (page: Message[], has_more: boolean) => Partial<State>) {
    const { signal } = this.#controller;
    this.#edits = [];
    this.state = { ...this.state, loading: true, failure: "" };
    this.#redraw();
    try {
      const whole = { conversation_id: this.#conversationId, include: INCLUDED, limit: PAGE, ...query };
      const { data, has_more } = await this.#parley.messages.list(whole, { signal });
      if (signal.aborted) return;
      this.#people.learn(data.map(({ sender }) => sender));
      const placed = { ...this.state, ...place(data.reverse(), has_more), loading: false };
      this.state = {
        ...placed,
        items: this.#edits.reduce((items, change) => change(items, placed), placed.items),
      };
    } catch (error) {
      if (signal.aborted || isAborted(error)) return;
      this.state = { ...this.state, loading: false, failure: explain(error), isPassing: isPassing(error) };
      this.#refused(error);
    }
    this.#redraw();
  }
}

/** `around`: where to start; undefined for the newest. `held`: the message in view, which a reload keeps in view. */
export function useMessages(
  conversationId: string,
  around: string | undefined,
  held: { current: string | undefined },
): Messages {
  const session = useSession();
  const redraw = useRedraw();
  const [reader] = useState(() => new MessageWindow(session, conversationId, redraw));
  useLayoutEffect(() => {
    reader.open(around);
    return () => reader.stop();
  }, [reader]);
  useEffect(() => {
    const timer = setInterval(() => reader.open(held.current), RENEW_MS);
    return () => clearInterval(timer);
  }, [reader, held]);
  useChanges((change) => {
    if (change.type === "missed") reader.open(held.current);
    else if (change.type === "retry") reader.resume();
    else if (change.type === "message.deleted")
      reader.edit((items) => items.filter(({ id }) => id !== change.payload.id));
    else if (change.type === "message.updated") {
      reader.edit((items) =>
        items.map((each) => (each.id === change.payload.id ? withFiles(change.payload, each) : each)),
      );
      void reader.readPictures(change.payload.id);
    } else if (change.type === "reaction.created" || change.type === "reaction.deleted")
      reader.edit((items) => withReactionTo(items, change));
    else if (change.type === "message.created" && change.payload.conversation_id === conversationId) {
      reader.edit((items, state) => withNew(items, change.payload, state));
      void reader.readPictures(change.payload.id);
    }
  });
  return {
    ...reader.state,
    older: () => reader.older(),
    newer: () => reader.newer(),
    open: (around) => reader.open(around),
    edit: (change) => reader.edit(change),
    retry: () => reader.retry(),
  };
}

/** Inserts a message in the order of ids. One beyond an end that is not loaded comes with a later page. */
function withNew(items: Message[], message: Message, { hasOlder, hasNewer }: State): Message[] {
  if (items.some(({ id }) => id === message.id)) return items;
  const at = items.findIndex(({ id }) => id > message.id);
  if (at < 0) return hasNewer ? items : [...items, message];
  return at === 0 && hasOlder ? items : items.toSpliced(at, 0, message);
}

/** Keeps the details of files that an event lacks. */
function withFiles(message: Message, { attachments }: Pick<Message, "attachments">): Message {
  const known = new Map(attachments.map((file) => [file.id, file]));
  return { ...message, attachments: message.attachments.map((file) => ({ ...known.get(file.id), ...file })) };
}

function withReactionTo(items: Message[], { type, payload }: ReactionChange): Message[] {
  const { message_id, emoji, user_id } = payload;
  const isThere = type === "reaction.created";
  return items.map((each) =>
    each.id === message_id
      ? { ...each, reactions: withReaction(each.reactions, emoji, user_id, isThere) }
      : each,
  );
}

/** Returns quoted messages that are not in the window; null for deleted ones. */
export function useQuoted(items: readonly Message[]): (id: string) => Message | null | undefined {
  const { parley } = useSession();
  const [loaded, setLoaded] = useState<ReadonlyMap<string, Message | null>>(new Map());
  /** The latest request of each message. A change of the message is newer than a running request's answer. */
  const requests = useRef(new Map<string, object>());
  const held = new Map(items.map((each) => [each.id, each]));
  const ask = (id: string) => {
    const request = {};
    requests.current.set(id, request);
    const isNewest = () => requests.current.get(id) === request;
    parley.messages
      .retrieve(id)
      .catch((error) => {
        if (!isGone(error)) throw error;
        return null;
      })
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
