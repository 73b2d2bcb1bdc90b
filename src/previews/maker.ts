import { ParleyError } from "../errors.ts";
import { FairQueue, type Shares } from "../util/fair-queue.ts";
import { MAX_PIXELS } from "../util/sizes.ts";
import { CPU_SECONDS } from "./command.ts";
import { type Chunks, PreviewProcess, ProcessFailure } from "./process.ts";

/** A larger picture gets no preview. */
export const MAX_PICTURE_BYTES = 64 * 1024 * 1024;
/** Pictures that may wait: of one uploader, and of all. */
const SHARES: Shares = { each: 30, all: 300 };
/** When a client retries a preview that could not be made now. */
const RETRY_AFTER_SECONDS = "10";
/** Signals from the operator or a stopping server: the picture is not to blame. */
const STOPPED_BY = ["SIGTERM", "SIGINT", "SIGHUP"];

/** When a process is replaced, and what it accepts. Tests change it. */
export interface Life {
  /** How long one step of a picture may take. The process has a low priority, so a busy machine makes it slow. */
  timeLimitMs: number;
  idleMs: number;
  pictures: number;
  /** In MiB. The memory that the C library holds grows with time. */
  memory: number;
  /** A picture with more pixels has no preview. */
  maxPixels: number;
}

const LIFE: Life = {
  timeLimitMs: 60_000,
  idleMs: 10_000,
  pictures: 200,
  memory: 300,
  maxPixels: MAX_PIXELS,
};

/** A picture that waits for its preview. */
export interface Picture {
  /** Opens the bytes of the picture. */
  read: () => Promise<Uint8Array | Chunks>;
  /** In bytes. */
  size: number;
  /** The user whose turn it takes. */
  uploaderId: string;
  /** The cost relative to other pictures. */
  cost: number;
}

export interface Made {
  webp: Uint8Array;
  /** A ThumbHash in base64. */
  placeholder: string;
}

/** Makes previews in a child process, which decodes untrusted files and may be killed at any time. */
export class PreviewMaker {
  readonly #command: readonly string[];
  readonly #onFailure: (error: unknown) => void;
  readonly #life: Life;
  #process: PreviewProcess | undefined;
  /** How many pictures the current process has decoded. */
  #pictures = 0;
  #idle: NodeJS.Timeout | undefined;
  readonly #waiting = new FairQueue<() => Promise<void>>(SHARES);
  #work: Promise<void> | undefined;
  #isClosed = false;

  /** `onFailure` is called when the process itself does not work. */
  constructor(command: readonly string[], onFailure: (error: unknown) => void, life: Partial<Life> = {}) {
    this.#command = command;
    this.#onFailure = onFailure;
    this.#life = { ...LIFE, ...life };
  }

  /** The process id, while one is running. */
  get pid(): number | undefined {
    return this.#process?.hasEnded ? undefined : this.#process?.pid;
  }

  /** Resolves when no picture is waiting. */
  get done(): Promise<void> {
    return this.#work ?? Promise.resolve();
  }

  /**
   * Makes a preview when it is the uploader's turn. Returns null if the picture has no preview. Throws `unavailable`,
   * and the errors of `read`.
   */
  async make(picture: Picture, width: number): Promise<Made | null> {
    if (picture.size > MAX_PICTURE_BYTES) return null;
    const { promise, resolve, reject } = Promise.withResolvers<Made | null>();
    const task = () => this.#makeNow(picture, width).then(resolve, reject);
    if (!this.#waiting.add(task, picture.uploaderId, picture.cost))
      throw unavailable("Too many previews are being made. Try again.");
    this.#work ??= this.#runTasks();
    return promise;
  }

  /** Ends the process. Pictures that still wait fail. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const running = this.#process;
    this.#drop();
    await running?.ended;
    await this.done;
  }

  async #runTasks(): Promise<void> {
    for (let task = this.#waiting.take(); task; task = this.#waiting.take()) await task();
    this.#work = undefined;
  }

  async #makeNow({ read, size }: Picture, width: number): Promise<Made | null> {
    const running = await this.#ready();
    try {
      const bytes = await read();
      const { webp, placeholder, memory, cpuSeconds } = await running.ask(
        { width, size, maxPixels: this.#life.maxPixels },
        bytes instanceof Uint8Array ? [bytes] : bytes,
      );
      this.#pictures++;
      const isSpent = this.#pictures >= this.#life.pictures || memory > this.#life.memory;
      if (isSpent || cpuSeconds > CPU_SECONDS / 2) this.#drop();
      else this.#idle = setTimeout(() => this.#drop(), this.#life.idleMs);
      return webp.length > 0 ? { webp, placeholder } : null;
    } catch (error) {
      this.#drop();
      if (!(error instanceof ProcessFailure)) throw error;
      // A crash, a kernel limit or a timeout: the picture would also end the next process.
      if (!this.#isClosed && !STOPPED_BY.includes(error.signal ?? "")) return null;
      throw unavailable("The preview could not be made now. Try again.", error);
    }
  }

  /** Returns the process, and starts it if there is none. */
  async #ready(): Promise<PreviewProcess> {
    clearTimeout(this.#idle);
    if (this.#isClosed) throw unavailable("The server is shutting down.");
    if (this.#process && !this.#process.hasEnded) return this.#process;
    const started = new PreviewProcess(this.#command, this.#life.timeLimitMs);
    this.#process = started;
    this.#pictures = 0;
    try {
      await started.begin();
      return started;
    } catch (error) {
      this.#drop();
      if (!this.#isClosed) this.#onFailure(error);
      throw unavailable("Previews are temporarily unavailable. Try again.", error);
    }
  }

  #drop(): void {
    clearTimeout(this.#idle);
    this.#process?.kill();
    this.#process = undefined;
  }
}

function unavailable(detail: string, cause?: unknown): ParleyError {
  return new ParleyError("unavailable", detail, { header: RETRY_AFTER_SECONDS, cause });
}
