// Uploads continue while the user opens other conversations, and wait while the server is unreachable.
import {
  type Attachment,
  type Parley,
  ParleyApiError,
  randomKey,
} from "../../../packages/parley-client/src/index.ts";
import { explain, explainSize, isCode, isGone, isPassing, isRefused } from "../failures.ts";
import type { ChangeFeed } from "../session/changes.ts";
import { counted } from "../ui/format.ts";
import { oncePerFrame } from "../ui/frames.ts";
import { Watched } from "../ui/watched.ts";
import { Meter } from "./meter.ts";

const AT_ONCE = 3;
/**
 * From this size on, uploads are resumable. That costs two more requests. The server syncs the received bytes every 8
 * MiB, so from this size on they survive a crash.
 */
const RESUMABLE_BYTES = 8 * 1024 * 1024;

type State = "waiting" | "sending" | "done" | "failed" | "cancelled";

export interface Upload {
  id: number;
  /** The Idempotency-Key of all attempts, by which the server recognizes a retry. */
  key: string;
  file: File;
  conversationId: string;
  conversationName: string;
  state: State;
  sent: number;
  /** Bytes per second; 0 if unknown. */
  speed: number;
  error: string;
  /** Whether a retry would also fail. */
  hopeless: boolean;
  /** The id of the resumable upload; empty if there is none on the server. */
  uploadId: string;
  /** The id of the uploaded file; empty before the server has answered. */
  attachmentId: string;
}

interface Hooks {
  maxFileSize: number | null;
  /** Deletes an upload from the server, also while the page is closing. */
  remove: (uploadId: string) => Promise<void>;
  /** Called when no uploads are left. */
  idle: () => void;
  refused: (error: unknown) => void;
}

export class Uploads extends Watched {
  /** The latest result, for screen readers. */
  news = "";
  /** Whether the last attempt found no server. Uploads then pause. */
  isHeldUp = false;
  /** In upload order. */
  #all: readonly Upload[] = [];
  #next = 1;
  #controllers = new Map<number, AbortController>();
  /** Bytes of uploads that finished since uploads were last idle. */
  #finished = 0;
  #meter = new Meter();
  /** Consecutive attempts that found no server. */
  #failures = 0;
  #isPausing = false;
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

  get all(): readonly Upload[] {
    return this.#all;
  }

  /** How many uploads are waiting or running. */
  get running(): number {
    return this.#all.filter(isRunning).length;
  }

  /** Uploads that could still be sent: includes failed ones, unless a retry would also fail. */
  get unsent(): readonly Upload[] {
    return this.#all.filter((each) => isRunning(each) || (each.state === "failed" && !each.hopeless));
  }

  /** The bytes of all uploads since uploads were last idle, and the estimated time left in seconds, if known. */
  get total(): { sent: number; size: number; secondsLeft: number | undefined } {
    const running = this.#all.filter(isRunning);
    const sent = running.reduce((sum, each) => sum + each.sent, this.#finished);
    const size = running.reduce((sum, { file }) => sum + file.size, this.#finished);
    const { speed } = this.#meter;
    return { sent, size, secondsLeft: speed > 0 && !this.isHeldUp ? (size - sent) / speed : undefined };
  }

  /** Whether a new file comes from one of these uploads, as far as the server has answered. */
  isOwn(attachmentId: string): boolean {
    return this.#all.some((each) => each.attachmentId === attachmentId);
  }

  add(files: readonly File[], conversationId: string, conversationName: string): void {
    const added = files.map((file) => this.#upload(file, conversationId, conversationName));
    this.#all = [...this.#all, ...added];
    this.news = `Sending ${counted(added.length, "file", "files")} to ${conversationName}.`;
    this.#goOn();
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
      uploadId: "",
      attachmentId: "",
    };
    const limit = this.#hooks.maxFileSize;
    if (limit === null || file.size <= limit) return upload;
    return { ...upload, state: "failed", error: explainSize(file.size, limit), hopeless: true };
  }

  cancel(id: number): void {
    this.#end(id, { state: "cancelled" }, "was cancelled");
    this.#controllers.get(id)?.abort();
    this.#drop(id);
    this.#startNext();
    // A running upload calls this itself when it ends.
    if (this.running === 0 && this.#controllers.size === 0) this.#rest();
  }

  retry(id: number): void {
    this.#queue(id);
    this.#goOn();
  }

  /** Removes finished uploads from the list. */
  clear(): void {
    for (const each of this.#all) if (!isRunning(each)) void this.#discard(each.uploadId);
    this.#all = this.#all.filter(isRunning);
    this.#notifySoon();
  }

  /** Aborts all uploads. Resolves when they are deleted from the server, or when the server does not answer. */
  async stop(): Promise<void> {
    const stopped = this.#all;
    this.#all = [];
    this.#isStopped = true;
    for (const controller of this.#controllers.values()) controller.abort();
    await Promise.all(stopped.map(({ uploadId }) => this.#discard(uploadId)));
  }

  #change(id: number, change: Partial<Upload>): void {
    this.#all = this.#all.map((each) => (each.id === id ? { ...each, ...change } : each));
    this.#notifySoon();
  }

  #end(id: number, change: Partial<Upload>, outcome: string): void {
    const name = this.#all.find((each) => each.id === id)?.file.name;
    if (name !== undefined) this.news = `${name} ${outcome}`;
    this.#change(id, change);
  }

  /**
   * Moves an upload to the end of the queue, so that a file that the server or a proxy cannot handle does not block
   * the others.
   */
  #queue(id: number): void {
    const others = this.#all.filter((each) => each.id !== id);
    const found = this.#all.filter((each) => each.id === id);
    this.#all = [
      ...others,
      ...found.map((each): Upload => {
        // Bytes on the server need not be sent again.
        const sent = each.uploadId ? each.sent : 0;
        return { ...each, state: "waiting", sent, speed: 0, error: "" };
      }),
    ];
    this.#notifySoon();
  }

  #notifySoon = oncePerFrame(() => this.notify());

  /** Retries at once, even after a recent failure to reach the server. */
  #goOn(): void {
    if (this.#isPausing) this.#events.publish({ type: "retry" });
    else this.#startNext();
  }

  #startNext(): void {
    this.#notifySoon();
    if (this.#isPausing) return;
    for (const upload of this.#all) {
      if (this.#controllers.size >= AT_ONCE) return;
      // A cancelled upload may still be ending.
      if (upload.state === "waiting" && !this.#controllers.has(upload.id)) void this.#send(upload);
    }
  }

  async #send(upload: Upload): Promise<void> {
    const { id, file, conversationId } = upload;
    const controller = new AbortController();
    this.#controllers.set(id, controller);
    this.#change(id, { state: "sending" });
    try {
      await this.#events.publishResult(
        () => this.#transfer(upload, controller.signal),
        (payload) => {
          this.#change(id, { attachmentId: payload.id });
          return { type: "attachment.created", conversation_id: conversationId, payload };
        },
      );
      this.#finished += file.size;
      this.#failures = 0;
      this.#advance();
      this.#end(id, { state: "done", sent: file.size, uploadId: "" }, "was sent");
    } catch (error) {
      if (!controller.signal.aborted) this.#fail(upload, error);
    } finally {
      this.#controllers.delete(id);
      this.#startNext();
      if (this.running === 0) this.#rest();
    }
  }

  /** Sends a small file in one request; resumes a large one at the server's offset. */
  async #transfer(upload: Upload, signal: AbortSignal): Promise<Attachment> {
    const { id, key, file, conversationId, uploadId } = upload;
    const onProgress = this.#follow(id, signal);
    if (file.size >= RESUMABLE_BYTES) {
      const resume = uploadId || (await this.#begin(upload, signal));
      return this.#parley.uploads.send(file, { resume, signal, onProgress });
    }
    const target = { filename: file.name, conversation_id: conversationId };
    return this.#parley.attachments.upload(file, { ...target, idempotencyKey: key, signal, onProgress });
  }

  /** Creates a resumable upload. Waits for its id even after a cancel, to be able to delete it. */
  async #begin({ id, key, file, conversationId }: Upload, signal: AbortSignal): Promise<string> {
    const { name: filename, size: length, type: contentType } = file;
    const described = { filename, length, contentType, conversation_id: conversationId };
    const { id: uploadId } = await this.#parley.uploads.create(described, { idempotencyKey: key });
    this.#change(id, { uploadId });
    if (signal.aborted) this.#drop(id, uploadId);
    return uploadId;
  }

  /** Deletes an upload from the server, so that a retry starts from the beginning. */
  #drop(id: number, uploadId = this.#all.find((each) => each.id === id)?.uploadId): void {
    if (!uploadId) return;
    // With the old key the server would return the deleted upload.
    this.#change(id, { uploadId: "", key: randomKey() });
    void this.#discard(uploadId);
  }

  /** Deletes an upload that would otherwise use the user's quota for a day. */
  async #discard(uploadId: string): Promise<void> {
    if (uploadId === "") return;
    for (let failures = 1; ; failures++) {
      try {
        return await this.#hooks.remove(uploadId);
      } catch (error) {
        if (this.#isStopped || !isPassing(error)) return;
        await this.#events.pause(failures);
      }
    }
  }

  #rest(): void {
    this.#finished = 0;
    this.#meter = new Meter();
    this.#hooks.idle();
  }

  #fail({ id, uploadId }: Upload, error: unknown): void {
    // The response to a HEAD has no body, so no error code.
    const isExpired =
      isCode(error, "upload_not_found") || (isGone(error) && isCode(error, "unexpected_answer"));
    if (isExpired) this.#drop(id);
    if (isRefused(error)) this.#hooks.refused(error);
    else if (isExpired && uploadId !== "") this.#queue(id);
    else if (isPassing(error)) {
      this.#queue(id);
      void this.#pause();
    } else {
      const why = explain(error);
      const hopeless = isHopeless(error);
      if (hopeless) this.#drop(id);
      this.#end(id, { state: "failed", error: why, hopeless }, `was not sent. ${why}`);
    }
  }

  /** Pauses all uploads for a while, or until the server may be back. */
  async #pause(): Promise<void> {
    if (!this.isHeldUp) this.news = "Waiting for the connection. The uploads continue when it is back.";
    this.isHeldUp = true;
    if (this.#isPausing) return;
    this.#isPausing = true;
    await this.#events.pause(++this.#failures);
    this.#isPausing = false;
    this.#meter = new Meter();
    this.#startNext();
  }

  /** Call when bytes were sent. */
  #advance(): void {
    this.isHeldUp = false;
    this.#meter.note(this.total.sent);
  }

  /** Returns a function that follows the progress of an upload. */
  #follow(id: number, signal: AbortSignal): (progress: { sent: number }) => void {
    const meter = new Meter();
    return ({ sent }) => {
      if (signal.aborted) return;
      meter.note(sent);
      this.#change(id, { sent, speed: meter.speed });
      if (sent > 0) this.#advance();
    };
  }
}

export function isRunning({ state }: Upload): boolean {
  return state === "waiting" || state === "sending";
}

/** After these errors the same file can be sent again. */
const REPEATABLE = ["upload_not_found", "upload_offset_mismatch", "daily_limit_reached"];

/**
 * Reports whether the server will refuse the file again. A file refused for lack of room is not hopeless: other files
 * may be deleted.
 */
function isHopeless(error: unknown): boolean {
  if (!(error instanceof ParleyApiError) || REPEATABLE.includes(error.code)) return false;
  return error.code === "source_changed" || (error.status >= 400 && error.status < 500);
}
