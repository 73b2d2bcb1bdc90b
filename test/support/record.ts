// What a server has acknowledged, kept in the test's own process, which no fault of these suites reaches.
import type { Chance } from "./scale.ts";

export type Kind = "contacts" | "attachments";
/** A contact's display name or a file's name; null: there is no such resource. */
export type State = string | null;

export interface Item {
  kind: Kind;
  id: string;
  /** All that it may be. More than one while a change has no answer: then it is neither expected nor forbidden. */
  states: State[];
  /** All that it was for certain, in order: each of them was told by an event. */
  names: string[];
  /** Of a file's bytes, in hexadecimal digits. */
  sha256: string | undefined;
}

export class AckRecord {
  /** Names under which something was to be made, of which it was promised that it was not. */
  readonly notMade = new Set<string>();
  readonly items = new Map<string, Item>();
  /** Acknowledgements by what was done, such as "contacts made". */
  readonly #counts = new Map<string, number>();
  readonly #idle: Record<Kind, Item[]> = { contacts: [], attachments: [] };
  /** How often the outcome of a change was never told. */
  unknown = 0;

  made(kind: Kind, id: string, state: string, sha256?: string): void {
    const item = { kind, id, states: [state], names: [state], sha256 };
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
    return `${this.total()} writes acknowledged (${counts.join(", ")}), ${this.unknown} without an answer`;
  }

  #count(what: string): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1);
  }
}
