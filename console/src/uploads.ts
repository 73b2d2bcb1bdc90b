// Uploads, which continue while the user opens other conversations.
import { type Attachment, type Parley, ParleyApiError, randomKey } from "../../client/src/index.ts";
import { explain, explainSize, isRefused } from "./failures.ts";
import { counted } from "./format.ts";
import { oncePerFrame } from "./frames.ts";

const AT_ONCE = 3;
/** The weight of a new measurement in the speed shown, so that it does not jump. */
const WEIGHT = 0.3;
const MEASURE_MS = 400;

type State = "waiting" | "sending" | "done" | "failed" | "cancelled";

export interface Upload {
  id: number;
  /** The Idempotency-Key, the same for each attempt, so that the server recognizes a retry. */
  key: string;
  file: File;
  conversationId: string;
  conversationName: string;
  state: State;
  sent: number;
  /** Bytes per second; 0 while unknown. */
  speed: number;
  error: string;
  /** Whether a retry would fail too. */
  hopeless: boolean;
  /** The id of the uploaded file; empty until it is done. */
  attachmentId: string;
}

interface Hooks {
  maxFileSize: number | null;
  done: (attachment: Attachment, conversationId: string) => void;
  /** Called when no upload is left. */
  idle: () => void;
  refused: (error: unknown) => void;
}

export class Uploads {
  /** The latest result, to be read out. */
  news = "";
  #all: Upload[] = [];
  #next = 1;
  #controllers = new Map<number, AbortController>();
  #watchers = new Set<() => void>();
  #parley: Parley;
  #hooks: Hooks;

  constructor(parley: Parley, hooks: Hooks) {
    this.#parley = parley;
    this.#hooks = hooks;
  }

  get all(): readonly Upload[] {
    return this.#all;
  }

  /** How many uploads wait or run. */
  get running(): number {
    return this.#all.filter(({ state }) => state === "waiting" || state === "sending").length;
  }

  /** Whether a new file is one of these uploads: its event may arrive before the answer. */
  isOwn({ id, filename }: Attachment, conversationId: string): boolean {
    return this.#all.some(
      (each) =>
        each.attachmentId === id ||
        (each.state === "sending" && each.file.name === filename && each.conversationId === conversationId),
    );
  }

  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  add(files: readonly File[], conversationId: string, conversationName: string): void {
    const added = files.map((file) => this.#upload(file, conversationId, conversationName));
    this.#all = [...added, ...this.#all];
    this.news = `Sending ${counted(added.length, "file", "files")} to ${conversationName}.`;
    this.#startNext();
  }

  #upload(file: File, conversationId: string, conversationName: string): Upload {
    const upload: Upload = {
      id: this.#next++,
      key: randomKey(),
      file,
      conversationId,
      conversationName,
      state: "waiting",
      sent: 0,
      speed: 0,
      error: "",
      hopeless: false,
      attachmentId: "",
    };
    const limit = this.#hooks.maxFileSize;
    if (limit === null || file.size <= limit) return upload;
    return { ...upload, state: "failed", error: explainSize(file.size, limit), hopeless: true };
  }

  cancel(id: number): void {
    this.#end(id, { state: "cancelled" }, "was cancelled");
    this.#controllers.get(id)?.abort();
    this.#startNext();
  }

  retry(id: number): void {
    this.#change(id, { state: "waiting", sent: 0, speed: 0, error: "" });
    this.#startNext();
  }

  /** Removes finished uploads from the list. */
  clear(): void {
    this.#all = this.#all.filter(({ state }) => state === "waiting" || state === "sending");
    this.#tell();
  }

  /** Aborts all uploads. */
  stop(): void {
    this.#all = [];
    for (const controller of this.#controllers.values()) controller.abort();
  }

  #change(id: number, change: Partial<Upload>): void {
    this.#all = this.#all.map((each) => (each.id === id ? { ...each, ...change } : each));
    this.#tell();
  }

  #end(id: number, change: Partial<Upload>, outcome: string): void {
    const name = this.#all.find((each) => each.id === id)?.file.name;
    if (name !== undefined) this.news = `${name} ${outcome}`;
    this.#change(id, change);
  }

  #tell = oncePerFrame(() => {
    for (const watcher of this.#watchers) watcher();
  });

  #startNext(): void {
    this.#tell();
    // The oldest is the last of the list. A cancelled upload may still be ending.
    const waiting = this.#all.filter(({ id, state }) => state === "waiting" && !this.#controllers.has(id));
    for (const upload of waiting.reverse()) {
      if (this.#controllers.size >= AT_ONCE) return;
      void this.#send(upload);
    }
  }

  async #send(upload: Upload): Promise<void> {
    const { id, key, file, conversationId } = upload;
    const controller = new AbortController();
    this.#controllers.set(id, controller);
    this.#change(id, { state: "sending" });
    try {
      const attachment = await this.#parley.attachments.upload(file, {
        filename: file.name,
        conversation_id: conversationId,
        idempotencyKey: key,
        signal: controller.signal,
        onProgress: this.#meter(id, controller.signal),
      });
      this.#end(id, { state: "done", sent: file.size, attachmentId: attachment.id }, "was sent");
      this.#hooks.done(attachment, conversationId);
    } catch (error) {
      if (isRefused(error)) this.#hooks.refused(error);
      else if (!controller.signal.aborted) {
        const why = explain(error);
        const hopeless = error instanceof ParleyApiError && error.code === "source_changed";
        this.#end(id, { state: "failed", error: why, hopeless }, `was not sent. ${why}`);
      }
    } finally {
      this.#controllers.delete(id);
      this.#startNext();
      if (this.running === 0) this.#hooks.idle();
    }
  }

  #meter(id: number, signal: AbortSignal): (progress: { sent: number }) => void {
    let before = { at: performance.now(), sent: 0 };
    let speed = 0;
    return ({ sent }) => {
      if (signal.aborted) return;
      const at = performance.now();
      if (at - before.at < MEASURE_MS) return this.#change(id, { sent });
      const measured = ((sent - before.sent) / (at - before.at)) * 1000;
      speed = speed === 0 ? measured : speed + (Math.max(measured, 0) - speed) * WEIGHT;
      before = { at, sent };
      this.#change(id, { sent, speed });
    };
  }
}
