// Messages on their way. A conversation's messages are sent one after the other, each until the server has answered, and
// each with one key, so that a lost answer makes no second message.
import { type Message, type Parley, ParleyApiError, randomKey } from "../../client/src/index.ts";
import type { Draft } from "./drafts.ts";
import { explain, isOutage, isRefused } from "./failures.ts";
import { oncePerFrame } from "./frames.ts";

const PAUSE_MS = 1500;
/** The most files of one message. */
const MAX_FILES = 10;

export interface Outgoing extends Draft {
  id: string;
  /** The Idempotency-Key of all attempts. */
  key: string;
  conversationId: string;
  /** The newest message when it was written, or when the one before it was sent: it comes after that. */
  after: string;
  /** Waiting for its turn or for the connection, or refused. */
  state: "waiting" | "sending" | "failed";
  /** Whether an attempt found no connection. */
  isHeldUp: boolean;
  /** Bytes of files. */
  sent: number;
  error: string;
}

interface Hooks {
  done: (message: Message) => void;
  refused: (error: unknown) => void;
  /** Called when its conversation is gone for the user, and with it the place where it would be shown. */
  undeliverable: (message: Outgoing) => void;
}

export class Outbox {
  #all: readonly Outgoing[] = [];
  #next = 1;
  /** The conversations whose messages are being sent. */
  #busy = new Set<string>();
  #controllers = new Map<string, AbortController>();
  #isStopped = false;
  #watchers = new Set<() => void>();
  #parley: Parley;
  #hooks: Hooks;

  constructor(parley: Parley, hooks: Hooks) {
    this.#parley = parley;
    this.#hooks = hooks;
  }

  /** All messages that are not sent yet, also those that failed. */
  get all(): readonly Outgoing[] {
    return this.#all;
  }

  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  /** Queues a message. More files than a message may have become further messages. */
  add(conversationId: string, { text, files, replyTo }: Draft, after: string): void {
    const parts = Array.from({ length: Math.max(1, Math.ceil(files.length / MAX_FILES)) }, (_, at) => ({
      id: `out-${this.#next++}`,
      key: randomKey(),
      conversationId,
      text: at === 0 ? text : "",
      files: files.slice(at * MAX_FILES, (at + 1) * MAX_FILES),
      replyTo: at === 0 ? replyTo : undefined,
      after,
      state: "waiting" as const,
      isHeldUp: false,
      sent: 0,
      error: "",
    }));
    this.#set([...this.#all, ...parts]);
    void this.#sendAll(conversationId);
  }

  /** Sends a refused message again, after all that wait. */
  retry(id: string): void {
    const failed = this.#all.find((each) => each.id === id)!;
    this.#set([...this.#all.filter((each) => each !== failed), { ...failed, state: "waiting", error: "" }]);
    void this.#sendAll(failed.conversationId);
  }

  discard(id: string): void {
    this.#set(this.#all.filter((each) => each.id !== id));
    this.#controllers.get(id)?.abort();
  }

  /** Call this when the conversation is gone for the user. Those that wait hear of it from the server. */
  leave(conversationId: string): void {
    for (const each of this.#all)
      if (each.conversationId === conversationId && each.state === "failed") this.#giveUp(each.id);
  }

  #giveUp(id: string): void {
    this.#hooks.undeliverable(this.#all.find((each) => each.id === id)!);
    this.discard(id);
  }

  /** Aborts and forgets all messages. */
  stop(): void {
    this.#isStopped = true;
    this.#all = [];
    for (const controller of this.#controllers.values()) controller.abort();
  }

  #set(all: readonly Outgoing[]): void {
    this.#all = all;
    this.#tell();
  }

  #change(id: string, change: Partial<Outgoing>): void {
    this.#set(this.#all.map((each) => (each.id === id ? { ...each, ...change } : each)));
  }

  #tell = oncePerFrame(() => {
    for (const watcher of this.#watchers) watcher();
  });

  async #sendAll(conversationId: string): Promise<void> {
    if (this.#busy.has(conversationId)) return;
    this.#busy.add(conversationId);
    const next = () =>
      this.#all.find((each) => each.conversationId === conversationId && each.state === "waiting");
    for (let message = next(); message && !this.#isStopped; message = next()) await this.#send(message);
    this.#busy.delete(conversationId);
  }

  async #send({ id, key, conversationId, text, files, replyTo }: Outgoing): Promise<void> {
    const controller = new AbortController();
    this.#controllers.set(id, controller);
    this.#change(id, { state: "sending" });
    try {
      const message = await this.#parley.messages.create(
        {
          conversation_id: conversationId,
          ...(text && { text }),
          ...(replyTo && { reply_to_id: replyTo.id }),
        },
        {
          files,
          idempotencyKey: key,
          signal: controller.signal,
          onProgress: ({ sent }) => this.#change(id, { sent }),
        },
      );
      const others = this.#all.filter((each) => each.id !== id);
      const isNext = (each: Outgoing) => each.conversationId === conversationId;
      this.#set(others.map((each) => (isNext(each) ? { ...each, after: message.id } : each)));
      this.#hooks.done(message);
    } catch (error) {
      if (controller.signal.aborted) return;
      if (isRefused(error)) {
        this.#isStopped = true;
        this.#hooks.refused(error);
      } else if (isPassing(error)) {
        this.#change(id, { state: "waiting", isHeldUp: true, sent: 0 });
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      } else if (isCode(error, "conversation_not_found")) {
        this.#giveUp(id);
      } else if (isCode(error, "message_not_found") && !replyTo) {
        // An attempt whose answer was lost has sent it; the user has left since, or deleted it.
        this.discard(id);
      } else this.#change(id, { state: "failed", isHeldUp: false, error: explain(error) });
    } finally {
      this.#controllers.delete(id);
    }
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof ParleyApiError && error.code === code;
}

/** Whether the same message may be accepted later, unlike one with a file that has changed, or without room for it. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof ParleyApiError) || error.code === "source_changed" || error.status === 507)
    return false;
  return isOutage(error) || error.status === 429;
}
