// What a server has acknowledged, kept in the test's own process, which no fault of these suites reaches.

import type { Chance } from "./scale.ts";

export type Kind = "contacts" | "attachments" | "messages";
/** A contact's display name, a file's name, or a message's text and data; null: there is no such resource. */
export type State = string | null;

/** A message as it is sent. */
export interface Sending {
  isPeers: boolean;
  conversationId: string;
  key: string;
  text: string | null;
  data: { number: number } | null;
  files: { filename: string; bytes: Buffer }[];
  /** The last id of the conversation that was acknowledged before: that of the message is greater. */
  after: string;
}

/** A resumable upload that was begun and is not known to be complete. */
export interface BegunUpload {
  path: string;
  filename: string;
  bytes: Buffer;
  /** The greatest offset that was acknowledged. */
  offset: number;
}

/** What is known of a message that was acknowledged, beside its text and data. */
export interface SentMessage {
  isPeers: boolean;
  conversationId: string;
  files: { id: string; filename: string; sha256: string }[];
}

/** What is known of an item beside its state. */
interface Details {
  /** Of a file's bytes, in hexadecimal digits. */
  sha256?: string | undefined;
  message?: SentMessage;
}

export interface Item extends Details {
  kind: Kind;
  id: string;
  /** All that it may be. More than one while a change has no answer: then it is neither expected nor forbidden. */
  states: State[];
  /** All that it was for certain, in order: each of them was told by an event. */
  names: string[];
}

export class AckRecord {
  /** Names and texts with which something was to be made, of which it was promised that it was not. */
  readonly notMade = new Set<string>();
  readonly items = new Map<string, Item>();
  /** Messages whose sending had no answer. Sent again with the same key, each of them must be there once. */
  readonly unansweredSendings: Sending[] = [];
  /** Resumable uploads whose bytes were not all acknowledged. Each goes on after the fault. */
  readonly begunUploads = new Set<BegunUpload>();
  /** The greatest id of a message that was acknowledged, by conversation. */
  readonly lastIds = new Map<string, string>();
  /** Acknowledgements by what was done, such as "contacts made". */
  readonly #counts = new Map<string, number>();
  readonly #idle: Record<Kind, Item[]> = { contacts: [], attachments: [], messages: [] };
  /** How often the outcome of a change was never told. */
  unknown = 0;
  /** Messages that were sent again, and those of them that were there already. */
  retried = 0;
  replayed = 0;
  /** Uploads that went on after a fault, and offsets that were acknowledged. */
  continued = 0;
  offsets = 0;

  made(kind: Kind, id: string, state: string, details: Details = {}): void {
    const item = { kind, id, states: [state], names: [state], ...details };
    this.items.set(id, item);
    this.#idle[kind].push(item);
    this.#count(`${kind} made`);
  }

  /** An item that exists for certain and that nobody else changes until it is told by one of the next three. */
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

  /** For certain nothing was done. */
  refused(item: Item): void {
    item.states.length = 1;
    this.#idle[item.kind].push(item);
  }

  /** There was no answer, or one that leaves the outcome open. */
  unanswered(): void {
    this.unknown++;
  }

  idle(kind: Kind): number {
    return this.#idle[kind].length;
  }

  /** After a restart what was found stands: from now on it may not change by itself. */
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
      `${this.retried} messages sent again with their key, of which ${this.replayed} were there`,
    ].join(", ");
  }

  #count(what: string): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1);
  }
}
