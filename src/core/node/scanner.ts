import type { ScanSettings } from "../../config/file-settings.ts";
import { OperatorError, ParleyError } from "../../errors.ts";
import { openClamd, openScanPost, type ScanStream } from "../../util/scan-streams.ts";
import { exactSize } from "../../util/sizes.ts";

/** When to retry an upload that could not be scanned. */
const RETRY_AFTER_SECONDS = "10";

/** The result of scanning a file. `found` is the scanner's name for what it found. */
export type Verdict = "clean" | "unscanned" | { found: string };

type Chunks = Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
/** Opens the bytes of a file. */
type Read = () => Chunks | Promise<Chunks>;

/** The scanner did not answer, or sent an invalid answer. */
class ScanFailure extends Error {}

/** The scanner of this node, with a limited number of concurrent scans. */
export class Scanner {
  readonly settings: ScanSettings;
  readonly #onFailure: (error: unknown) => void;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(settings: ScanSettings, onFailure: (error: unknown) => void) {
    this.settings = settings;
    this.#onFailure = onFailure;
  }

  /** Starts a scan during an upload; undefined if the limit of concurrent scans is reached. */
  tryStart(): Scan | undefined {
    return this.#running < this.settings.atOnce ? this.#start() : undefined;
  }

  /** Waits until a scan may start. Throws `ScanFailure` if that takes too long. */
  async start(): Promise<Scan> {
    const { timeoutMs } = this.settings;
    if (this.#running >= this.settings.atOnce) {
      const isFree = await new Promise<boolean>((resolve) => {
        const begin = () => {
          clearTimeout(timer);
          resolve(true);
        };
        const timer = setTimeout(() => {
          this.#waiting.splice(this.#waiting.indexOf(begin), 1);
          resolve(false);
        }, timeoutMs);
        this.#waiting.push(begin);
      });
      if (!isFree) throw new ScanFailure("too many files wait for the scanner");
      // Free the slot of this scan.
      this.#running--;
    }
    return this.#start();
  }

  /** Scans a complete file. Returns the name of what was found; null if it is clean. Throws `ScanFailure`. */
  async scan(read: Read): Promise<string | null> {
    using scan = await this.start();
    // Open the bytes only now: a scan that waits may never read them.
    for await (const chunk of await read()) {
      await scan.feed(chunk);
      if (scan.isOver) break;
    }
    return await scan.end();
  }

  /**
   * Returns the verdict of a scan. If the scanner fails, throws `unavailable`, or returns `unscanned` if the operator lets
   * such files pass.
   */
  async judge(scanning: Promise<string | null>): Promise<Verdict> {
    try {
      const found = await scanning;
      return found === null ? "clean" : { found };
    } catch (error) {
      if (!(error instanceof ScanFailure)) throw error;
      this.#onFailure(error);
      if (this.settings.passUnscanned) return "unscanned";
      throw new ParleyError("unavailable", "The virus scanner is temporarily unavailable. Try again.", {
        header: RETRY_AFTER_SECONDS,
        cause: error,
      });
    }
  }

  /** Returns the verdict on a complete file. Throws what `judge` throws. */
  async judgeWhole(size: number, read: Read): Promise<Verdict> {
    if (size === 0) return "clean";
    if (size > this.settings.maxBytes) return "unscanned";
    return this.judge(this.scan(read));
  }

  #start(): Scan {
    this.#running++;
    return new Scan(this.settings, () => {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running--;
    });
  }
}

/** A running scan of a file. It ends with the answer, after `timeoutMs`, or when it goes out of scope. */
export class Scan implements Disposable {
  readonly #stream: ScanStream;
  readonly #abort = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #onEnd: (() => void) | undefined;
  /** Whether it has failed. */
  isLost = false;

  constructor({ address, timeoutMs }: ScanSettings, onEnd: () => void) {
    const { signal } = this.#abort;
    this.#stream =
      typeof address === "string"
        ? openScanPost(address, signal)
        : openClamd(address.host, address.port, signal);
    this.#onEnd = onEnd;
    this.#timer = setTimeout(() => this.#stop(`no answer came within ${timeoutMs / 1000} s`), timeoutMs);
    this.#stream.answer.then(
      () => this[Symbol.dispose](),
      () => {
        this.isLost = true;
        this[Symbol.dispose]();
      },
    );
  }

  /** Whether it has an answer, or has failed. */
  get isOver(): boolean {
    return this.#onEnd === undefined;
  }

  /** Sends bytes as they arrive. Resolves when their memory may be reused, even if the scan has failed. */
  write(chunk: Uint8Array): Promise<void> {
    return this.#stream.write(chunk);
  }

  /** Sends bytes that are already available, so that only the scanner can be slow. */
  async feed(chunk: Uint8Array): Promise<void> {
    await this.#stream.write(chunk);
    if (!this.isOver) this.#timer.refresh();
  }

  /** Returns the name of what was found in all bytes; null if they are clean. Throws `ScanFailure`. */
  async end(): Promise<string | null> {
    if (!this.isOver) {
      this.#timer.refresh();
      this.#stream.end();
    }
    try {
      return await this.#stream.answer;
    } catch (cause) {
      throw new ScanFailure((cause as Error).message, { cause });
    }
  }

  [Symbol.dispose](): void {
    this.#stop("the upload has ended");
  }

  #stop(reason: string): void {
    clearTimeout(this.#timer);
    this.#abort.abort(new Error(reason));
    this.#onEnd?.();
    this.#onEnd = undefined;
  }
}

/** The EICAR test file in two parts, so that no scanner finds it in this source file. */
const EICAR = ["X5O!P%@AP[4\\PZX54(P^)7CC)7}$EICAR-", "STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"];
const CHUNK_BYTES = 64 * 1024;

/** Yields the EICAR test file, padded with spaces to this size. */
function* testFile(size: number): Generator<Uint8Array> {
  const first = Buffer.from(EICAR.join(""));
  yield first;
  const padding = Buffer.alloc(CHUNK_BYTES, " ");
  for (let left = size - first.length; left > 0; left -= CHUNK_BYTES) yield padding.subarray(0, left);
}

/**
 * Throws `OperatorError` unless the scanner finds the EICAR test file, padded to the size of the largest file: scanners report
 * files beyond their limits as clean.
 */
export async function proveScanner(scanner: Scanner): Promise<void> {
  const { address, maxBytes } = scanner.settings;
  const clamdAdvice = `In clamd.conf set StreamMaxLength, MaxFileSize and MaxScanSize to at least ${exactSize(maxBytes)}, and AlertExceedsMax yes. Or set`;
  const advice = `${typeof address === "string" ? "Set" : clamdAdvice} PARLEY_SCAN_MAX_SIZE to what the scanner can do.`;
  const found = await scanner
    .scan(() => testFile(maxBytes))
    .catch((error: Error) => {
      throw new OperatorError(
        `PARLEY_SCAN: the scanner failed at a file of ${exactSize(maxBytes)}: ${error.message}. Check that it is running. ${advice}`,
        {
          cause: error,
        },
      );
    });
  if (found !== null) return;
  throw new OperatorError(
    `PARLEY_SCAN: the scanner does not find the EICAR test file if it has ${exactSize(maxBytes)}. ${advice}`,
  );
}
