// Acknowledged writes, kept in the test's process, which no fault reaches.

import type { Chance } from "./scale.ts";

export type Kind = "contacts" | "attachments" | "messages";
/** A contact's display name, a file's name, or a message's text and data; null if the resource does not exist. */
export type State = string | null;

/** A message to send. */
export interface Sending {
  isPeers: boolean;
  conversationId: string;
  /** Its Idempotency-Key, if any. */
  key: string | null;
  /** Its `client_id`. Without a key it has one. */
  clientId: string | null;
  text: string | null;
  data: { number: number } | null;
  files: { filename: string; bytes: Buffer }[];
  /** The last acknowledged id of the conversation before sending. The new id must be greater. */
  after: string;
}

/** A resumable upload that has started and is not known to be complete. */
export interface BegunUpload {
  path: string;
  filename: string;
  bytes: Buffer;
  /** The greatest acknowledged offset. */
  offset: number;
}

/** Acknowledged fields of a message, besides its text and data. */
export interface SentMessage {
  isPeers: boolean;
  conversationId: string;
  files: { id: string; filename: string; sha256: string }[];
}

/** Acknowledged fields of an item, besides its state. */
interface Details {
  /** Of a file's bytes, in hex. */
  sha256?: string | undefined;
  message?: SentMessage;
}

export interface Item extends Details {
  kind: Kind;
  id: string;
  /** All possible states. There are several while a change has no answer: each is allowed and none is required. */
  states: State[];
  /** All certain names, in order. Each had an event. */
  names: string[];
}

export class AckRecord {
  /** Names and texts of creates that were refused for certain. */
  readonly notMade = new Set<string>();
  readonly items = new Map<string, Item>();
  /** Messages without an answer. Sent again with the same key or `client_id`, each of them must exist once. */
  readonly unansweredSendings: Sending[] = [];
  /** Resumable uploads with unacknowledged bytes. Each continues after the fault. */
  readonly begunUploads = new Set<BegunUpload>();
  /** The greatest acknowledged message id of each conversation. */
  readonly lastIds = new Map<string, string>();
  /** All possible SHA-256 of the first user's picture, null for none. Only one writer at a time changes it. */
  readonly avatar: { states: State[]; isTaken: boolean } = { states: [null], isTaken: false };
  /** Acknowledgements by kind, such as "contacts made". */
  readonly #counts = new Map<string, number>();
  readonly #idle: Record<Kind, Item[]> = { contacts: [], attachments: [], messages: [] };
  /** How often the outcome of a change stayed unknown. */
  unknown = 0;
  /** Messages that were sent again, and how many of them already existed. */
  retried = 0;
  replayed = 0;
  /** Uploads that continued after a fault, and acknowledged offsets. */
  continued = 0;
  offsets = 0;

  made(kind: Kind, id: string, state: string, details: Details = {}): void {
    const item = { kind, id, states: [state], names: [state], ...details };
    this.items.set(id, item);
    this.#idle[kind].push(item);
    this.#count(`${kind} made`);
  }

  /** Takes an item that exists for certain. Nobody else changes it until one of the next three methods is called. */
  take(kind: Kind, chance: Chance): Item | undefined {
    const idle = this.#idle[kind];
    if (idle.length === 0) return undefined;
    const at = Math.floor(chance() * idle.length);
    const item = idle[at]!;
    idle[at] = idle.at(-1)!;
    idle.pop();
    return item;
  }

  acknowledged(item: Item, state: State): void {
    item.states = [state];
    if (state !== null) {
      item.names.push(state);
      this.#idle[item.kind].push(item);
    }
    this.#count(`${item.kind} ${state === null ? "deleted" : "changed"}`);
  }

  acknowledgedAvatar(state: State): void {
    this.avatar.states = [state];
    this.#count(`pictures ${state === null ? "deleted" : "set"}`);
  }

  /** The change did not happen for certain. */
  refused(item: Item): void {
    item.states.length = 1;
    this.#idle[item.kind].push(item);
  }

  /** There was no answer, or one that leaves the outcome unknown. */
  unanswered(): void {
    this.unknown++;
  }

  idle(kind: Kind): number {
    return this.#idle[kind].length;
  }

  /** After a restart the state that was found is the only possible one. */
  settle(item: Item, found: State): void {
    if (item.states.length > 1 && found !== null) this.#idle[item.kind].push(item);
    if (found !== null && found !== item.names.at(-1)) item.names.push(found);
    item.states = [found];
  }

  total(): number {
    return [...this.#counts.values()].reduce((sum, count) => sum + count, 0);
  }

  toString(): string {
    const counts = [...this.#counts].sort().map(([what, count]) => `${count} ${what}`);
    return [
      `${this.total()} writes acknowledged (${counts.join(", ")})`,
      `${this.unknown} without an answer`,
      `${this.offsets} offsets of uploads acknowledged, ${this.continued} uploads continued`,
      `${this.retried} messages sent again with their key or client_id, of which ${this.replayed} were there`,
    ].join(", ");
  }

  #count(what: string): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1);
  }
}
