// Changes on the server and in this window while the console is open.
import {
  type Attachment,
  type Contact,
  type Conversation,
  type Event,
  type Group,
  type Member,
  type MemberReference,
  type Message,
  type Parley,
  ParleyApiError,
  type Reaction,
  type Reference,
  type ShownUser,
  type TypingEvent,
} from "../../../packages/parley-client/src/index.ts";
import { isPassing } from "../failures.ts";

type FileEvent = Extract<Event, { type: "attachment.created" | "attachment.updated" }>;
type MessageEvent = Extract<Event, { type: `message.${"created" | "mentioned" | "updated"}` }>;
type GroupEvent = Extract<Event, { type: "group.created" | "group.updated" }>;
type MemberEvent = Extract<Event, { type: "member.created" | "member.updated" }>;
type ConversationEvent = Extract<Event, { type: "conversation.updated" }>;
type ReactionEvent = Extract<Event, { type: "reaction.created" | "reaction.deleted" }>;
type UserEvent = Extract<Event, { type: "user.updated" }>;
type Shown =
  | Exclude<
      Event,
      FileEvent | MessageEvent | GroupEvent | MemberEvent | ConversationEvent | ReactionEvent | UserEvent
    >
  | (FileEvent & { payload: Attachment })
  | (MessageEvent & { payload: Message })
  | (GroupEvent & { payload: Group })
  | (MemberEvent & { payload: Member })
  | (ConversationEvent & { payload: Conversation })
  | (ReactionEvent & { payload: Required<Reaction> })
  | (UserEvent & { payload: ShownUser });

/** A reaction that the user can see was added or removed. */
export interface ReactionChange {
  type: ReactionEvent["type"];
  payload: Required<Reaction>;
}

/** An event of the server, or a change made in this window: those appear even if the token may not read events. */
export type Change =
  | Shown
  | { type: "attachment.created"; payload: Attachment; conversation_id: string }
  | { type: "attachment.updated"; payload: Attachment }
  | { type: "attachment.deleted"; payload: Reference }
  | { type: `contact.${"created" | "updated" | "deleted"}`; payload: Contact }
  | { type: "message.created" | "message.updated"; payload: Message }
  | { type: "message.deleted"; payload: Reference }
  | ReactionChange
  | TypingEvent
  | { type: "group.created" | "group.updated"; payload: Group }
  | { type: "group.deleted"; payload: Reference }
  | { type: "member.updated"; payload: Member }
  | { type: "member.deleted"; payload: Required<MemberReference> }
  /** The user has read more in this window. */
  | { type: "conversation.read"; payload: { id: string } }
  /** The conversation as the server now describes it. */
  | { type: "conversation.current"; payload: Conversation }
  /** The contact was blocked or unblocked. There is no event for it. */
  | { type: "contact.moved"; payload: Contact }
  /** Events were missed, so everything on show must be loaded again. */
  | { type: "missed" }
  /** The server may be back: retry what failed without an answer. */
  | { type: "retry" };
type Result = Extract<Change, { payload: object }>;
type Listener = (change: Change) => void;

const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 15_000;

/** Passes changes to the parts of the console that show them. */
export class ChangeFeed {
  #listeners = new Set<Listener>();
  /** For each running request whose result will be published: what the stream has announced since. */
  #heard = new Set<Set<string>>();

  /** Returns a function that stops listening. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  publish(change: Change): void {
    for (const listener of this.#listeners) listener(change);
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
      if (!heard.has(toSubject(change))) this.publish(change);
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

  /**
   * Follows the events while the window is visible, until aborted or refused. A stream holds a connection, and
   * without TLS a browser has only six per server for all windows, so a hidden window closes its stream unless it
   * `isNotifying`. `since` is a cursor that was read before everything else on the page; undefined if the token may
   * not read events.
   */
  async follow(
    parley: Parley,
    signal: AbortSignal,
    since: string | undefined,
    isNotifying: () => boolean,
  ): Promise<void> {
    const isAsleep = () => document.hidden && !isNotifying();
    // A window that starts hidden may stay hidden for long.
    let after = isAsleep() ? undefined : since;
    let failures = 0;
    for (;;) {
      await untilAwake(signal, isAsleep);
      if (signal.aborted) return;
      try {
        if (after === undefined) {
          after = await parley.events.cursor({ signal });
          this.publish({ type: "missed" });
        }
        for await (const event of parley.events.stream({ signal: whileAwake(signal, isAsleep), after })) {
          failures = 0;
          if (event.type === "typing") {
            this.publish(event);
            continue;
          }
          after = event.id;
          for (const heard of this.#heard) heard.add(toSubject(event));
          if (isShown(event)) this.publish(event);
        }
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof ParleyApiError && error.code === "events_erased") after = undefined;
        else if (!isPassing(error)) throw error;
        await this.pause(++failures);
      }
    }
  }
}

/** Returns what a change is about. */
function toSubject({ payload }: { payload: object }): string {
  const { id, message_id, emoji, user_id }: Partial<Reaction & Reference> = payload;
  return id ?? `${message_id} ${emoji} ${user_id}`;
}

/** Reports whether an event has its full payload. Events about something since deleted have only ids. */
function isShown(event: Event): event is Shown {
  if (event.type.startsWith("reaction.")) return "emoji" in event.payload;
  if (event.type === "user.updated") return "username" in event.payload;
  return event.type.endsWith(".deleted") || "created_at" in event.payload;
}

const VISIBILITY = "visibilitychange";

function untilAwake(signal: AbortSignal, isAsleep: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const check = () => {
      if (isAsleep() && !signal.aborted) return;
      document.removeEventListener(VISIBILITY, check);
      signal.removeEventListener("abort", check);
      resolve();
    };
    document.addEventListener(VISIBILITY, check);
    signal.addEventListener("abort", check);
    check();
  });
}

/**
 * Returns a signal that also aborts when the window falls asleep or the network changes: a connection of the old
 * network hangs until it times out.
 */
function whileAwake(signal: AbortSignal, isAsleep: () => boolean): AbortSignal {
  const hidden = new AbortController();
  const end = () => isAsleep() && hidden.abort();
  const until = { signal: AbortSignal.any([signal, hidden.signal]) };
  document.addEventListener(VISIBILITY, end, until);
  addEventListener("online", () => hidden.abort(), until);
  // It may already be hidden.
  end();
  return AbortSignal.any([signal, hidden.signal]);
}
