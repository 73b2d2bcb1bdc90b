// The views, and their listeners.
import { CURSOR, type Cursor } from "./entries.ts";
import type { Fold } from "./fold.ts";
import type { Batch } from "./store.ts";
import type {
  Connection,
  ContactsState,
  ConversationState,
  Inbox,
  ListView,
  Operation,
  View,
} from "./types.ts";

/** A view that is computed when it is asked for, at most once between two changes. */
export class Computed<T> implements View<T> {
  readonly #listeners = new Set<() => void>();
  readonly #compute: () => T;
  readonly #onUse: () => void;
  readonly #onUnused: () => void;
  #snapshot: { value: T } | undefined;

  /** `onUse` is called when the first listener comes, `onUnused` when the last one is gone. */
  constructor(compute: () => T, onUse = () => {}, onUnused = () => {}) {
    this.#compute = compute;
    this.#onUse = onUse;
    this.#onUnused = onUnused;
  }

  get isUsed(): boolean {
    return this.#listeners.size > 0;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    const each = () => listener();
    this.#listeners.add(each);
    if (this.#listeners.size === 1) this.#onUse();
    return () => {
      if (this.#listeners.delete(each) && !this.isUsed) this.#onUnused();
    };
  };

  readonly getSnapshot = (): T => {
    this.#snapshot ??= { value: this.#compute() };
    return this.#snapshot.value;
  };

  /** Computes it again when it is next asked for. */
  renew(): void {
    this.#snapshot = undefined;
  }

  notify(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

/** Adds a listener, also one that is there already. Returns a function that removes it. */
export function listen<T>(listeners: Set<(value: T) => void>, listener: (value: T) => void): () => void {
  const each = (value: T) => listener(value);
  listeners.add(each);
  return () => listeners.delete(each);
}

export function toList<T>({ subscribe, getSnapshot }: View<T>, loadOlder: () => Promise<void>): ListView<T> {
  return { subscribe, getSnapshot, loadOlder };
}

/** All views of one instance. */
export class Views {
  readonly inbox: Computed<Inbox>;
  readonly contacts: Computed<ContactsState>;
  readonly outbox: Computed<readonly Operation[]>;
  readonly connection: Computed<Connection>;
  /** Changes when events were missed, so that the copy was read again as a whole. */
  readonly missed = new Computed(() => ({}));
  readonly #conversations = new Map<string, Computed<ConversationState>>();
  readonly #fold: Fold;
  readonly #onUse: (id: string) => void;
  readonly #onUnused: (id: string) => void;
  readonly #renewed = new Set<Computed<unknown>>();

  /** `onUse` is called with a conversation when it is first shown, `onUnused` when it no longer is. */
  constructor(
    fold: Fold,
    toConnection: () => Connection,
    onUse: (id: string) => void,
    onUnused: (id: string) => void,
  ) {
    this.#fold = fold;
    this.#onUse = onUse;
    this.#onUnused = onUnused;
    this.inbox = new Computed(() => fold.inbox());
    this.contacts = new Computed(() => fold.contacts());
    this.outbox = new Computed(() => fold.outbox());
    this.connection = new Computed(toConnection);
  }

  conversation(id: string): Computed<ConversationState> {
    let view = this.#conversations.get(id);
    if (!view) {
      view = new Computed(
        () => this.#fold.conversation(id),
        () => this.#onUse(id),
        () => this.#onUnused(id),
      );
      this.#conversations.set(id, view);
    }
    return view;
  }

  readonly isShown = (id: string): boolean => this.#conversations.get(id)?.isUsed === true;

  /** The ids of conversations that are shown. */
  get shown(): string[] {
    return [...this.#conversations.keys()].filter(this.isShown);
  }

  /** Everything may have changed. */
  renewAll(): void {
    this.#fold.renew();
    const { inbox, contacts, outbox, connection } = this;
    for (const view of [inbox, contacts, outbox, connection, ...this.#conversations.values()])
      this.renew(view);
  }

  /** Renews the views that show any of these entries. */
  change(batch: Batch): void {
    for (const [key, value] of batch) {
      const [kind = "", id = ""] = key.split("/");
      const { conversation_id } = (value ?? {}) as Partial<Operation>;
      const one = this.#conversations.get(conversation_id ?? id);
      if (kind === "message") this.renew(one);
      else if (kind === "talk") this.renew(one, this.inbox);
      else if (kind === "contact") this.renew(this.contacts, ...this.#conversations.values());
      else if (kind === "out" && one) this.renew(this.outbox, this.inbox, one);
      else if (kind === "out") this.renew(this.outbox, this.inbox, ...this.#conversations.values());
      else if (kind === "user" || kind === "meta") this.renewAll();
      else if (kind === CURSOR && (value as Cursor | null)?.sequence === null) this.renew(this.missed);
    }
  }

  /** Calls the listeners of views soon, once for all changes until then. */
  renew(...views: (Computed<unknown> | undefined)[]): void {
    if (this.#renewed.size === 0) queueMicrotask(() => this.#notify());
    for (const view of views) {
      view?.renew();
      if (view) this.#renewed.add(view);
    }
  }

  #notify(): void {
    const views = [...this.#renewed];
    this.#renewed.clear();
    for (const view of views) view.notify();
  }
}
