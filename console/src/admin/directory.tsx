// Looks up the names of users by the ids in tokens, webhooks and audit entries.
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Parley, User } from "../../../packages/parley-client/src/index.ts";
import { isGone } from "../failures.ts";
import { oncePerFrame } from "../ui/frames.ts";
import { useWatched } from "../ui/use-redraw.ts";
import { Watched } from "../ui/watched.ts";
import { toUserPlace } from "./places.ts";

/** Null for an erased user. */
type Known = User | null;

/** Concurrent requests. A table can name a hundred users, and the server limits the rate. */
const MAX_READING = 4;

/** Reads each user once and caches them while the administration is open. */
export class UserDirectory extends Watched {
  #parley: Parley;
  #known = new Map<string, Known>();
  #reading = new Map<string, Promise<Known>>();
  /** Requests waiting for one of `MAX_READING` to end. */
  #waiting: (() => void)[] = [];
  #notifySoon = oncePerFrame(() => this.notify());

  constructor(parley: Parley) {
    super();
    this.#parley = parley;
  }

  /** Returns the user if known, null if erased; otherwise starts a request and returns undefined. */
  find(id: string): Known | undefined {
    const known = this.#known.get(id);
    if (known === undefined) this.get(id).catch(() => {});
    return known;
  }

  async get(id: string): Promise<Known> {
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    const reading = this.#reading.get(id) ?? this.#readInTurn(id);
    this.#reading.set(id, reading);
    return reading;
  }

  async #readInTurn(id: string): Promise<Known> {
    if (this.#reading.size >= MAX_READING) await new Promise<void>((start) => this.#waiting.push(start));
    try {
      return await this.#read(id);
    } finally {
      this.#reading.delete(id);
      this.#waiting.shift()?.();
    }
  }

  add(user: User): void {
    this.#known.set(user.id, user);
    this.#notifySoon();
  }

  erase(id: string): void {
    this.#known.set(id, null);
    this.#notifySoon();
  }

  async #read(id: string): Promise<Known> {
    try {
      this.add(await this.#parley.users.retrieve(id));
    } catch (error) {
      if (!isGone(error)) throw error;
      this.erase(id);
    }
    return this.#known.get(id) ?? null;
  }
}

export const DirectoryContext = createContext<UserDirectory>(null as never);

/** Returns the directory, and renders again when a user becomes known. */
export function useDirectory(): UserDirectory {
  const directory = useContext(DirectoryContext);
  useWatched(directory);
  return directory;
}

/** The name of a user, with a link to their page. `name` stands in for a user who has since been erased. */
export function UserLink({ id, name }: { id: string; name?: string | undefined }) {
  const user = useDirectory().find(id);
  if (user === null) return <span class="muted">{name ? `${name} (erased)` : "Erased user"}</span>;
  return (
    <a class="user-link" href={toUserPlace(id)}>
      {user?.username ?? name ?? <span class="muted">…</span>}
    </a>
  );
}
