// Remembers a message chosen elsewhere, until its conversation is open and shows it.
import type { Message } from "../../../packages/parley-client/src/index.ts";
import { openPlace } from "../place.ts";
import { Watched } from "../ui/watched.ts";

type JumpTarget = Pick<Message, "id" | "conversation_id">;

export class Jumps extends Watched {
  #wanted: JumpTarget | undefined;

  /** Opens the conversation at `place` and scrolls to the message. */
  to(message: JumpTarget, place: string): void {
    this.#wanted = message;
    this.notify();
    openPlace(place);
  }

  isFor(conversationId: string): boolean {
    return this.#wanted?.conversation_id === conversationId;
  }

  /**
   * Returns the id of the message that this conversation must show, once. Forgets the target of any other
   * conversation.
   */
  take(conversationId: string): string | undefined {
    const id = this.isFor(conversationId) ? this.#wanted?.id : undefined;
    this.#wanted = undefined;
    return id;
  }
}
