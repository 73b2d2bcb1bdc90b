// The copy in memory: all of it, but messages only of conversations that are in use.
import type { Contact, Message, ShownUser } from "parley-client";
import {
  CURSOR,
  type Cursor,
  META,
  type Meta,
  messagesOf,
  type Stale,
  type Talk,
  toEntry,
} from "./entries.ts";
import type { Batch, Store, Value } from "./store.ts";
import type { Operation } from "./types.ts";

export interface CopyHooks {
  /** Called after each change in memory. */
  changed: (batch: Batch) => void;
  /** Called once a change of this process is durable. */
  written: (batch: Batch) => void;
  /** Called when a write failed: from then on nothing is stored. */
  broken: (error: unknown) => void;
  /** Called if the stored messages of a conversation are not those that should be there. Gets the keys that are. */
  damaged: (id: string, keys: readonly string[]) => void;
}

export class Copy {
  meta: Meta | undefined;
  cursor: Cursor | undefined;
  readonly talks = new Map<string, Talk>();
  readonly contacts = new Map<string, Contact>();
  /** Users who have changed since their messages were read. */
  readonly users = new Map<string, ShownUser>();
  readonly stale = new Map<string, Stale>();
  readonly operations = new Map<string, Operation>();
  /** The messages of conversations that are in use, by their ids. */
  readonly messages = new Map<string, Map<string, Message>>();
  readonly store: Store;
  readonly #hooks: CopyHooks;
  readonly #loading = new Map<string, Promise<void>>();
  /** For each running read of the store, the changes since it began. */
  readonly #late = new Set<Map<string, Value | null>>();
  #waiting: Map<string, Value | null> | undefined;
  #writing: Promise<void> = Promise.resolve();
  /** Files that could not be stored. */
  readonly #files = new Map<string, Value>();
  #isBroken = false;
  #isClosed = false;

  constructor(store: Store, hooks: CopyHooks) {
    this.store = store;
    this.#hooks = hooks;
  }

  /** Reads everything except messages. Returns the keys of entries that did not parse. */
  async open(): Promise<string[]> {
    const late = new Map<string, Value | null>();
    this.#late.add(late);
    await this.#flushed();
    const scans = ["talk/", "contact/", "user/", "stale/", "out/"].map((prefix) => this.store.scan(prefix));
    const single = [META, CURSOR].map(async (key) => {
      const value = await this.store.get(key);
      return value === undefined ? [] : [[key, value] as const];
    });
    const entries = (await Promise.all([...single, ...scans])).flat();
    this.meta = undefined;
    this.cursor = undefined;
    const { talks, contacts, users, stale, operations, messages } = this;
    for (const map of [talks, contacts, users, stale, operations, messages]) map.clear();
    const damaged: string[] = [];
    for (const [key, value] of entries) {
      const entry = toEntry(key, value);
      this.#set(key, entry ?? null);
      if (!entry) damaged.push(key);
    }
    this.#late.delete(late);
    for (const [key, value] of late) this.#set(key, value);
    return damaged;
  }

  /** Reads the messages of a conversation into memory. Returns undefined if they are there. */
  load(id: string): Promise<void> | undefined {
    if (this.messages.has(id)) return undefined;
    let loading = this.#loading.get(id);
    if (!loading) {
      loading = this.#read(id).finally(() => this.#loading.delete(id));
      this.#loading.set(id, loading);
    }
    return loading;
  }

  async #read(id: string): Promise<void> {
    // Changes of this process that are not stored yet would be missing.
    await this.#flushed();
    const late = new Map<string, Value | null>();
    this.#late.add(late);
    const wanted = this.talks.get(id)?.count ?? 0;
    // A store that can't be read is like an empty one.
    const entries = await this.store.scan(messagesOf(id)).catch(() => []);
    const messages = new Map<string, Message>();
    for (const [key, value] of entries) {
      const message = toEntry(key, value) as Message | undefined;
      if (message) messages.set(message.id, message);
    }
    this.messages.set(id, messages);
    if (messages.size !== wanted || messages.size !== entries.length)
      this.#hooks.damaged(
        id,
        entries.map(([key]) => key),
      );
    this.#late.delete(late);
    for (const [key, value] of late) this.#set(key, value);
    this.#hooks.changed(new Map([[messagesOf(id), null]]));
  }

  /** Forgets the messages of a conversation, which stay in the store. */
  unload(id: string): void {
    if (this.#isBroken) return;
    this.messages.delete(id);
    // The view's last snapshot would hold them.
    this.#hooks.changed(new Map([[messagesOf(id), null]]));
  }

  /** Resolves once all changes so far are durable, or can't be. */
  get written(): Promise<void> {
    return this.#writing;
  }

  /** Returns the bytes of a file of an operation. */
  async file(key: string): Promise<unknown> {
    return this.#files.get(key) ?? this.store.get(key);
  }

  /** Changes the copy at once, and resolves when the change is durable. */
  commit(batch: Batch): Promise<void> {
    if (batch.size === 0 || this.#isClosed) return this.#writing;
    this.receive(batch);
    if (this.#waiting) {
      for (const [key, value] of batch) this.#waiting.set(key, value);
      return this.#writing;
    }
    // Changes during a write are written together.
    this.#waiting = new Map(batch);
    this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  /** Shows a change that need not be stored, also to other tabs. */
  show(batch: Batch): void {
    this.receive(batch);
    this.#hooks.written(batch);
  }

  /** Changes what is in memory, as another process has stored it. */
  receive(batch: Batch): void {
    for (const [key, value] of batch) {
      this.#set(key, value);
      for (const late of this.#late) late.set(key, value);
    }
    this.#hooks.changed(batch);
  }

  /** Resolves once everything so far is stored, or can't be. */
  async #flushed(): Promise<void> {
    await this.#writing;
    if (this.#waiting) await this.#flushed();
  }

  async #write(): Promise<void> {
    const batch = this.#waiting!;
    this.#waiting = undefined;
    try {
      // After a failure the store keeps the last state that it has as a whole.
      if (!this.#isBroken) await this.store.write(batch);
    } catch (error) {
      this.#isBroken = true;
      this.#hooks.broken(error);
    }
    if (this.#isBroken)
      for (const [key, value] of batch) if (key.startsWith("file/")) put(this.#files, key, value);
    this.#hooks.written(batch);
  }

  /** Ends all writes, and erases everything if asked to. */
  async close(isErased: boolean): Promise<void> {
    this.#isClosed = true;
    await this.#flushed();
    try {
      if (isErased) await this.store.erase();
    } finally {
      await this.store.close();
    }
  }

  #set(key: string, value: Value | null): void {
    const [kind, id = "", messageId = ""] = key.split("/");
    if (key === META) this.meta = (value ?? undefined) as Meta | undefined;
    else if (key === CURSOR) this.cursor = (value ?? undefined) as Cursor | undefined;
    else if (kind === "talk") put(this.talks, id, value as Talk | null);
    else if (kind === "contact") put(this.contacts, id, value as Contact | null);
    else if (kind === "user") put(this.users, id, value as ShownUser | null);
    else if (kind === "stale") put(this.stale, id, value as Stale | null);
    else if (kind === "out") put(this.operations, key, value as Operation | null);
    else if (kind === "message" && messageId) put(this.messages.get(id), messageId, value as Message | null);
  }
}

function put<T>(map: Map<string, T> | undefined, key: string, value: T | null): void {
  if (value === null) map?.delete(key);
  else map?.set(key, value);
}
