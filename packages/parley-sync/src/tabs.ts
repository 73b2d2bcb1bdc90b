// One leader among the tabs of a browser makes all requests; the others ask it. Elsewhere there is one instance, the leader.
import type { StreamEvent } from "parley-client";
import type { Batch, Value } from "./store.ts";
import type { LinkState, Operation } from "./types.ts";

/** What tabs say to each other. */
export type TabMessage =
  | { type: "changed"; changes: [key: string, value: Value | null][] }
  | { type: "event"; event: StreamEvent }
  | { type: "refused"; refused: Operation }
  | { type: "ask"; id: string; name: string; args: unknown[] }
  | { type: "answer"; id: string; error?: { code?: string; detail?: string; message: string } | undefined }
  | { type: "leader" }
  /** A new tab asks for the state of the connection. */
  | { type: "hello" }
  | { type: "state"; state: LinkState }
  /** The copy was of another user. */
  | { type: "erased" }
  | { type: "signed out" };

/** The part of `BroadcastChannel` that is used. */
interface Channel {
  postMessage(message: unknown): void;
  close(): void;
  onmessage: ((event: { data: unknown }) => void) | null;
}

interface Browser {
  BroadcastChannel?: new (name: string) => Channel;
  navigator?: {
    locks?: {
      request(name: string, options: { signal: AbortSignal }, hold: () => Promise<void>): Promise<unknown>;
    };
  };
}

interface Asked {
  name: string;
  args: unknown[];
  resolve: () => void;
  reject: (error: unknown) => void;
}

interface Hooks {
  receive: (message: TabMessage) => void;
  /** Called once this instance is the leader, until it is closed. */
  lead: () => void;
  /** Does what another tab asks for. */
  run: (name: string, args: unknown[]) => Promise<void>;
}

export class Tabs {
  isLeader = false;
  readonly #hooks: Hooks;
  #channel: Channel | undefined;
  readonly #release = new AbortController();
  readonly #asked = new Map<string, Asked>();
  readonly #name: string;
  readonly #id: string;
  #next = 0;

  /** `store`: its name, which the tabs share. `id`: of this instance. */
  constructor(store: string | undefined, id: string, hooks: Hooks) {
    this.#hooks = hooks;
    this.#name = `parley-sync ${store}`;
    this.#id = id;
    const { BroadcastChannel, navigator } = globalThis as unknown as Browser;
    if (store === undefined || !BroadcastChannel || !navigator?.locks) return;
    this.#channel = new BroadcastChannel(this.#name);
    this.#channel.onmessage = ({ data }) => this.#receive(data as TabMessage);
  }

  /** Waits to be the leader. Call it once the copy is open. */
  start(): void {
    if (!this.#channel) {
      this.#lead();
      return;
    }
    const { signal } = this.#release;
    const { locks } = (globalThis as unknown as Browser).navigator!;
    const untilReleased = () =>
      new Promise<void>((resolve) => {
        signal.addEventListener("abort", () => resolve());
        if (signal.aborted) resolve();
        else this.#lead();
      });
    this.post({ type: "hello" });
    locks!.request(this.#name, { signal }, untilReleased).catch(() => {});
  }

  #lead(): void {
    this.isLeader = true;
    this.#hooks.lead();
    this.post({ type: "leader" });
    for (const [id, { name, args, resolve, reject }] of this.#asked) {
      this.#asked.delete(id);
      this.#hooks.run(name, args).then(resolve, reject);
    }
  }

  post(message: TabMessage): void {
    this.#channel?.postMessage(message);
  }

  /** Has the leader do something, also if another tab becomes the leader meanwhile. */
  async ask(name: string, ...args: unknown[]): Promise<void> {
    if (this.#release.signal.aborted) throw new Error("The copy is closed.");
    if (this.isLeader) return this.#hooks.run(name, args);
    const id = `${this.#id} ${this.#next++}`;
    return new Promise((resolve, reject) => {
      this.#asked.set(id, { name, args, resolve, reject });
      this.post({ type: "ask", id, name, args });
    });
  }

  #receive(message: TabMessage): void {
    if (message.type === "ask" && this.isLeader) void this.#answer(message.id, message.name, message.args);
    else if (message.type === "answer") this.#settle(message);
    else if (message.type === "leader")
      for (const [id, { name, args }] of this.#asked) this.post({ type: "ask", id, name, args });
    this.#hooks.receive(message);
  }

  async #answer(id: string, name: string, args: unknown[]): Promise<void> {
    const error = await this.#hooks.run(name, args).then(
      () => undefined,
      // Errors lose their fields on the way.
      (error) => ({ code: error.code, detail: error.detail, message: String(error.message) }),
    );
    this.post({ type: "answer", id, error });
  }

  #settle({ id, error }: Extract<TabMessage, { type: "answer" }>): void {
    const asked = this.#asked.get(id);
    this.#asked.delete(id);
    if (error) asked?.reject(Object.assign(new Error(error.message), error));
    else asked?.resolve();
  }

  close(): void {
    this.isLeader = false;
    this.#release.abort();
    this.#channel?.close();
    this.#channel = undefined;
    for (const { reject } of this.#asked.values()) reject(new Error("The copy is closed."));
    this.#asked.clear();
  }
}

/** Other tabs read files from the store. */
export function toChanges(batch: Batch): [key: string, value: Value | null][] {
  return [...batch].filter(([key]) => !key.startsWith("file/"));
}
