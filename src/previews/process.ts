import { type ChildProcessByStdio, spawn } from "node:child_process";
import { setPriority } from "node:os";
import type { Readable, Writable } from "node:stream";
import { ANSWER_BYTES, ExactReader, formatRequest, parseAnswer, type Request } from "./frames.ts";

/** No valid preview is larger: the process must be broken or compromised. */
const MAX_WEBP_BYTES = 16 * 1024 * 1024;
const PLACEHOLDER = /^(?:[A-Za-z0-9+/=]{4,64})?$/;
const MAX_PLACEHOLDER_BYTES = 64;
/** Requests have priority. */
const NICENESS = 10;
/** How long the start may take on a busy machine. */
const START_MS = 60_000;
/** Characters of standard error to keep. */
const MAX_COMPLAINT = 1000;

export type Chunks = Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

interface Answer {
  /** Empty if no preview can be made. */
  webp: Uint8Array;
  placeholder: string;
  memory: number;
  cpuSeconds: number;
}

/** The process ended, or sent an invalid answer. */
export class ProcessFailure extends Error {
  /** The signal that ended the process; null if it was not a signal or is unknown. */
  readonly signal: NodeJS.Signals | null;

  constructor(message: string, signal: NodeJS.Signals | null = null) {
    super(message);
    this.signal = signal;
  }
}

/** A running process. Makes one preview at a time. */
export class PreviewProcess {
  readonly #process: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #answers: ExactReader;
  readonly #timeLimitMs: number;
  #complaint = "";
  #hasEnded = false;
  /** Resolves once it has ended. */
  readonly ended: Promise<void>;
  /** Rejects when the process has ended. */
  readonly #failure: Promise<never>;

  constructor([program, ...args]: readonly string[], timeLimitMs: number) {
    this.#timeLimitMs = timeLimitMs;
    // The child must not get the server's environment, which contains secrets.
    const child = spawn(program!, args, { env: {}, stdio: ["pipe", "pipe", "pipe"] });
    // Set before the process starts threads, which inherit it. Starting takes as long as several previews.
    if (child.pid !== undefined) setPriority(child.pid, NICENESS);
    this.#process = child;
    this.#answers = new ExactReader(child.stdout);
    // The end of the process explains a failed write.
    child.stdin.on("error", () => {});
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#complaint = (this.#complaint + text).slice(-MAX_COMPLAINT);
    });
    const { promise, resolve } = Promise.withResolvers<ProcessFailure>();
    child.once("error", (error) => resolve(new ProcessFailure(error.message)));
    child.once("close", (code, signal) =>
      resolve(new ProcessFailure(`It ended with ${signal ?? code}. ${this.#complaint}`.trim(), signal)),
    );
    this.ended = promise.then(() => {
      this.#hasEnded = true;
    });
    this.#failure = promise.then((failure) => {
      throw failure;
    });
    this.#failure.catch(() => {});
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Resolves once it has started. Throws `ProcessFailure`. */
  async begin(): Promise<void> {
    await this.#inTime(this.#readAnswer(), START_MS);
  }

  /**
   * Makes one preview. Throws `ProcessFailure`, also on a timeout, and the errors of reading the picture. After an
   * error, kill the process.
   */
  ask(request: Request, picture: Chunks): Promise<Answer> {
    // The store that the picture comes from may hang.
    return Promise.race([this.#ask(request, picture), this.#failure]);
  }

  kill(): void {
    this.#process.kill("SIGKILL");
  }

  async #ask(request: Request, picture: Chunks): Promise<Answer> {
    await this.#inTime(this.#write(formatRequest(request)));
    let left = request.size;
    for await (const chunk of picture) {
      left -= chunk.length;
      await this.#inTime(this.#write(chunk));
    }
    if (left !== 0) throw new Error("The picture has more or fewer bytes than its row says.");
    return this.#inTime(this.#readAnswer());
  }

  /** Kills the process if the step takes longer than the time limit, which makes the step fail. */
  async #inTime<T>(step: Promise<T>, ms = this.#timeLimitMs): Promise<T> {
    const timer = setTimeout(() => this.kill(), ms);
    try {
      return await step;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Resolves once the bytes may be reused. */
  #write(bytes: Uint8Array): Promise<void> {
    return new Promise((resolve, reject) => {
      // The end of the process has the better error.
      this.#process.stdin.write(bytes, (error) => (error ? this.#failure.catch(reject) : resolve()));
    });
  }

  async #readAnswer(): Promise<Answer> {
    const head = await this.#answers.read(ANSWER_BYTES);
    if (!head) return this.#failure;
    const { webpSize, placeholderSize, memory, cpuSeconds } = parseAnswer(head);
    if (webpSize > MAX_WEBP_BYTES || placeholderSize > MAX_PLACEHOLDER_BYTES)
      throw new ProcessFailure("It sent an answer that is too large.");
    const webp = await this.#answers.read(webpSize);
    const text = webp && (await this.#answers.read(placeholderSize));
    if (!text) return this.#failure;
    const placeholder = Buffer.from(text).toString("latin1");
    if (!PLACEHOLDER.test(placeholder)) throw new ProcessFailure("It sent a placeholder that is none.");
    return { webp, placeholder, memory, cpuSeconds };
  }
}
