// Unsent messages. Sends the messages of a conversation one after the other, each with an Idempotency-Key, so that a
// lost answer causes no duplicate.
import { type Message, type Parley, randomKey } from "../../../packages/parley-client/src/index.ts";
import { explain, isCode, isPassing, isRefused } from "../failures.ts";
import type { ChangeFeed } from "../session/live.ts";
import { oncePerFrame } from "../ui/frames.ts";
import { Watched } from "../ui/watched.ts";
import type { Draft } from "./drafts.ts";

/** The maximum number of files in one message. */
const MAX_FILES = 10;

export interface Outgoing extends Draft {
  id: string;
  /** The Idempotency-Key of all attempts. */
  key: string;
  conversationId: string;
  /** The message it follows: the newest one when it was written, or later the one sent before it. */
  after: string;
  /** `waiting`: for its turn or the connection. `failed`: refused. */
  state: "waiting" | "sending" | "failed";
  /** Whether an attempt found no connection. */
  isHeldUp: boolean;
  /** Bytes of files sent so far. */
  sent: number;
  error: string;
  /** Whether another attempt would also be refused. */
  isHopeless: boolean;
}

interface Hooks {
  done: (message: Message) => void;
  refused: (error: unknown) => void;
  /** Called when the user has lost the conversation, so that there is no longer a place to show the message. */
  undeliverable: (message: Outgoing) => void;
}

export class Outbox extends Watched {
  #all: readonly Outgoing[] = [];
  #next = 1;
  /** The conversations that are sending now. */
  #busy = new Set<string>();
  #controllers = new Map<string, AbortController>();
  #isStopped = false;
  #parley: Parley;
  #events: ChangeFeed;
  #hooks: Hooks;

  constructor(parley: Parley, events: ChangeFeed, hooks: Hooks) {
    super();
    this.#parley = parley;
    this.#events = events;
    this.#hooks = hooks;
  }

  /** All unsent messages, also failed ones. */
  get all(): readonly Outgoing[] {
    return this.#all;
  }

  /** Queues a message. Splits it if it has more files than a message may have. */
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
      isHopeless: false,
    }));
    this.#set([...this.#all, ...parts]);
    this.#goOn(conversationId);
  }

  /** Sends a refused message again, after all waiting ones. */
  retry(id: string): void {
    const failed = this.#all.find((each) => each.id === id)!;
    this.#set([...this.#all.filter((each) => each !== failed), { ...failed, state: "waiting", error: "" }]);
    this.#goOn(failed.conversationId);
  }

  discard(id: string): void {
    this.#set(this.#all.filter((each) => each.id !== id));
    this.#controllers.get(id)?.abort();
  }

  /** Called when the user has lost the conversation. The server refuses the waiting messages. */
  leave(conversationId: string): void {
    for (const each of this.#all)
      if (each.conversationId === conversationId && each.state === "failed") this.#giveUp(each.id);
  }

  #giveUp(id: string): void {
    this.#hooks.undeliverable(this.#all.find((each) => each.id === id)!);
    this.discard(id);
  }

  /** Aborts and drops all messages. */
  stop(): void {
    this.#isStopped = true;
    this.#all = [];
    for (const controller of this.#controllers.values()) controller.abort();
  }

  #set(all: readonly Outgoing[]): void {
    this.#all = all;
    this.#notifySoon();
  }

  #change(id: string, change: Partial<Outgoing>): void {
    this.#set(this.#all.map((each) => (each.id === id ? { ...each, ...change } : each)));
  }

  #notifySoon = oncePerFrame(() => this.notify());

  /** Sends waiting messages now, even after a recent failure to reach the server. */
  #goOn(conversationId: string): void {
    if (!this.#busy.has(conversationId)) void this.#sendAll(conversationId);
    else if (this.#all.some((each) => each.isHeldUp)) this.#events.publish({ type: "retry" });
  }

  async #sendAll(conversationId: string): Promise<void> {
    this.#busy.add(conversationId);
    const next = () =>
      this.#all.find((each) => each.conversationId === conversationId && each.state === "waiting");
    let failures = 0;
    for (let message = next(); message && !this.#isStopped; message = next()) {
      if (await this.#send(message)) failures = 0;
      else await this.#events.pause(++failures);
    }
    this.#busy.delete(conversationId);
  }

  /** Returns false if it must be retried. */
  async #send({ id, key, conversationId, text, files, replyTo }: Outgoing): Promise<boolean> {
    const controller = new AbortController();
    this.#controllers.set(id, controller);
    this.#change(id, { state: "sending" });
    try {
      const content = {
        conversation_id: conversationId,
        ...(text && { text }),
        ...(replyTo && { reply_to_id: replyTo.id }),
      };
      const options = {
        files,
        idempotencyKey: key,
        signal: controller.signal,
        onProgress: ({ sent }: { sent: number }) => this.#change(id, { sent }),
      };
      const message = await this.#events.publishResult(
        () => this.#parley.messages.create(content, options),
        (payload) => ({ type: "message.created", payload }),
      );
      const others = this.#all.filter((each) => each.id !== id);
      const isNext = (each: Outgoing) => each.conversationId === conversationId;
      this.#set(others.map((each) => (isNext(each) ? { ...each, after: message.id } : each)));
      this.#hooks.done(message);
    } catch (error) {
      if (controller.signal.aborted) return true;
      if (isPassing(error)) {
        this.#change(id, { state: "waiting", isHeldUp: true, sent: 0 });
        return false;
      }
      this.#fail(id, replyTo, error);
    } finally {
      this.#controllers.delete(id);
    }
    return true;
  }

  #fail(id: string, replyTo: Message | undefined, error: unknown): void {
    const failed = { state: "failed", isHeldUp: false } as const;
    if (isRefused(error)) {
      this.#isStopped = true;
      this.#hooks.refused(error);
    } else if (isCode(error, "conversation_not_found")) this.#giveUp(id);
    else if (!isCode(error, "message_not_found")) {
      const isHopeless = isCode(error, "source_changed") || isCode(error, "file_too_large");
      this.#change(id, { ...failed, isHopeless, error: explain(error) });
    } else if (replyTo) {
      // Without the reply it is a different message, so it needs a new key.
      const without = { replyTo: undefined, key: randomKey() };
      this.#change(id, { ...failed, ...without, error: "The message that it replies to was deleted." });
    } else {
      // An earlier attempt with a lost answer has sent it; since then the user has left or deleted it.
      this.discard(id);
    }
  }
}
