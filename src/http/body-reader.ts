import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { ParleyError } from "../errors.ts";

/** What a body must keep to. Milliseconds, and bytes a second on average after the first idle time. */
export interface BodyPace {
  bodyIdleTimeoutMs: number;
  minBodyBytesPerSecond: number;
}

type Waiting = IncomingMessage & { [CONTINUE]?: ServerResponse | undefined };
const CONTINUE = Symbol("waits for 100 Continue");

/** Keeps `100 Continue` back until a body is really read, so that a request can be refused before it is sent. */
export function holdContinue(server: Server): void {
  server.on("checkContinue", (request: Waiting, response: ServerResponse) => {
    request[CONTINUE] = response;
    server.emit("request", request, response);
  });
}

/** Whether the client still holds its body back. */
export function awaitsContinue(request: IncomingMessage): boolean {
  return (request as Waiting)[CONTINUE] !== undefined;
}

/**
 * Reads a request's body chunk by chunk. Unlike the stream's own iterator it leaves the connection open when the
 * reader stops early, so that an answer can still be sent, and it refuses bodies that stall (`request_timeout`).
 */
export class BodyReader {
  readonly #request: IncomingMessage;
  readonly #timer: NodeJS.Timeout;
  readonly #onChunk: (chunk: Buffer) => void;
  /** Bytes. */
  received = 0;
  #isWaiting = false;
  #last: Buffer | undefined;
  #failure: ParleyError | undefined;
  #wake: () => void = () => {};

  /** `onChunk` sees each chunk before the reader gets it. */
  constructor(request: IncomingMessage, pace: BodyPace, onChunk: (chunk: Buffer) => void = () => {}) {
    this.#request = request;
    this.#onChunk = onChunk;
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
   * The next bytes, valid until the next are asked for, or null at the body's end. Throws where the connection ended or
   * stalled before.
   */
  async next(): Promise<Buffer | null> {
    if (this.#last) release(this.#last);
    this.#last = undefined;
    for (;;) {
      if (this.#failure) throw this.#failure;
      const chunk = this.#request.read() as Buffer | null;
      if (chunk !== null) {
        this.received += chunk.length;
        this.#onChunk(chunk);
        this.#last = chunk;
        return chunk;
      }
      if (this.#request.readableEnded) return null;
      if (this.#request.destroyed) {
        throw new ParleyError("malformed_body", "The connection ended before the body did.");
      }
      this.#isWaiting = true;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#isWaiting = false;
      this.#wake = () => {};
    }
  }

  /** Must be called when the reading is over, well or not. */
  stop(): void {
    clearInterval(this.#timer);
    this.#request
      .off("readable", this.#onEvent)
      .off("end", this.#onEvent)
      .off("close", this.#onEvent)
      .off("error", this.#onEvent);
  }

  #onEvent = (): void => this.#wake();

  /** Time in which nobody asked for more, as a store took its time for what had come, is not the client's. */
  #watch(pace: BodyPace): NodeJS.Timeout {
    let ticks = 0;
    let before = 0;
    return setInterval(() => {
      if (!this.#isWaiting) return;
      ticks++;
      const seconds = (ticks * pace.bodyIdleTimeoutMs) / 1000;
      const tooSlow = this.received === before || this.received < seconds * pace.minBodyBytesPerSecond;
      before = this.received;
      if (!tooSlow) return;
      this.#failure = new ParleyError(
        "request_timeout",
        "The body stalled, or came too slowly. Send it again.",
      );
      this.#wake();
    }, pace.bodyIdleTimeoutMs);
  }
}

const MIN_RELEASED_BYTES = 16 * 1024;

/**
 * Gives the memory of a large chunk back at once. Left to the collector, the chunks of a large upload make it walk the
 * whole heap every 64 MB. Small ones may share their memory with others.
 */
function release({ buffer, length }: Buffer): void {
  if (length >= MIN_RELEASED_BYTES && length === buffer.byteLength) (buffer as ArrayBuffer).transfer(0);
}

/** Reads a whole body of at most so many bytes; throws `body_too_large` beyond. */
export async function readBody(request: IncomingMessage, maxBytes: number, pace: BodyPace): Promise<Buffer> {
  const tooLarge = () => new ParleyError("body_too_large", `The body may have at most ${maxBytes} bytes.`);
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) throw tooLarge();
  // Mostly a body comes along with its headers, and is there once the parser is done with what it has read.
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
/** Time for an answer to reach a client that goes on sending. */
const DESTROY_AFTER_MS = 1000;

/**
 * Where an answer does not wait for the whole body: reads on for a bounded while, because a connection that is closed
 * with unread bytes is reset, and a client would lose the answer. Resolves once there is no more to wait for.
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
      // What is left keeps the connection from being used again.
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
