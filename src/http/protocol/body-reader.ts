import type { Hash } from "node:crypto";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { ParleyError } from "../../errors.ts";

/** The minimum pace of a body. It is checked after each `bodyIdleTimeoutMs` of waiting for the client. */
export interface BodyPace {
  bodyIdleTimeoutMs: number;
  minBodyBytesPerSecond: number;
}

/** Tolerates a timer that fires slightly early. */
const TIMER_SHARE = 0.9;

type Waiting = IncomingMessage & { [CONTINUE]?: ServerResponse | undefined };
const CONTINUE = Symbol("waits for 100 Continue");

/** Delays `100 Continue` until the body is read, so that a request can be refused before its body is sent. */
export function holdContinue(server: Server): void {
  server.on("checkContinue", (request: Waiting, response: ServerResponse) => {
    request[CONTINUE] = response;
    server.emit("request", request, response);
  });
}

/** Reports whether the client is still waiting for `100 Continue`. */
export function awaitsContinue(request: IncomingMessage): boolean {
  return (request as Waiting)[CONTINUE] !== undefined;
}

/** Reports whether the headers announce a body of at least one byte, or of unknown length. */
export function hasBody({ headers }: IncomingMessage): boolean {
  const { "content-length": length = "0", "transfer-encoding": coding } = headers;
  return length !== "0" || coding !== undefined;
}

/**
 * Reads a request's body chunk by chunk. Unlike the iterator of the stream, it keeps the connection open if the reader stops
 * early, so that an answer can still be sent. It refuses bodies that stall or are too slow (`request_timeout`).
 */
export class BodyReader {
  readonly #request: IncomingMessage;
  readonly #timer: NodeJS.Timeout;
  readonly #hash: Hash | undefined;
  /** In bytes. */
  received = 0;
  /** When the current wait for the client began, by `performance.now`; undefined if the reader is not waiting. */
  #waitingSince: number | undefined;
  /** How long earlier waits have lasted since the last check of the pace. */
  #waitedMs = 0;
  #last: Buffer | undefined;
  #failure: ParleyError | undefined;
  #wake: () => void = () => {};

  /** Begins to watch the pace. `hash` is updated with each chunk before the reader returns it. */
  constructor(request: IncomingMessage, pace: BodyPace, hash?: Hash) {
    this.#request = request;
    this.#hash = hash;
    request
      .on("readable", this.#onEvent)
      .on("end", this.#onEvent)
      .on("close", this.#onEvent)
      .on("error", this.#onEvent);
    this.#timer = this.#watch(pace);
    const waiting = request as Waiting;
    waiting[CONTINUE]?.writeContinue();
    waiting[CONTINUE] = undefined;
  }

  /**
   * Returns the next bytes, valid until the next call, or null at the end of the body. Throws if the connection ends or stalls
   * before that.
   */
  async next(): Promise<Buffer | null> {
    if (this.#last) release(this.#last);
    this.#last = undefined;
    for (;;) {
      if (this.#failure) throw this.#failure;
      const chunk = this.#request.read() as Buffer | null;
      if (chunk !== null) {
        this.received += chunk.length;
        this.#hash?.update(chunk);
        this.#last = chunk;
        return chunk;
      }
      if (this.#request.readableEnded) return null;
      if (this.#request.destroyed) {
        throw new ParleyError("malformed_body", "The connection closed before the end of the body.");
      }
      this.#waitingSince = performance.now();
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#waitedMs += performance.now() - this.#waitingSince;
      this.#waitingSince = undefined;
      this.#wake = () => {};
    }
  }

  /** Stops reading. Call this in every case, also after an error. */
  stop(): void {
    clearInterval(this.#timer);
    this.#request
      .off("readable", this.#onEvent)
      .off("end", this.#onEvent)
      .off("close", this.#onEvent)
      .off("error", this.#onEvent);
  }

  #onEvent = (): void => this.#wake();

  /** Checks the pace. Only the time spent waiting for the client counts, not the time a store took for earlier bytes. */
  #watch({ bodyIdleTimeoutMs, minBodyBytesPerSecond }: BodyPace): NodeJS.Timeout {
    let before = 0;
    const checkPace = () => {
      const now = performance.now();
      const waitedMs = this.#waitedMs + now - (this.#waitingSince ?? now);
      if (waitedMs < TIMER_SHARE * bodyIdleTimeoutMs) return;
      const least = Math.max(1, (waitedMs / 1000) * minBodyBytesPerSecond);
      const isTooSlow = this.received - before < least;
      before = this.received;
      this.#waitedMs = 0;
      if (this.#waitingSince !== undefined) this.#waitingSince = now;
      if (!isTooSlow) return;
      this.#failure = new ParleyError(
        "request_timeout",
        "The body stalled or arrived too slowly. Send it again.",
      );
      this.#wake();
    };
    // Check after reading the bytes that have arrived: the client is not to blame if this process was blocked.
    return setInterval(() => setImmediate(checkPace), bodyIdleTimeoutMs);
  }
}

const MIN_RELEASED_BYTES = 16 * 1024;

/**
 * Frees the memory of a large chunk at once. Otherwise a large upload causes a garbage collection of the whole heap every
 * 64 MB. Small chunks may share their memory with others.
 */
function release({ buffer, length }: Buffer): void {
  if (length >= MIN_RELEASED_BYTES && length === buffer.byteLength) (buffer as ArrayBuffer).transfer(0);
}

/** Reads a whole body. Throws `body_too_large` if it is longer than `maxBytes`. */
export async function readBody(request: IncomingMessage, maxBytes: number, pace: BodyPace): Promise<Buffer> {
  const tooLarge = () => new ParleyError("body_too_large", `The body can have at most ${maxBytes} bytes.`);
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) throw tooLarge();
  // A short body usually arrives with its headers, and is complete when the parser has finished this read.
  await undefined;
  if (request.complete && request.readableLength > 0 && request.readableLength <= maxBytes) {
    return request.read() as Buffer;
  }
  const reader = new BodyReader(request, pace);
  try {
    const chunks: Buffer[] = [];
    let size = 0;
    for (let chunk = await reader.next(); chunk !== null; chunk = await reader.next()) {
      size += chunk.length;
      if (size > maxBytes) throw tooLarge();
      chunks.push(Buffer.from(chunk));
    }
    return Buffer.concat(chunks);
  } finally {
    reader.stop();
  }
}

const MAX_DISCARDED_BYTES = 16 * 1024 * 1024;
const MAX_DISCARD_MS = 5000;
/** Time for the answer to reach a client that continues to send. */
const DESTROY_AFTER_MS = 1000;

/**
 * Reads and drops the rest of a body that is answered early, up to limits of time and bytes. Closing a connection with unread
 * bytes resets it, and the client would lose the answer. Resolves when the body has ended or a limit is reached.
 */
export function discardRest(request: IncomingMessage): Promise<void> {
  if (request.complete || request.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    let discarded = 0;
    const end = () => {
      clearTimeout(timer);
      resolve();
    };
    const giveUp = () => {
      end();
      request.off("data", onData);
      request.resume();
      // The connection cannot be reused: the rest of the body is unread.
      setTimeout(() => request.destroy(), DESTROY_AFTER_MS).unref();
    };
    const timer = setTimeout(giveUp, MAX_DISCARD_MS);
    const onData = (chunk: Buffer) => {
      discarded += chunk.length;
      if (discarded > MAX_DISCARDED_BYTES) giveUp();
    };
    request.on("data", onData).on("end", end).on("close", end);
    request.resume();
  });
}
