import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "../../db/database.ts";
import { listSeated, type Typist } from "../../db/queries/messages/typing.ts";
import type { Clock } from "../../util/clock.ts";
import { Rate } from "../../util/rate.ts";

/** Who is typing, and until when to show it, in Unix seconds. */
export interface Typing extends Typist {
  expires_at: number;
}

/** For how long clients show it. */
const SHOWN_SECONDS = 6;
/** How often to broadcast it for one user in one conversation. */
const PAUSE_SECONDS = 3;
/** How long typists wait for others, because handling a request alone costs several times as much. */
const BATCH_MS = 50;
/** The maximum number of typists in one statement. */
const MAX_BATCH = 256;

interface Batch {
  typists: Map<string, Typist>;
  /** The typists who are members of their conversations. */
  seated: Promise<ReadonlySet<string>>;
}

/** Broadcasts who is typing in which conversation. */
export class Typists {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #rate: Rate;
  /** The batch that others may still join. */
  #open: Batch | undefined;

  constructor(db: Database, clock: Clock) {
    this.#db = db;
    this.#clock = clock;
    this.#rate = new Rate(1 / PAUSE_SECONDS, 1, clock);
  }

  /** Broadcasts that the user is typing, unless that was just done. Resolves to false if the user is not a member. */
  async add(typist: Typist): Promise<boolean> {
    if (!this.#open || this.#open.typists.size === MAX_BATCH) this.#open = this.#begin();
    const { typists, seated } = this.#open;
    const key = keyOf(typist);
    typists.set(key, typist);
    return (await seated).has(key);
  }

  #begin(): Batch {
    const typists = new Map<string, Typist>();
    return { typists, seated: sleep(BATCH_MS).then(() => this.#broadcast(typists)) };
  }

  async #broadcast(typists: Batch["typists"]): Promise<ReadonlySet<string>> {
    if (this.#open?.typists === typists) this.#open = undefined;
    const seated = await listSeated(this.#db, [...typists.values()]);
    const expires_at = Math.ceil(this.#clock() / 1000) + SHOWN_SECONDS;
    const due = seated.filter((typist) => this.note(typist));
    if (due.length > 0)
      this.#db.broadcast(due.map((typist) => JSON.stringify({ ...typist, expires_at } satisfies Typing)));
    return new Set(seated.map(keyOf));
  }

  /** Remembers a broadcast of this or another node. Returns false if there was a recent one for the same typist. */
  note(typist: Typist): boolean {
    const key = keyOf(typist);
    const used = this.#rate.next(key);
    if (this.#rate.isTooMuch(used)) return false;
    this.#rate.note(key, used);
    return true;
  }
}

export function keyOf({ conversation_id, user_id }: Typist): string {
  return `${conversation_id} ${user_id}`;
}
