// What changes on the server, and here, while the console is open.
import type { Attachment, Contact, Event, Parley } from "../../client/src/index.ts";

/** An event of the server, or what was done in this window, which shows even where events may not be read. */
type Change =
  | Event
  | { type: "attachment.created"; payload: Attachment }
  | { type: "contact.deleted"; payload: Contact }
  /** From those who are blocked to those who are not, or back. The server makes no event of it. */
  | { type: "contact.moved"; payload: Contact };
type Listener = (change: Change) => void;

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

  /** Follows the stream, which connects again by itself, until it is aborted or refused. */
  async follow(parley: Parley, signal: AbortSignal): Promise<void> {
    for await (const event of parley.events.stream({ signal })) this.tell(event);
  }
}
