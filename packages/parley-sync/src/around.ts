// The messages around one of them, which may be far from the newest ones. They are read from the server and not kept.
import type { Message, Parley, StreamEvent } from "parley-client";
import { withReaction } from "./reduce.ts";
import type { ListView, SyncMessage } from "./types.ts";
import { Computed, type Views } from "./views.ts";

const PAGE = 50;

export interface AroundView extends ListView<AroundState> {
  loadNewer(): Promise<void>;
  /** Ends the view. */
  close(): void;
}

export interface AroundState {
  /** Oldest first. */
  messages: readonly SyncMessage[];
  hasOlder: boolean;
  hasNewer: boolean;
  isLoaded: boolean;
}

interface Parts {
  client: Parley;
  include: string | undefined;
  conversationId: string;
  /** Returns a message as it is shown; undefined if it will be deleted. */
  toShown: (message: Message) => SyncMessage | undefined;
  onEvent: (listener: (event: StreamEvent) => void) => () => void;
  views: Pick<Views, "outbox" | "missed">;
}

/** Opens a view of the messages around one. Rejects if it can't be read. */
export async function openAround(messageId: string, parts: Parts): Promise<AroundView> {
  const around = new Around(messageId, parts);
  const ends = [
    parts.onEvent((event) => around.apply(event)),
    parts.views.outbox.subscribe(() => around.renew()),
    parts.views.missed.subscribe(() => void around.reload()),
  ];
  const close = () => {
    for (const end of ends) end();
  };
  await around.open().catch((error) => {
    close();
    throw error;
  });
  const { subscribe, getSnapshot } = around.view;
  const [loadOlder, loadNewer] = [() => around.loadOlder(), () => around.loadNewer()];
  return { subscribe, getSnapshot, loadOlder, loadNewer, close };
}

class Around {
  readonly view = new Computed<AroundState>(() => this.#toState());
  readonly #messageId: string;
  readonly #parts: Parts;
  #messages: readonly Message[] = [];
  #hasOlder = true;
  #hasNewer = true;
  #isLoaded = false;
  /** For each running request, the events since it began: its answer may not have them. */
  readonly #requests = new Set<StreamEvent[]>();

  constructor(messageId: string, parts: Parts) {
    this.#messageId = messageId;
    this.#parts = parts;
  }

  #toState(): AroundState {
    const messages = this.#messages.flatMap((message) => this.#parts.toShown(message) ?? []);
    return { messages, hasOlder: this.#hasOlder, hasNewer: this.#hasNewer, isLoaded: this.#isLoaded };
  }

  open(): Promise<void> {
    return this.#load({ around: this.#messageId }, (page, hasOlder) => {
      this.#messages = page;
      this.#hasOlder = hasOlder;
      this.#hasNewer = true;
      this.#isLoaded = true;
    });
  }

  /** Reads the messages again after events were missed. If they can't be read, none are shown. */
  async reload(): Promise<void> {
    this.#requests.clear();
    await this.open().catch(() => {
      this.#messages = [];
      this.#isLoaded = false;
      this.renew();
    });
  }

  async loadOlder(): Promise<void> {
    const oldest = this.#messages[0];
    if (!oldest || !this.#hasOlder) return;
    await this.#load({ starting_after: oldest.id }, (page, hasOlder) => {
      // Another call may have added them.
      const first = this.#messages[0];
      this.#messages = [...page.filter(({ id }) => !first || id < first.id), ...this.#messages];
      this.#hasOlder = hasOlder;
    });
  }

  async loadNewer(): Promise<void> {
    const newest = this.#messages.at(-1);
    if (!newest || !this.#hasNewer) return;
    await this.#load({ ending_before: newest.id }, (page, hasNewer) => {
      const last = this.#messages.at(-1);
      this.#messages = [...this.#messages, ...page.filter(({ id }) => !last || id > last.id)];
      this.#hasNewer = hasNewer;
    });
  }

  async #load(
    query: { around?: string; starting_after?: string; ending_before?: string },
    place: (page: Message[], hasMore: boolean) => void,
  ): Promise<void> {
    const since: StreamEvent[] = [];
    this.#requests.add(since);
    try {
      const { client, conversationId: conversation_id, include } = this.#parts;
      const { data, has_more } = await client.messages.list({
        ...{ conversation_id, include, limit: PAGE },
        ...query,
      });
      // Otherwise all was read again meanwhile.
      if (!this.#requests.has(since)) return;
      place(data.toReversed(), has_more);
      for (const event of since) this.#change(event);
      this.renew();
    } catch (error) {
      if (this.#requests.has(since)) throw error;
    } finally {
      this.#requests.delete(since);
    }
  }

  apply(event: StreamEvent): void {
    if (event.conversation_id !== this.#parts.conversationId) return;
    for (const since of this.#requests) since.push(event);
    this.#change(event);
    this.renew();
  }

  #change(event: StreamEvent): void {
    const each = (id: string, change: (message: Message) => Message | undefined) => {
      this.#messages = this.#messages.flatMap((message) =>
        message.id === id ? (change(message) ?? []) : message,
      );
    };
    if (event.type === "contact.deleted" || event.type === "group.deleted") this.#messages = [];
    else if (event.type === "message.deleted") each(event.payload.id, () => undefined);
    else if (event.type === "message.created" || event.type === "message.updated") {
      const { payload } = event;
      const isGone = !("sender" in payload);
      each(payload.id, () => (isGone ? undefined : payload));
      const isLast = !this.#hasNewer && payload.id > (this.#messages.at(-1)?.id ?? "");
      if (!isGone && isLast && event.type === "message.created")
        this.#messages = [...this.#messages, payload];
    } else if (event.type === "reaction.created" || event.type === "reaction.deleted") {
      const { message_id, emoji, user_id } = event.payload;
      const isThere = event.type === "reaction.created";
      if (emoji !== undefined && user_id !== undefined)
        each(message_id, (message) => withReaction(message, emoji, user_id, isThere));
    }
  }

  renew(): void {
    this.view.renew();
    this.view.notify();
  }
}
