// Uploads, which continue while the user opens other conversations, and wait while the server does not answer.
import { type Attachment, type Parley, ParleyApiError, randomKey } from "../../../client/src/index.ts";
import { explain, explainSize, isCode, isGone, isPassing, isRefused } from "../failures.ts";
import type { ChangeFeed } from "../session/live.ts";
import { counted } from "../ui/format.ts";
import { oncePerFrame } from "../ui/frames.ts";
import { Meter } from "./meter.ts";

const AT_ONCE = 3;
/**
 * The size from which an upload continues where it was interrupted. It costs two more requests, and from this size on the
 * server keeps what has come in even if it crashes: it stores that every 8 MiB.
 */
const RESUMABLE_BYTES = 8 * 1024 * 1024;

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
  /** The id under which the server keeps what has come in of a large file; empty if it keeps nothing. */
  uploadId: string;
  /** The id of the uploaded file; empty until the server has answered. */
  attachmentId: string;
}

interface Hooks {
  maxFileSize: number | null;
  /** Deletes an upload that the server keeps, also while the page closes. */
  remove: (uploadId: string) => Promise<void>;
  /** Called when no upload is left. */
  idle: () => void;
  refused: (error: unknown) => void;
}

export class Uploads {
  /** The latest result, to be read out. */
  news = "";
  /** Whether the last attempt failed because the server did not answer. Then nothing is sent for a while. */
  isHeldUp = false;
  /** In the order in which they are sent. */
  #all: readonly Upload[] = [];
  #next = 1;
  #controllers = new Map<number, AbortController>();
  #watchers = new Set<() => void>();
  /** The bytes of files that were sent since the last time when none was running. */
  #finished = 0;
  #meter = new Meter();
  /** How many attempts in a row found no server. */
  #failures = 0;
  #isPausing = false;
  #isStopped = false;
  #parley: Parley;
  #events: ChangeFeed;
  #hooks: Hooks;

  constructor(parley: Parley, events: ChangeFeed, hooks: Hooks) {
    this.#parley = parley;
    this.#events = events;
    this.#hooks = hooks;
  }

  get all(): readonly Upload[] {
    return this.#all;
  }

  /** How many uploads wait or run. */
  get running(): number {
    return this.#all.filter(isRunning).length;
  }

  /** Those that may still be sent: also those that failed, unless a retry would fail too. */
  get unsent(): readonly Upload[] {
    return this.#all.filter((each) => isRunning(each) || (each.state === "failed" && !each.hopeless));
  }

  /** The bytes of all uploads since the last time when none was running, and how long the rest takes in seconds, if known. */
  get total(): { sent: number; size: number; secondsLeft: number | undefined } {
    const running = this.#all.filter(isRunning);
    const sent = running.reduce((sum, each) => sum + each.sent, this.#finished);
    const size = running.reduce((sum, { file }) => sum + file.size, this.#finished);
    const { speed } = this.#meter;
    return { sent, size, secondsLeft: speed > 0 && !this.isHeldUp ? (size - sent) / speed : undefined };
  }

  /** Whether a new file is one of these uploads, as far as the server has answered. */
  isOwn(attachmentId: string): boolean {
    return this.#all.some((each) => each.attachmentId === attachmentId);
  }

  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
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
    // The end of one that was being sent says so itself.
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
    this.#tell();
  }

  /** Aborts all uploads. Resolves when the server keeps nothing of them, or does not answer. */
  async stop(): Promise<void> {
    const stopped = this.#all;
    this.#all = [];
    this.#isStopped = true;
    for (const controller of this.#controllers.values()) controller.abort();
    await Promise.all(stopped.map(({ uploadId }) => this.#discard(uploadId)));
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

  /** Lets an upload wait after all others: a file that the server or a proxy cannot take holds up none of them. */
  #queue(id: number): void {
    const others = this.#all.filter((each) => each.id !== id);
    const found = this.#all.filter((each) => each.id === id);
    this.#all = [
      ...others,
      ...found.map((each): Upload => {
        // What the server keeps need not be sent again.
        const sent = each.uploadId ? each.sent : 0;
        return { ...each, state: "waiting", sent, speed: 0, error: "" };
      }),
    ];
    this.#tell();
  }

  #tell = oncePerFrame(() => {
    for (const watcher of this.#watchers) watcher();
  });

  /** Starts what the user wants sent, also if the server did not answer a moment ago. */
  #goOn(): void {
    if (this.#isPausing) this.#events.publish({ type: "retry" });
    else this.#startNext();
  }

  #startNext(): void {
    this.#tell();
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

  /** Sends a small file by one request, and a large one from where the server has it. */
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

  /** Begins an upload that can be continued. Waits for its id even if it is cancelled, so that it can be deleted. */
  async #begin({ id, key, file, conversationId }: Upload, signal: AbortSignal): Promise<string> {
    const { name: filename, size: length, type: contentType } = file;
    const described = { filename, length, contentType, conversation_id: conversationId };
    const { id: uploadId } = await this.#parley.uploads.create(described, { idempotencyKey: key });
    this.#change(id, { uploadId });
    if (signal.aborted) this.#drop(id, uploadId);
    return uploadId;
  }

  /** Deletes what the server keeps of an upload, so that a retry begins anew. */
  #drop(id: number, uploadId = this.#all.find((each) => each.id === id)?.uploadId): void {
    if (!uploadId) return;
    // With the key of the deleted upload the server would find no other.
    this.#change(id, { uploadId: "", key: randomKey() });
    void this.#discard(uploadId);
  }

  /** Deletes what would otherwise take room of the user for a day. */
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
    // The answer to a HEAD has no body, and so no code.
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

  /** Sends nothing for a while, or until the server may answer again. */
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

  /** Call this when bytes have left. */
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

/** After these the same file can be sent again. */
const REPEATABLE = ["upload_not_found", "upload_offset_mismatch", "daily_limit_reached"];

/** Whether the server will refuse the file again, unlike one for which others have to make room. */
function isHopeless(error: unknown): boolean {
  if (!(error instanceof ParleyApiError) || REPEATABLE.includes(error.code)) return false;
  return error.code === "source_changed" || (error.status >= 400 && error.status < 500);
}
