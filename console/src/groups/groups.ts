// The user's groups and visible invitations. There are few, so all are loaded. After each change the console reads
// the group again, so the last answer is always newer than the last change.
import { type Group, type Parley, ParleyApiError } from "../../../packages/parley-client/src/index.ts";
import { explain, isGone, isPassing } from "../failures.ts";
import { plain } from "../people/known-people.ts";
import type { Change } from "../session/changes.ts";
import { Watched } from "../ui/watched.ts";

/** Changes within this time share one request. */
const GATHER_MS = 100;
const PAUSE_MS = 2000;

interface State {
  /** Newest first. */
  all: readonly Group[];
  isLoaded: boolean;
  /** The error of the list; empty if there is none. */
  failure: string;
}

export class Groups extends Watched {
  state: State = { all: [], isLoaded: false, failure: "" };
  #due = new Set<string>();
  #isStale = false;
  #isBusy = false;
  #parley: Parley;
  #failed: (error: unknown) => void;

  constructor(parley: Parley, failed: (error: unknown) => void) {
    super();
    this.#parley = parley;
    this.#failed = failed;
  }

  /** Reads all groups. */
  load(): void {
    this.#isStale = true;
    void this.#work();
  }

  hear(change: Change): void {
    if (change.type === "missed" || (change.type === "retry" && this.state.failure)) this.load();
    else if (change.type === "group.created" || change.type === "group.updated") {
      this.#keep(change.payload);
      this.#refresh(change.payload.id);
    } else if (change.type === "group.deleted") {
      this.#drop(change.payload.id);
      this.#refresh(change.payload.id);
    } else if (change.type === "member.created" || change.type === "member.deleted") {
      // The number of members changes.
      this.#refresh(change.payload.group_id);
    }
  }

  #refresh(id: string): void {
    this.#due.add(id);
    void this.#work();
  }

  async #work(): Promise<void> {
    if (this.#isBusy) return;
    this.#isBusy = true;
    while (this.#isStale || this.#due.size > 0) {
      if (this.#isStale) await this.#readAll();
      else {
        await new Promise((resolve) => setTimeout(resolve, GATHER_MS));
        const ids = [...this.#due];
        this.#due.clear();
        await Promise.all(ids.map((id) => this.#read(id)));
      }
    }
    this.#isBusy = false;
  }

  async #readAll(): Promise<void> {
    this.#isStale = false;
    this.#set({ failure: "" });
    const all: Group[] = [];
    try {
      for await (const group of this.#parley.groups.list()) all.push(toShown(group));
      this.#set({ all, isLoaded: true });
    } catch (error) {
      // A token for contacts and files only has no groups.
      if (error instanceof ParleyApiError && error.code === "insufficient_scope")
        return this.#set({ isLoaded: true });
      this.#set({ failure: explain(error) });
      this.#failed(error);
    }
  }

  async #read(id: string): Promise<void> {
    try {
      this.#keep(await this.#parley.groups.retrieve(id));
    } catch (error) {
      if (isGone(error)) this.#drop(id);
      else if (isPassing(error)) setTimeout(() => this.#refresh(id), PAUSE_MS);
      else this.#failed(error);
    }
  }

  #keep(group: Group): void {
    const others = this.state.all.filter(({ id }) => id !== group.id);
    const at = others.findIndex(({ id }) => id < group.id);
    this.#set({ all: others.toSpliced(at < 0 ? others.length : at, 0, toShown(group)) });
  }

  #drop(id: string): void {
    this.#set({ all: this.state.all.filter((each) => each.id !== id) });
  }

  #set(change: Partial<State>): void {
    this.state = { ...this.state, ...change };
    this.notify();
  }
}

/** Returns the group with its name for running text. */
function toShown(group: Group): Group {
  return { ...group, name: plain(group.name) };
}
