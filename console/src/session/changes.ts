// Changes on the server and in this window while the console is open.
import type {
  Attachment,
  Contact,
  Event,
  Group,
  Member,
  MemberReference,
  Reference,
  StreamEvent,
  TypingEvent,
} from "../../../packages/parley-client/src/index.ts";

/** An event with its full payload. Events about something since deleted have only ids. */
type Whole<E> = E extends { type: `${string}.deleted` }
  ? E
  : E extends { payload: infer P }
    ? E & { payload: Extract<P, { created_at: number } | { username: string }> }
    : never;

/** An event of the server, or a change made in this window: those appear even if the token may not read events. */
export type Change =
  | Whole<Exclude<Event, { type: `reaction.${string}` }>>
  | { type: "attachment.created"; payload: Attachment; conversation_id: string }
  | { type: "attachment.updated"; payload: Attachment }
  | { type: "attachment.deleted"; payload: Reference }
  | { type: `contact.${"created" | "updated" | "deleted"}`; payload: Contact }
  | TypingEvent
  | { type: "group.created" | "group.updated"; payload: Group }
  | { type: "group.deleted"; payload: Reference }
  | { type: "member.updated"; payload: Member }
  | { type: "member.deleted"; payload: Required<MemberReference> }
  /** The contact was blocked or unblocked. There is no event for it. */
  | { type: "contact.moved"; payload: Contact }
  /** Events were missed, so what was read without the local copy must be loaded again. */
  | { type: "missed" }
  /** The server may be back: retry what failed without an answer. */
  | { type: "retry" };
type Result = Extract<Change, { payload: { id: string } }>;
type Listener = (change: Change) => void;

const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 15_000;

/** Passes changes to the parts of the console that show them. */
export class ChangeFeed {
  #listeners = new Set<Listener>();
  /** For each running request whose result will be published: what events were about since. */
  #heard = new Set<Set<string>>();

  /** Returns a function that stops listening. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  publish(change: Change): void {
    for (const listener of this.#listeners) listener(change);
  }

  /** Passes on an event of the server. */
  hear(event: StreamEvent): void {
    if ("id" in event.payload) for (const heard of this.#heard) heard.add(event.payload.id);
    if (event.type === "typing" || isWhole(event)) this.publish(event);
  }

  /**
   * Makes a request and publishes its result. Events may overtake the answer, and the answer must not undo them: an
   * event about the same thing suppresses the result.
   */
  async publishResult<T>(request: () => PromiseLike<T>, toChange: (result: T) => Result): Promise<T> {
    const heard = new Set<string>();
    this.#heard.add(heard);
    try {
      const result = await request();
      const change = toChange(result);
      if (!heard.has(change.payload.id)) this.publish(change);
      return result;
    } finally {
      this.#heard.delete(heard);
    }
  }

  /** Waits before a retry, longer after more failures. Ends early when the server may be back. */
  pause(failures: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        forget();
        resolve();
      };
      const ms = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (failures - 1));
      const timer = setTimeout(end, ms * (0.75 + Math.random() / 4));
      const forget = this.listen(({ type }) => type === "retry" && end());
    });
  }
}

function isWhole(event: Event): event is Whole<Exclude<Event, { type: `reaction.${string}` }>> {
  const { type, payload } = event;
  if (type.startsWith("reaction.")) return false;
  return type.endsWith(".deleted") || "created_at" in payload || "username" in payload;
}
