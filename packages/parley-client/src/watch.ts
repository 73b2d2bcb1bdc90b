import { connectionError, ParleyApiError } from "./errors.ts";

/** Aborts a request if its caller aborts, or if nothing arrives for too long while it waits for the network. */
export class Watch {
  /** Aborts the request. Its reason is the caller's error. */
  readonly signal: AbortSignal;
  readonly #own = new AbortController();
  readonly #idleMs: number;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `idleMs`: 0 for no limit. */
  constructor(idleMs: number, caller: AbortSignal | undefined) {
    this.#idleMs = idleMs;
    this.signal = caller ? AbortSignal.any([caller, this.#own.signal]) : this.#own.signal;
  }

  /** Starts or restarts the timer. */
  start(): void {
    this.stop();
    // An ended request needs no timer, even if its body is still being sent.
    if (this.#idleMs === 0 || this.signal.aborted) return;
    const detail = `The server sent nothing for ${this.#idleMs / 1000} seconds.`;
    const timeout = () => this.end(new ParleyApiError({ code: "timeout", status: 0, detail }));
    this.#timer = setTimeout(timeout, this.#idleMs);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  /** Ends the request with an error of the client. */
  end(reason: unknown): void {
    this.stop();
    this.#own.abort(reason);
  }

  /** Returns the caller's error for what the network threw. `url`: of a request without an answer. */
  toError(thrown: unknown, url?: string): unknown {
    return this.signal.aborted ? this.signal.reason : connectionError(thrown, url);
  }
}
