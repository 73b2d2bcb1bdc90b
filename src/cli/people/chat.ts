import { setImmediate, setTimeout } from "node:timers/promises";
import { type ErrorCode, ParleyApiError } from "../../../packages/parley-client/src/index.ts";
import type {
  Operation,
  Reason,
  SendOperation,
  Sync,
  View,
} from "../../../packages/parley-sync/src/index.ts";
import { OperatorError } from "../../errors.ts";
import type { Io } from "../io.ts";
import { counted, harmless, jsonLine } from "../text.ts";
import { type Access, asPerson, explain, isRefusal, REFUSED, toClient } from "./access.ts";
import { openWindow, type Window } from "./chat-window.ts";
import { openCopy } from "./copies.ts";
import { findConversationId } from "./partners.ts";
import { Transcript, toLines, toText } from "./transcript.ts";

/** After so long without an answer, a message is shown as waiting. It is sent again as often as necessary. */
const TIMEOUT_MS = 10_000;

/** The pause before older messages are requested again. */
const PAUSE_MS = 1_000;

/** How long a chat whose input has ended waits for a server that can't be reached. On a terminal it ends at once. */
const PATIENCE_MS = 5_000;

/** More lines than this are not read until some are sent. */
const MOST_WAITING = 1_000;

interface ChatOptions {
  limit?: number;
  json?: boolean;
}

/** Prints the messages of a conversation as they arrive, and sends each line of standard input. */
export function chat(io: Io, who: string, options: ChatOptions): Promise<number> {
  return asPerson(io, async (parley, access) => {
    // The copy makes the pauses between attempts.
    const client = toClient(io, access, { maxRetries: 0, timeoutMs: TIMEOUT_MS });
    const { sync, isKept } = await openCopy(io, client, access);
    try {
      const conversation = await findConversationId(io, { parley, client, sync }, who);
      const failed = await new Chat(io, access, sync, conversation, options).run();
      return toExitCode(io, sync, isKept, failed);
    } finally {
      await sync.close();
    }
  });
}

class Chat {
  readonly #io: Io;
  readonly #access: Access;
  readonly #sync: Sync;
  readonly #conversation: string;
  readonly #options: ChatOptions;
  readonly #transcript: Transcript;
  /** The keys of the operations that were reported as failed or waiting. */
  readonly #failed = new Set<string>();
  readonly #waiting = new Set<string>();
  #isAway = false;

  constructor(io: Io, access: Access, sync: Sync, conversation: string, options: ChatOptions) {
    this.#io = io;
    this.#access = access;
    this.#sync = sync;
    this.#conversation = conversation;
    this.#options = options;
    this.#transcript = new Transcript(Math.min(options.limit ?? 20, 100));
  }

  /** Runs until the input ends and is sent. Returns how many messages the server refused. */
  async run(): Promise<number> {
    const { stop, unread } = this.#io;
    const window = openWindow(this.#io, AbortSignal.any([stop, unread]));
    const ended = new AbortController();
    const impatient = new AbortController();
    const reading = this.#queueLines(window, AbortSignal.any([stop, impatient.signal])).finally(() => {
      ended.abort();
      const ms = window.isTerminal ? 0 : PATIENCE_MS;
      setTimeout(ms, undefined, { signal: impatient.signal }).then(
        () => impatient.abort(),
        () => {},
      );
    });
    // Awaited below.
    reading.catch(() => {});
    const views = [this.#view, this.#sync.outbox(), this.#sync.connection()];
    try {
      let isRead = false;
      for await (const _ of changesOf(views, [ended.signal, impatient.signal], stop)) {
        await this.#show(window);
        this.#report(window);
        if (!ended.signal.aborted || !this.#isSettled(impatient.signal.aborted)) continue;
        if (isRead || !this.#markRead()) break;
        isRead = true;
      }
    } finally {
      impatient.abort();
      window.close();
      await reading;
    }
    return this.#failed.size;
  }

  get #view() {
    return this.#sync.conversation(this.#conversation);
  }

  async #queueLines({ lines }: Window, stop: AbortSignal): Promise<void> {
    const outbox = this.#sync.outbox();
    for await (const line of lines) {
      if (line.trim() === "") continue;
      this.#sync.send(this.#conversation, { text: line });
      for await (const _ of changesOf([outbox], [], stop))
        if (outbox.getSnapshot().length < MOST_WAITING) break;
    }
  }

  /** Prints what has changed. Throws an error if the server refuses the connection, or the conversation is gone. */
  async #show(window: Window): Promise<void> {
    const { state, reason } = this.#sync.connection().getSnapshot();
    if (state === "refused") throw toError(reason!);
    if (this.#io.unread.aborted || !this.#view.getSnapshot().isLoaded) return;
    if (!(state === "live" ? await this.#complete() : this.#canBeginEarly(window))) return;
    const now = this.#view.getSnapshot();
    if (this.#transcript.hasGap(now)) window.warn("Messages are missing here: parley messages lists all.");
    const changes = this.#transcript.next(now);
    if (changes.length > 0)
      window.show(this.#options.json ? changes.map(jsonLine) : changes.flatMap(toLines));
  }

  /** A pipe begins with the newest messages, if the server can be reached. */
  #canBeginEarly({ isTerminal }: Window): boolean {
    const now = this.#view.getSnapshot();
    if (this.#transcript.isBegun) return false;
    return (
      (isTerminal && this.#transcript.canBegin(now)) ||
      (whyAway(this.#sync) !== undefined && now.messages.length > 0)
    );
  }

  /** Reads from the server what the copy does not have. Returns false if the server can't be reached. */
  async #complete(): Promise<boolean> {
    const view = this.#view;
    for (;;) {
      const now = view.getSnapshot();
      if (now.conversation && (this.#transcript.isBegun || this.#transcript.canBegin(now))) return true;
      try {
        await view.loadOlder();
      } catch (error) {
        const isFinal = !(error instanceof ParleyApiError) || (isRefusal(error) && error.status !== 429);
        if (isFinal) throw error;
        await setTimeout(PAUSE_MS, undefined, { signal: this.#io.stop }).catch(() => {});
        this.#sync.wake();
        return false;
      }
      if (view.getSnapshot().conversation) continue;
      const detail = `You have no conversation ${this.#conversation}.`;
      throw new ParleyApiError({ code: "conversation_not_found", status: 404, detail });
    }
  }

  /** Reports refused messages, once, and those that wait because the server can't be reached. */
  #report({ warn }: Window): void {
    const reason = whyAway(this.#sync);
    if (reason && !this.#isAway) warn(`parley: ${harmless(reason.detail)} Trying again.`);
    this.#isAway = reason !== undefined;
    for (const operation of this.#sync.outbox().getSnapshot().filter(isSend)) {
      const { key, state, conversation_id } = operation;
      if (state === "failed" && !this.#failed.has(key)) {
        this.#failed.add(key);
        warn(
          `parley: Not sent: ${harmless(toText(operation))}: ${explain(toError(operation.reason!), this.#access)}`,
        );
        void this.#sync.discard(key);
      }
      const isWaiting = state !== "failed" && (this.#isAway || operation.reason !== null);
      if (!isWaiting || conversation_id !== this.#conversation || this.#waiting.has(key)) continue;
      this.#waiting.add(key);
      warn(`Not sent yet: ${harmless(toText(operation))}`);
    }
  }

  /** Whether nothing is left to wait for. */
  #isSettled(isImpatient: boolean): boolean {
    const isShown = this.#transcript.isBegun || this.#io.unread.aborted;
    return (isShown && allPending(this.#sync).length === 0) || (isImpatient && this.#isAway);
  }

  /** Marks the conversation as read. Returns false if it is. */
  #markRead(): boolean {
    const { conversation } = this.#view.getSnapshot();
    const { last } = this.#transcript;
    if (last === undefined || last <= (conversation?.last_read_id ?? "")) return false;
    this.#sync.read(this.#conversation, last);
    return true;
  }
}

function isSend(operation: Operation): operation is SendOperation {
  return operation.kind === "send";
}

/** Returns the operations that the server neither has nor has refused. */
function allPending(sync: Sync): Operation[] {
  const operations = sync.outbox().getSnapshot();
  return operations.filter(({ state }) => state !== "failed");
}

/** Returns why the server can't be reached; undefined if it answers. */
function whyAway(sync: Sync): Reason | undefined {
  const reasons = [sync.connection().getSnapshot(), ...allPending(sync)].map(({ reason }) => reason);
  return reasons.find((reason) => reason !== null && reason.code !== "rate_limited") ?? undefined;
}

function toError({ code, detail }: Reason): ParleyApiError {
  // The server has refused what has another code.
  const status = code === "unexpected" ? 0 : 403;
  return new ParleyApiError({ code: code as ErrorCode, status, detail });
}

/** Returns the exit code. Throws an error if messages wait. */
function toExitCode(io: Io, sync: Sync, isKept: boolean, failed: number): number {
  const waiting = allPending(sync).filter(isSend);
  if (waiting.length === 0) return failed > 0 ? REFUSED : 0;
  if (isKept && sync.connection().getSnapshot().isStored) {
    const [verb, them] = waiting.length === 1 ? ["waits", "it"] : ["wait", "them"];
    throw new OperatorError(
      `${counted(waiting.length, "message")} ${verb} for the server. The next parley chat sends ${them}.`,
    );
  }
  const detail = whyAway(sync)?.detail ?? "The chat has ended.";
  for (const operation of waiting) io.warn(harmless(`parley: Not sent: ${toText(operation)}: ${detail}`));
  return REFUSED;
}

/** Yields at once, and then after changes of the views or an abort of a signal, until `stop` is aborted. */
async function* changesOf(
  views: readonly View<unknown>[],
  signals: readonly AbortSignal[],
  stop: AbortSignal,
): AsyncGenerator<void, void, undefined> {
  let wake = () => {};
  const over = new AbortController();
  const ends = views.map(({ subscribe }) => subscribe(() => wake()));
  for (const each of [...signals, stop])
    each.addEventListener("abort", () => wake(), { signal: over.signal });
  try {
    while (!stop.aborted) {
      const changed = new Promise<void>((resolve) => {
        wake = resolve;
      });
      yield;
      await changed;
      // Changes of one turn come together. By then the store has the messages that are shown as waiting.
      await setImmediate();
    }
  } finally {
    over.abort();
    for (const end of ends) end();
  }
}
