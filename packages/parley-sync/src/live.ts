// The connection to the server: keeps the copy up to date.
import type { Me, Parley, StreamEvent, StreamState } from "parley-client";
import type { Copy } from "./copy.ts";
import { Draft } from "./draft.ts";
import { CURSOR, contactKey, META, type Meta, NOTHING, staleKey } from "./entries.ts";
import { Gap, isCode, isNotFound, isPassing, isSignedOut, Lost, NoEvents } from "./failures.ts";
import { settle } from "./operations.ts";
import type { Pauses } from "./pauses.ts";
import { readAll } from "./platform.ts";
import { PAGE, type Reader, readConversation, readSnapshot } from "./reads.ts";
import { applyEvent, putNewest, putOlder, putRow, putSnapshot, SNAPSHOT } from "./reduce.ts";
import type { Connection } from "./types.ts";

const CONTACTS_PAGE = 100;

/** So many conversations may have their messages in memory though nothing shows them. */
const MOST_LOADED = 30;

/** The scopes without which some events are not received. */
const EVENT_SCOPES = ["contacts:read", "messages:read", "groups:read", "attachments:read"] as const;

type Change = (draft: Draft) => void;

interface Hooks {
  /** Called for each event once the copy has it. */
  event: (event: StreamEvent) => void;
  state: (state: Connection["state"], error?: unknown) => void;
  /** Called each time that the copy is up to date, and events follow. */
  ready: () => void;
  /** The token is of another user than the copy. */
  otherUser: () => Promise<void>;
}

interface Parts {
  client: Parley;
  copy: Copy;
  pauses: Pauses;
  include: string | undefined;
}

export class Live {
  readonly #client: Parley;
  readonly #copy: Copy;
  readonly #pauses: Pauses;
  readonly #hooks: Hooks;
  readonly #include: string | undefined;
  readonly #stop = new AbortController();
  readonly #reader: Reader;
  readonly #options = { signal: this.#stop.signal };
  #following = new AbortController();
  /** The newest event when the last snapshot was taken; null once the copy has it. */
  #newest: string | null = null;
  /** For each running request, the changes since it began, which its answer may not have, and its conversation. */
  readonly #requests = new Map<Change[], string | null>();
  readonly #older = new Map<string, Promise<void>>();
  /** Conversations whose older messages were loaded: they are not evicted until a tab shows them no longer. */
  readonly extended = new Set<string>();
  /** Whether the token is known to be of the user of the copy. */
  isReady = false;
  #isRepairing = false;

  constructor({ client, copy, pauses, include }: Parts, hooks: Hooks) {
    this.#client = client;
    this.#copy = copy;
    this.#pauses = pauses;
    this.#include = include;
    this.#hooks = hooks;
    this.#reader = { client, include, can: (scope) => this.#can(scope), signal: this.#stop.signal };
  }

  stop(): void {
    this.#stop.abort();
    this.#following.abort();
  }

  /** Connects again at once: a connection of another network would hang until it times out. */
  wake(): void {
    this.#following.abort();
    // Other streams of the app keep the connection open.
    this.#client.events.reconnect();
    this.#pauses.wake();
  }

  #can(scope: Me["scopes"][number]): boolean {
    return this.#copy.meta!.me.scopes.includes(scope);
  }

  /** Follows the server until stopped. */
  async run(): Promise<void> {
    const { signal } = this.#stop;
    for (let failures = 1; !signal.aborted; ) {
      try {
        await this.#begin();
        failures = 1;
        await this.#follow();
      } catch (error) {
        if (signal.aborted) return;
        if (isCode(error, "events_erased") || error instanceof Gap) {
          await this.#copy.commit(new Map([[CURSOR, null]]));
          continue;
        }
        const isRefused = isSignedOut(error) || !isPassing(error);
        this.#hooks.state(isRefused ? "refused" : "connecting", error);
        // The copy stays as it was read.
        if (error instanceof NoEvents) return;
        await this.#pauses.wait(error, failures++);
      }
    }
  }

  /** Reads what is newest. Events after the cursor bring the rest. */
  async #begin(): Promise<void> {
    const { signal } = this.#stop;
    const snapshot = await readSnapshot(this.#reader);
    this.#newest = snapshot.last_event_id;
    const known = this.#copy.meta;
    if (known && known.me.id !== snapshot.me.id) await this.#hooks.otherUser();
    const { conversations } = snapshot;
    const isWhole = !this.#copy.cursor || !this.#copy.meta;
    const ids = [...conversations.map(({ id }) => id), ...(isWhole ? this.#copy.talks.keys() : [])];
    await Promise.all(ids.map((id) => this.#copy.load(id)));
    if (signal.aborted) return;
    this.#commit((draft) => putSnapshot(draft, snapshot, this.#copy, isWhole));
    if (isWhole) this.#outdate();
    if (this.#copy.meta?.inboxFloor) await this.#readPinned();
    if (this.#can("contacts:read")) await this.#readContacts();
    this.isReady = true;
    this.#repair();
  }

  /** Pinned conversations are shown first, also if their last activity was long ago. */
  async #readPinned(): Promise<void> {
    const list = this.#client.conversations.list({ pinned: true }, this.#options);
    await this.#reading(
      null,
      () => readAll(list),
      (draft, rows) => {
        for (const row of rows) putRow(draft, this.#copy.meta!, row);
      },
    );
  }

  /** Events no longer complete the answers of running requests: lists are dropped, conversations are read again. */
  #outdate(): void {
    for (const [since, id] of this.#requests)
      since.push((draft) => {
        draft.batch.clear();
        if (id !== null) draft.markStale(id, "window");
      });
  }

  /** Presence and profiles of contacts have no events. */
  async #readContacts(): Promise<void> {
    const query = { limit: CONTACTS_PAGE };
    await this.#reading(
      null,
      () => this.#client.contacts.list(query, this.#options),
      (draft, { data, has_more }) => {
        const meta = this.#copy.meta!;
        const from = has_more ? (data.at(-1)?.id ?? "") : "";
        const listed = new Set(data.map(({ id }) => id));
        for (const id of this.#copy.contacts.keys())
          if (id >= from && !listed.has(id)) draft.set(contactKey(id), null);
        for (const contact of data) draft.set(contactKey(contact.id), contact);
        const contactsFloor = meta.contactsFloor > from ? from : meta.contactsFloor;
        draft.set(META, { ...meta, contactsFloor });
      },
    );
  }

  async #follow(): Promise<void> {
    this.#stop.signal.throwIfAborted();
    this.#hooks.ready();
    if (!this.#copy.cursor) throw new NoEvents();
    this.#following = new AbortController();
    const { signal } = this.#following;
    const { id: after } = this.#copy.cursor;
    if (after === this.#newest || !this.#getsAll) this.#newest = null;
    const onState = (state: StreamState) => {
      if (state === "reconnecting") this.#hooks.state("connecting", new Lost());
      else if (state === "ready" && this.#newest === null) this.#hooks.state("live");
    };
    for await (const event of this.#client.events.stream({ after, signal, onState })) {
      if (event.type === "typing") this.#hooks.event(event);
      else await this.#apply(event);
      if (signal.aborted) return;
    }
  }

  async #apply(event: Exclude<StreamEvent, { type: "typing" }>): Promise<void> {
    const { sequence } = event;
    const last = this.#copy.cursor!.sequence;
    if (last !== null && sequence <= last) return;
    if (last !== null && sequence > last + 1 && this.#getsAll) throw new Gap();
    if (event.conversation_id) await this.#copy.load(event.conversation_id);
    if (this.#stop.signal.aborted) return;
    const apply: Change = (draft) => applyEvent(draft, this.#copy.meta!, event);
    for (const since of this.#requests.keys()) since.push(apply);
    this.#commit((draft) => {
      apply(draft);
      draft.set(CURSOR, { id: event.id, sequence });
    });
    this.#hooks.event(event);
    // Until here, events between the copy and the snapshot were missing.
    if (event.id !== this.#newest) return;
    this.#newest = null;
    this.#hooks.state("live");
  }

  /** A token with fewer scopes gets fewer events. */
  get #getsAll(): boolean {
    return EVENT_SCOPES.every((scope) => this.#can(scope));
  }

  #commit(change: (draft: Draft) => void): void {
    const draft = new Draft(this.#copy);
    change(draft);
    settle(this.#copy, draft);
    void this.#copy.commit(draft.batch);
    if (this.isReady) this.#repair();
  }

  /** Reads from the server and changes the copy by the answer, and then by what has changed since. */
  async #reading<T>(
    id: string | null,
    read: () => PromiseLike<T>,
    change: (draft: Draft, answer: T) => void,
  ): Promise<T> {
    const since: Change[] = [];
    this.#requests.set(since, id);
    try {
      const answer = await read();
      if (id !== null) await this.#copy.load(id);
      this.#stop.signal.throwIfAborted();
      // The later changes are applied after the answer, which must not be applied again after them.
      this.#requests.delete(since);
      this.#commit((draft) => {
        change(draft, answer);
        for (const later of since) later(draft);
      });
      return answer;
    } finally {
      this.#requests.delete(since);
    }
  }

  /** Makes a change on the server, and then in the copy. */
  async change<T>(
    id: string,
    request: () => PromiseLike<T>,
    change: (draft: Draft, meta: Meta, answer: T) => void,
  ): Promise<T> {
    return this.#reading(id, request, (draft, answer) => {
      const apply: Change = (draft) => change(draft, this.#copy.meta!, answer);
      apply(draft);
      for (const since of this.#requests.keys()) since.push(apply);
    });
  }

  /** Forgets the messages of conversations that are not in use, if there are many. */
  unloadAllBut(isUsed: (id: string) => boolean): void {
    // A running request may still apply changes to them.
    if (this.#requests.size > 0 || this.#copy.messages.size <= MOST_LOADED) return;
    for (const id of this.#copy.messages.keys()) if (!isUsed(id)) this.#copy.unload(id);
  }

  /** Reads again what is stale. */
  #repair(): void {
    if (!this.#isRepairing) void this.#repairAll();
  }

  async #repairAll(): Promise<void> {
    this.#isRepairing = true;
    for (let failures = 1; this.#copy.stale.size > 0 && !this.#stop.signal.aborted; ) {
      const [id, { what }] = this.#copy.stale.entries().next().value!;
      try {
        await this.#readConversation(id, what === "window");
        failures = 1;
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        if (isCode(error, "insufficient_scope")) this.#commit((draft) => draft.set(staleKey(id), null));
        else await this.#pauses.wait(error, failures++);
      }
    }
    this.#isRepairing = false;
  }

  /** Reads a conversation again, with its newest messages if `isWhole`. One that the user has left is dropped. */
  async #readConversation(id: string, isWhole: boolean): Promise<void> {
    await this.#copy.load(id);
    try {
      await this.#reading(
        id,
        () => readConversation(this.#reader, id, isWhole),
        (draft, { row, contact, page, members }) => {
          const meta = this.#copy.meta!;
          if (page || draft.talk(id)) putRow(draft, { ...meta, inboxFloor: "" }, row);
          if (contact) draft.set(contactKey(contact.id), contact);
          if (page) {
            putNewest(draft, id, page, true);
            draft.change(id, { members: members ?? null });
          }
          draft.set(staleKey(id), null);
        },
      );
    } catch (error) {
      if (!isNotFound(error)) throw error;
      await this.#copy.load(id);
      this.#commit((draft) => draft.dropTalk(id));
    }
  }

  /** Loads the page before the messages that are kept, or the conversation as a whole if it is unknown. */
  olderMessages(id: string): Promise<void> {
    this.extended.add(id);
    // Several views may ask at once.
    const running = this.#older.get(id) ?? this.#readOlder(id).finally(() => this.#older.delete(id));
    this.#older.set(id, running);
    return running;
  }

  async #readOlder(id: string): Promise<void> {
    await this.#copy.load(id);
    const talk = this.#copy.talks.get(id);
    if (!talk || talk.floor === NOTHING) return this.#readConversation(id, true);
    const { floor } = talk;
    if (floor === "") return;
    await this.#reading(
      id,
      () => this.#list(id, { starting_after: floor }),
      (draft, page) => {
        // Otherwise the messages were dropped meanwhile.
        if (draft.talk(id)?.floor === floor) putOlder(draft, id, page);
      },
    );
  }

  /** Reads the newest messages again: some changes have no event, such as the erasure of a user. */
  async refresh(id: string): Promise<void> {
    const read = () => this.#list(id, { limit: SNAPSHOT.messages });
    await this.#reading(id, read, (draft, { data }) => {
      const read = new Map(data.map((message) => [message.id, message]));
      const [newest, oldest] = [data[0]?.id ?? "", data.at(-1)?.id ?? NOTHING];
      // New ones come with their events, which also change the row, and older ones with their page.
      for (const { id: known } of draft.messages(id)) {
        const message = read.get(known);
        if (message) draft.putMessage(message);
        else if (known >= oldest && known <= newest) draft.removeMessage(id, known);
      }
    });
  }

  #list(id: string, more: { limit?: number; starting_after?: string }) {
    const query = { conversation_id: id, limit: PAGE, include: this.#include, ...more };
    return this.#client.messages.list(query, this.#options);
  }

  async olderConversations(): Promise<void> {
    const { inboxFloor } = this.#copy.meta ?? {};
    if (!inboxFloor) return;
    await this.#reading(
      null,
      () => this.#client.conversations.list({ limit: PAGE, starting_after: inboxFloor }, this.#options),
      (draft, { data, has_more }) => {
        const meta = { ...this.#copy.meta!, inboxFloor: has_more ? data.at(-1)!.position! : "" };
        draft.set(META, meta);
        for (const row of data) putRow(draft, meta, row);
      },
    );
  }

  async olderContacts(): Promise<void> {
    const { contactsFloor } = this.#copy.meta ?? {};
    if (!contactsFloor || contactsFloor === NOTHING) return;
    await this.#reading(
      null,
      () =>
        this.#client.contacts.list({ limit: CONTACTS_PAGE, starting_after: contactsFloor }, this.#options),
      (draft, { data, has_more }) => {
        draft.set(META, { ...this.#copy.meta!, contactsFloor: has_more ? data.at(-1)!.id : "" });
        for (const contact of data) draft.set(contactKey(contact.id), contact);
      },
    );
  }
}
