interface Owner {
  waiting: number;
  /** The finish of this owner's last entry. */
  finish: number;
}

interface Entry<T> {
  owner: string;
  finish: number;
  item: T;
}

/** How many entries may wait: per owner, and in all. */
export interface Shares {
  each: number;
  all: number;
}

/**
 * A queue that takes turns between owners, weighted by the cost of their entries (self-clocked fair queueing): the
 * next entry is the one that would finish first if all owners were served at the same speed. A new owner does not
 * wait for the backlog of others, a cheap entry goes before an expensive one, and an expensive entry is overtaken
 * only until others have had an equal share.
 */
export class FairQueue<T> {
  readonly #shares: Shares;
  #entries: Entry<T>[] = [];
  readonly #owners = new Map<string, Owner>();
  /** The finish of the entry taken last. */
  #now = 0;

  constructor(shares: Shares) {
    this.#shares = shares;
  }

  /** Returns false if too many entries are waiting. */
  add(item: T, owner: string, cost: number): boolean {
    const { waiting, finish: last } = this.#owners.get(owner) ?? { waiting: 0, finish: 0 };
    if (waiting >= this.#shares.each || this.#entries.length >= this.#shares.all) return false;
    const finish = Math.max(last, this.#now) + cost;
    this.#owners.set(owner, { waiting: waiting + 1, finish });
    this.#entries.push({ owner, finish, item });
    return true;
  }

  /** Removes and returns the entry whose turn it is; undefined if none is waiting. */
  take(): T | undefined {
    if (this.#entries.length === 0) return undefined;
    const next = this.#entries.reduce((first, each) => (each.finish < first.finish ? each : first));
    this.#entries.splice(this.#entries.indexOf(next), 1);
    this.#now = next.finish;
    // An owner without waiting entries can be forgotten: its finish is `#now`.
    if (--this.#owners.get(next.owner)!.waiting === 0) this.#owners.delete(next.owner);
    return next.item;
  }
}
