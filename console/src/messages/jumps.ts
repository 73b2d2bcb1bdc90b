// A message that was chosen elsewhere: its conversation shows it once it is open.
import type { Message } from "../../../client/src/index.ts";
import { openPlace } from "../place.ts";

export class Jumps {
  #wanted: Message | undefined;
  #watchers = new Set<() => void>();

  /** Opens the conversation of a message, which `place` names, at the message. */
  to(message: Message, place: string): void {
    this.#wanted = message;
    for (const watcher of this.#watchers) watcher();
    openPlace(place);
  }

  isFor(conversationId: string): boolean {
    return this.#wanted?.conversation_id === conversationId;
  }

  /** Returns the id of the message that this conversation is to show. What another one was to show is no longer wanted. */
  take(conversationId: string): string | undefined {
    const id = this.isFor(conversationId) ? this.#wanted?.id : undefined;
    this.#wanted = undefined;
    return id;
  }

  /** Calls `watcher` after each choice. Returns a function that stops it. */
  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }
}
