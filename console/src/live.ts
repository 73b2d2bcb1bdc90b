// What changes on the server, and here, while the console is open.
import {
  type Attachment,
  type Contact,
  type Event,
  type Parley,
  ParleyApiError,
} from "../../client/src/index.ts";
import { isOutage } from "./failures.ts";

/** An event of the server, or what was done in this window, which shows even where events may not be read. */
export type Change =
  | Event
  | { type: "attachment.created"; payload: Attachment; conversation_id: string }
  | { type: "contact.deleted"; payload: Contact }
  /** From those who are blocked to those who are not, or back. The server makes no event of it. */
  | { type: "contact.moved"; payload: Contact }
  /** There were events that cannot be told any more: what is shown has to be read anew. */
  | { type: "missed" };
type Listener = (change: Change) => void;

const PAUSE_MS = 2000;

/** Hands changes on to the parts of the console that show them. */
export class EventHub {
  #listeners = new Set<Listener>();

  /** Returns how to stop listening. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  tell(change: Change): void {
    for (const listener of this.#listeners) listener(change);
  }

  /**
   * Follows the events while the window is seen, until it is aborted or refused. A stream holds a connection, and of
   * those a browser has but six for all windows of a server without TLS: one that is not looked at gives its own back.
   */
  async follow(parley: Parley, signal: AbortSignal): Promise<void> {
    let after: string | undefined;
    // What is on the page was read just now, but for a window that begins hidden, and may be so for long.
    for (let isFresh = !document.hidden; ; isFresh = false) {
      await untilSeen(signal);
      if (signal.aborted) return;
      try {
        if (after === undefined) {
          after = (await parley.events.list({ limit: 1 }, { signal })).data[0]?.id;
          if (!isFresh) this.tell({ type: "missed" });
        }
        for await (const event of parley.events.stream({ signal: whileSeen(signal), after })) {
          after = event.id;
          this.tell(event);
        }
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof ParleyApiError && error.code === "events_erased") after = undefined;
        else if (!isOutage(error)) throw error;
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
    }
  }
}

const VISIBILITY = "visibilitychange";

function untilSeen(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const check = () => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener(VISIBILITY, check);
      signal.removeEventListener("abort", check);
      resolve();
    };
    document.addEventListener(VISIBILITY, check);
    signal.addEventListener("abort", check);
    check();
  });
}

/** A signal that is also aborted once the window is hidden. */
function whileSeen(signal: AbortSignal): AbortSignal {
  const hidden = new AbortController();
  const end = () => document.hidden && hidden.abort();
  document.addEventListener(VISIBILITY, end, { signal: AbortSignal.any([signal, hidden.signal]) });
  // It may have been hidden a moment ago.
  end();
  return AbortSignal.any([signal, hidden.signal]);
}
