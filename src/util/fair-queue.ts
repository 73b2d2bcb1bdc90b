interface Owner {
  waiting: number;
  /** The latest finish of what this owner has added. */
  finish: number;
}

interface Entry<T> {
  owner: string;
  finish: number;
  item: T;
}

/** How many entries may wait: of one owner, and of all. */
export interface Shares {
  each: number;
  all: number;
}

/**
 * A queue whose turns go round between owners, by what their entries cost (self-clocked fair queueing): the next is the
 * entry that would end first if all owners were served at the same speed. So a newcomer waits for no backlog of others, a
 * cheap entry goes before a dear one, and a dear one is overtaken only until others have had as much.
 */
export class FairQueue<T> {
  readonly #shares: Shares;
  #entries: Entry<T>[] = [];
  readonly #owners = new Map<string, Owner>();
  /** The finish of the entry that was taken last. */
  #now = 0;

  constructor(shares: Shares) {
    this.#shares = shares;
  }

  /** Returns false if too many wait already. */
  add(item: T, owner: string, cost: number): boolean {
    const { waiting, finish: last } = this.#owners.get(owner) ?? { waiting: 0, finish: 0 };
    if (waiting >= this.#shares.each || this.#entries.length >= this.#shares.all) return false;
    const finish = Math.max(last, this.#now) + cost;
    this.#owners.set(owner, { waiting: waiting + 1, finish });
    this.#entries.push({ owner, finish, item });
    return true;
  }

  /** Removes the entry whose turn it is, and returns it; undefined if none waits. */
  take(): T | undefined {
    if (this.#entries.length === 0) return undefined;
    const next = this.#entries.reduce((first, each) => (each.finish < first.finish ? each : first));
    this.#entries.splice(this.#entries.indexOf(next), 1);
    this.#now = next.finish;
    // Without entries an owner has no lead that would count.
    if (--this.#owners.get(next.owner)!.waiting === 0) this.#owners.delete(next.owner);
    return next.item;
  }
}
