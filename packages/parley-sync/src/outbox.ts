// Sends what is pending: the messages of a conversation one after the other, in the order in which they were written.
import type { Message, Parley } from "parley-client";
import type { Copy } from "./copy.ts";
import type { Draft } from "./draft.ts";
import type { Meta } from "./entries.ts";
import { isCode, isPassing, isSignedOut, toReason } from "./failures.ts";
import type { Live } from "./live.ts";
import { inOrder, toRemoval } from "./operations.ts";
import type { Pauses } from "./pauses.ts";
import { applyReaction, applyRead, removeMessage, updateMessage } from "./reduce.ts";
import { sendMessage } from "./send.ts";
import type { Operation, SendOperation } from "./types.ts";

export interface OutboxParts {
  client: Parley;
  copy: Copy;
  live: Live;
  pauses: Pauses;
}

export class Outbox {
  readonly #parts: OutboxParts;
  readonly #refused: (operation: Operation) => void;
  /** What runs, by lane. */
  readonly #lanes = new Set<string>();
  readonly #controllers = new Map<string, AbortController>();
  #isStopped = false;

  /** `refused` is called with each operation that is dropped because the server refused it. */
  constructor(parts: OutboxParts, refused: (operation: Operation) => void) {
    this.#parts = parts;
    this.#refused = refused;
  }

  /** Starts to send what is pending. */
  run(): void {
    for (const operation of this.#parts.copy.operations.values()) {
      const lane = toLane(operation);
      if (operation.state === "failed" || this.#lanes.has(lane) || this.#isStopped) continue;
      this.#lanes.add(lane);
      void this.#runLane(lane);
    }
  }

  stop(): void {
    this.#isStopped = true;
    for (const controller of this.#controllers.values()) controller.abort();
  }

  /** Ends the attempts of an operation that is discarded. */
  abort(key: string): void {
    this.#controllers.get(key)?.abort();
  }

  async #runLane(lane: string): Promise<void> {
    let failures = 0;
    for (;;) {
      const next = inOrder(this.#parts.copy).find((each) => each.state !== "failed" && toLane(each) === lane);
      if (!next || this.#isStopped) {
        this.#lanes.delete(lane);
        return;
      }
      const error = await this.#attempt(next);
      if (error === undefined) failures = 0;
      else if (!this.#isStopped) await this.#parts.pauses.wait(error, ++failures);
    }
  }

  /** Returns the error if the operation must be attempted again. */
  async #attempt(operation: Operation): Promise<unknown> {
    const { copy } = this.#parts;
    const { key } = operation;
    const controller = new AbortController();
    this.#controllers.set(key, controller);
    copy.show(new Map([[key, { ...operation, state: "sending" }]]));
    try {
      // A change is sent only once a crash can't lose it.
      await copy.written;
      await this.#send(operation, controller.signal);
      return undefined;
    } catch (error) {
      const current = copy.operations.get(key);
      // It was discarded, or an event has shown that it is done.
      if (!current || this.#isStopped) return undefined;
      const reason = toReason(error);
      if (isPassing(error) || isSignedOut(error)) {
        copy.show(new Map([[key, { ...current, state: "waiting", reason }]]));
        return error;
      }
      // What the user wrote is never lost. Other refused operations are over: the views show what the server has.
      const isKept = current.kind === "send" ? !isDeleted(current, error) : current.kind === "edit";
      if (isKept) await copy.commit(new Map([[key, { ...current, state: "failed", reason }]]));
      else {
        await copy.commit(toRemoval(current));
        if (current.kind !== "send") this.#refused({ ...current, reason });
      }
      return undefined;
    } finally {
      this.#controllers.delete(key);
    }
  }

  async #send(operation: Operation, signal: AbortSignal): Promise<void> {
    const { conversation_id } = operation;
    if (operation.kind === "send") return sendMessage(this.#parts, operation, signal);
    const { request, change } = this.#toRequest(operation, { signal });
    await this.#parts.live.change<unknown>(conversation_id, request, (draft, meta, answer) => {
      draft.set(operation.key, null);
      change(draft, meta, answer);
    });
  }

  #toRequest(operation: Exclude<Operation, SendOperation>, options: { signal: AbortSignal }): Request {
    const { messages, conversations } = this.#parts.client;
    const { conversation_id, message_id } = operation;
    switch (operation.kind) {
      case "edit": {
        const { text, mentions } = operation;
        const fields = { text, ...(mentions && { mentions: [...mentions] }) };
        return {
          request: () => messages.update(message_id, fields, options),
          change: (draft, _, answer) => updateMessage(draft, answer as Message),
        };
      }
      case "delete":
        return {
          request: () => messages.delete(message_id, { ...(operation.for_me && { for: "me" }), ...options }),
          change: (draft) => removeMessage(draft, conversation_id, message_id),
        };
      case "react": {
        const { emoji, is_there } = operation;
        const change = is_there ? messages.addReaction : messages.removeReaction;
        return {
          request: () => change.call(messages, message_id, emoji, options),
          change: (draft, { me }) =>
            applyReaction(draft, is_there, { message_id, conversation_id, emoji, user_id: me.id }),
        };
      }
      case "read": {
        const position = { message_id, ...(operation.is_private && { private: true }) };
        return {
          request: () => conversations.markRead(conversation_id, position, options),
          change: (draft, meta) => applyRead(draft, meta, conversation_id, message_id),
        };
      }
    }
  }
}

interface Request {
  request: () => PromiseLike<unknown>;
  change: (draft: Draft, meta: Meta, answer: unknown) => void;
}

/** Operations of one lane run one after the other. */
function toLane(operation: Operation): string {
  if (operation.kind === "send") return operation.conversation_id;
  return operation.kind === "read" ? `read ${operation.conversation_id}` : operation.message_id;
}

/** Whether an earlier attempt had sent the message, which was deleted since. */
function isDeleted(operation: SendOperation, error: unknown): boolean {
  const { param } = toReason(error);
  return isCode(error, "message_not_found") && (operation.reply_to_id === null || param !== "reply_to_id");
}
