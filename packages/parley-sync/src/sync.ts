import type { Parley, StreamEvent } from "parley-client";
import { type AroundView, openAround } from "./around.ts";
import { Copy } from "./copy.ts";
import { dropDamaged, dropWindow } from "./damage.ts";
import { fileKey } from "./entries.ts";
import { toReason } from "./failures.ts";
import { Fold } from "./fold.ts";
import { Live } from "./live.ts";
import { type Content, findOperation, Keys, toRemoval, toRetry, toSend, withoutReads } from "./operations.ts";
import { Outbox } from "./outbox.ts";
import { Pauses } from "./pauses.ts";
import { onOnline, type Platform, randomId, realPlatform } from "./platform.ts";
import { Shown } from "./shown.ts";
import type { Batch, Store, Value } from "./store.ts";
import { type TabMessage, Tabs, toChanges } from "./tabs.ts";
import { type Limits, trim } from "./trim.ts";
import type {
  Connection,
  ContactsState,
  ConversationState,
  Inbox,
  LinkState,
  ListView,
  Operation,
  Outgoing,
  SendOperation,
  SyncMessage,
  View,
} from "./types.ts";
import { Typing, type TypingView } from "./typing.ts";
import { listen, toList, Views } from "./views.ts";

export interface SyncOptions extends Partial<Limits> {
  client: Parley;
  store: Store;
  /** Adds these members to each file, as lists of messages do. Files of new messages do not have them. */
  include?: string | undefined;
  /** Replaces the clock, the timers and the randomness. */
  platform?: Platform | undefined;
}

/** Opens the local copy. What the store has is shown at once; the server is asked in the background. */
export async function openSync(options: SyncOptions): Promise<Sync> {
  const sync = new Sync(options);
  await sync.open();
  return sync;
}

class Sync {
  readonly client: Parley;
  readonly #platform: Platform;
  readonly #limits: Limits;
  readonly #include: string | undefined;
  readonly #copy: Copy;
  readonly #fold: Fold;
  readonly #views: Views;
  readonly #shown: Shown;
  readonly #tabs: Tabs;
  readonly #pauses: Pauses;
  readonly #typing: Typing;
  readonly #listeners = new Set<(event: StreamEvent) => void>();
  readonly #refusedListeners = new Set<(operation: Operation) => void>();
  #state: LinkState = { state: "connecting", reason: null };
  #isStored = true;
  /** Resolves once the leader can make requests. */
  #leading: Promise<void> | undefined;
  #live: Live | undefined;
  #outbox: Outbox | undefined;
  readonly #keys: Keys;
  #endOnline = () => {};
  #closing: { isErased: boolean; done: Promise<void> } | undefined;

  constructor({ client, store, include, platform = realPlatform, ...limits }: SyncOptions) {
    this.client = client;
    this.#include = include;
    this.#platform = platform;
    this.#limits = { maxMessages: 5_000, maxBytes: 200_000_000, ...limits };
    this.#pauses = new Pauses(platform);
    this.#keys = new Keys(platform);
    this.#copy = new Copy(store, {
      changed: (batch) => this.#views.change(batch),
      written: (batch) => this.#tabs.post({ type: "changed", changes: toChanges(batch) }),
      broken: () => {
        this.#isStored = false;
        this.#views.renew(this.#views.connection);
      },
      damaged: (id, keys) => {
        if (this.#tabs.isLeader) void this.#copy.commit(dropWindow(this.#copy, id, keys));
      },
    });
    this.#fold = new Fold(this.#copy);
    this.#typing = new Typing({ client, platform, copy: this.#copy });
    const toConnection = () => ({
      ...this.#state,
      isLeader: this.#tabs.isLeader,
      isStored: this.#isStored,
      me: this.#copy.meta?.me ?? null,
    });
    this.#views = new Views(
      this.#fold,
      toConnection,
      (id) => void this.#shown.use(id, true),
      (id) => void this.#tabs.ask("release", id).catch(() => {}),
    );
    this.#tabs = new Tabs(store.name, randomId(platform), {
      receive: (message) => this.#receive(message),
      lead: () => {
        this.#leading = this.#lead();
      },
      run: (name, args) => this.#run(name, args),
    });
    const parts = { copy: this.#copy, views: this.#views, tabs: this.#tabs };
    this.#shown = new Shown({ ...parts, isReady: () => this.#live?.isReady === true });
  }

  async open(): Promise<void> {
    await this.#copy.open().catch((error) => {
      this.#tabs.close();
      throw error;
    });
    // Another tab may have signed out meanwhile.
    if (this.#closing) return;
    this.#endOnline = onOnline(() => this.#live?.wake());
    this.#tabs.start();
  }

  // Views.

  inbox(): ListView<Inbox> {
    return toList(this.#views.inbox, () => this.#tabs.ask("olderConversations"));
  }

  conversation(id: string): ListView<ConversationState> {
    return toList(this.#views.conversation(id), () => this.#tabs.ask("olderMessages", id));
  }

  /** The messages around one of them, for a jump far back. Rejects if it can't be read. */
  around(conversationId: string, messageId: string): Promise<AroundView> {
    return openAround(messageId, {
      client: this.client,
      include: this.#include,
      conversationId,
      toShown: (message) => this.#fold.message(message),
      onEvent: (listener) => this.onEvent(listener),
      views: this.#views,
    });
  }

  contacts(): ListView<ContactsState> {
    return toList(this.#views.contacts, () => this.#tabs.ask("olderContacts"));
  }

  /** Everything that the server does not have yet, and what it refused. */
  outbox(): View<readonly Operation[]> {
    return this.#views.outbox;
  }

  connection(): View<Connection> {
    return this.#views.connection;
  }

  typing(conversationId: string): TypingView {
    return this.#typing.in(conversationId);
  }

  /** Calls back for each event, also `typing`, in every tab. Returns a function that ends this. */
  onEvent(listener: (event: StreamEvent) => void): () => void {
    return listen(this.#listeners, listener);
  }

  /** Calls back for each reaction, deletion and read position of this instance that the server refused, with the `reason`. */
  onRefused(listener: (operation: Operation) => void): () => void {
    return listen(this.#refusedListeners, listener);
  }

  /** Calls back once everything is read, at first and after events were missed. What an app has read itself may be outdated. */
  onMissed(listener: () => void): () => void {
    return this.#views.missed.subscribe(listener);
  }

  // Operations.

  /** Queues a message and returns it as it is shown. It is sent exactly once, or its state becomes `failed`. */
  send(conversationId: string, outgoing: Outgoing): SyncMessage {
    const content = toSend(conversationId, randomId(this.#platform), outgoing);
    const operation = this.#enqueue(content, outgoing.files);
    return this.#fold.toPending(operation as SendOperation);
  }

  edit(conversationId: string, messageId: string, text: string | null, mentions?: readonly string[]): void {
    this.#enqueue({ kind: "edit", conversation_id: conversationId, message_id: messageId, text, mentions });
  }

  delete(conversationId: string, messageId: string, { forMe = false } = {}): void {
    this.#enqueue({ kind: "delete", conversation_id: conversationId, message_id: messageId, for_me: forMe });
  }

  react(conversationId: string, messageId: string, emoji: string, isThere = true): void {
    const ids = { conversation_id: conversationId, message_id: messageId };
    this.#enqueue({ kind: "react", ...ids, emoji, is_there: isThere });
  }

  /** Marks everything up to a message as read. */
  read(conversationId: string, messageId: string, { isPrivate = false } = {}): void {
    const content = { conversation_id: conversationId, message_id: messageId, is_private: isPrivate };
    // The last one says it all.
    this.#enqueue({ kind: "read", ...content }, [], withoutReads(this.#copy, conversationId));
  }

  /** Sends a failed operation again, after all that wait. One that replied to a message that is gone is sent without. */
  retry(key: string): Promise<void> {
    return this.#tabs.ask("retry", key);
  }

  /** Removes an operation. If its message is being sent, it may arrive nevertheless. */
  discard(key: string): Promise<void> {
    return this.#tabs.ask("discard", key);
  }

  /** Connects and sends again at once. Call it when the network is back; browsers say so themselves. */
  readonly wake = (): void => {
    void this.#tabs.ask("wake").catch(() => {});
  };

  /** Erases the copy and the outbox in all tabs, and closes them. */
  async signOut(): Promise<void> {
    if (!this.#tabs.isLeader) await this.#tabs.ask("signOut").catch(() => {});
    await this.#close(true);
  }

  /** Ends this instance. The store keeps what it has. */
  close(): Promise<void> {
    return this.#close(false);
  }

  #enqueue(content: Content, files: readonly Blob[] = [], also: Batch = new Map()): Operation {
    if (this.#closing) throw new Error("The copy is closed.");
    const key = this.#keys.next(this.#copy);
    const created_at = Math.floor(this.#platform.now() / 1000);
    const operation = { ...content, key, state: "waiting", reason: null, created_at } as Operation;
    const bytes = files.map((file, at): [string, Value] => [fileKey(key, at), file]);
    const stored = this.#copy.commit(new Map<string, Value | null>([...also, [key, operation], ...bytes]));
    void stored.then(() => this.#runOutbox());
    return operation;
  }

  // The leader.

  async #lead(): Promise<void> {
    // If the store can't be read, what is in memory has to do.
    const damaged = await this.#reopen().catch(() => []);
    await this.#copy.commit(dropDamaged(this.#copy, damaged));
    await this.#trimAll();
    if (this.#closing) return;
    const parts = { client: this.client, copy: this.#copy, pauses: this.#pauses, include: this.#include };
    const live = new Live(parts, {
      event: (event) => {
        this.#publish(event);
        this.#tabs.post({ type: "event", event });
        this.#trim();
      },
      state: (state, error) =>
        this.#setState({ state, reason: error === undefined ? null : toReason(error) }),
      ready: () => this.#ready(),
      otherUser: () => this.#forget(),
    });
    this.#live = live;
    this.#outbox = new Outbox({ ...parts, live }, (refused) => {
      this.#refused(refused);
      this.#tabs.post({ type: "refused", refused });
    });
    void live.run();
  }

  #ready(): void {
    this.#pauses.wake();
    this.#runOutbox();
    this.#shown.useAll();
  }

  #runOutbox(): void {
    if (this.#live?.isReady && !this.#closing) this.#outbox?.run();
  }

  /** Erases what another user has left. */
  async #forget(): Promise<void> {
    await this.#copy.store.erase();
    await this.#reopen();
    this.#tabs.post({ type: "erased" });
  }

  /** Reads what is in memory again. Returns the keys of damaged entries. */
  async #reopen(): Promise<string[]> {
    const damaged = await this.#copy.open();
    this.#views.renewAll();
    for (const id of this.#views.shown) void this.#shown.use(id, false);
    return damaged;
  }

  async #run(name: string, args: unknown[]): Promise<void> {
    const [id] = args as [string];
    if (name.startsWith("older") || name === "release") await this.#leading;
    const live = this.#live;
    if (name === "wake") live?.wake();
    else if (name === "signOut") await this.#close(true);
    else if (name === "retry") await this.#retry(id);
    else if (name === "discard") await this.#discard(id);
    else if (name === "olderConversations") await live?.olderConversations();
    else if (name === "refresh") await live?.refresh(id);
    else if (name === "olderContacts") await live?.olderContacts();
    else if (name === "olderMessages") await live?.olderMessages(id);
    else if (name === "release") live?.extended.delete(id);
  }

  async #retry(key: string): Promise<void> {
    const failed = findOperation(this.#copy, key);
    if (failed?.state !== "failed") return;
    const moved = await toRetry(this.#copy, failed, this.#keys.next(this.#copy));
    // Another call may have been first.
    if (this.#copy.operations.get(failed.key) !== failed) return;
    await this.#copy.commit(moved);
    this.#runOutbox();
  }

  async #discard(key: string): Promise<void> {
    const operation = findOperation(this.#copy, key);
    if (!operation) return;
    const done = this.#copy.commit(toRemoval(operation));
    this.#outbox?.abort(operation.key);
    await done;
  }

  // The memory of this instance.

  #trim(): void {
    const isHeld = (id: string) => this.#live?.extended.has(id) || this.#views.isShown(id);
    const draft = trim(this.#copy, this.#limits, isHeld);
    if (draft) void this.#copy.commit(draft.batch);
    this.#live?.unloadAllBut(this.#views.isShown);
  }

  async #trimAll(): Promise<void> {
    const large = [...this.#copy.talks.values()].filter(({ count }) => count > this.#limits.maxMessages);
    await Promise.all(large.map(({ row }) => this.#copy.load(row.id)));
    this.#trim();
  }

  #receive(message: TabMessage): void {
    if (message.type === "changed") {
      this.#copy.receive(new Map(message.changes));
      this.#runOutbox();
    } else if (message.type === "state" && !this.#tabs.isLeader) {
      this.#setState(message.state);
      if (message.state.state === "live") this.#shown.useAll();
    } else if (message.type === "event") this.#publish(message.event);
    else if (message.type === "refused") this.#refused(message.refused);
    else if (message.type === "hello" && this.#tabs.isLeader)
      this.#tabs.post({ type: "state", state: this.#state });
    else if (message.type === "erased") void this.#reopen().catch(() => {});
    else if (message.type === "signed out") void this.#close(true).catch(() => {});
  }

  #publish(event: StreamEvent): void {
    this.#typing.apply(event);
    for (const listener of this.#listeners) listener(event);
  }

  #refused(operation: Operation): void {
    if (!this.#keys.isOwn(operation.key)) return;
    for (const listener of this.#refusedListeners) listener(operation);
  }

  #setState(state: LinkState): void {
    this.#state = state;
    if (this.#tabs.isLeader) this.#tabs.post({ type: "state", state });
    this.#views.renew(this.#views.connection);
  }

  async #close(isErased: boolean): Promise<void> {
    this.#closing ??= { isErased, done: this.#end(isErased) };
    if (isErased && !this.#closing.isErased) throw new Error("The copy is closed.");
    return this.#closing.done;
  }

  async #end(isErased: boolean): Promise<void> {
    if (isErased) this.#tabs.post({ type: "signed out" });
    this.#endOnline();
    this.#outbox?.stop();
    this.#live?.stop();
    this.#pauses.stop();
    this.#typing.stop();
    try {
      await this.#copy.close(isErased);
    } finally {
      this.#tabs.close();
    }
  }
}

export type { Sync };
