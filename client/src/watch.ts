import { connectionError, ParleyApiError } from "./errors.ts";

/** Ends a request when its caller says so, or when nothing happens for too long while it waits for the network. */
export class Watch {
  /** What ends the request; its reason is what the caller is told. */
  readonly signal: AbortSignal;
  readonly #own = new AbortController();
  readonly #idleMs: number;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `idleMs`: 0 for as long as it takes. */
  constructor(idleMs: number, caller: AbortSignal | undefined) {
    this.#idleMs = idleMs;
    this.signal = caller ? AbortSignal.any([caller, this.#own.signal]) : this.#own.signal;
  }

  /** The network has given or taken something, or is waited for from now on. */
  start(): void {
    this.stop();
    // Of a body that is still on its way when the request has ended nothing is expected.
    if (this.#idleMs === 0 || this.signal.aborted) return;
    const detail = `Nothing came from the server for ${this.#idleMs / 1000} seconds.`;
    const timeout = () => this.end(new ParleyApiError({ code: "timeout", status: 0, detail }));
    this.#timer = setTimeout(timeout, this.#idleMs);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  /** Ends the request for a reason of this side. */
  end(reason: unknown): void {
    this.stop();
    this.#own.abort(reason);
  }

  /** What to tell the caller where the network has thrown this. */
  errorOf(thrown: unknown): unknown {
    return this.signal.aborted ? this.signal.reason : connectionError(thrown);
  }
}
