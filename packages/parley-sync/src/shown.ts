// Keeps the conversations that are shown in memory, and up to date in what has no events.
import type { Copy } from "./copy.ts";
import { NOTHING } from "./entries.ts";
import type { Tabs } from "./tabs.ts";
import type { Views } from "./views.ts";

interface Parts {
  copy: Copy;
  views: Views;
  tabs: Tabs;
  /** Whether the leader, if this is one, can make requests. */
  isReady: () => boolean;
}

export class Shown {
  readonly #parts: Parts;
  /** Conversations that were opened without a connection. */
  readonly #outdated = new Set<string>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Loads a conversation that is shown, and has the leader read it or, if it has just been opened, its newest messages again. */
  async use(id: string, isOpened: boolean): Promise<void> {
    const { copy, views, tabs, isReady } = this.#parts;
    await copy.load(id);
    const isKnown = (copy.talks.get(id)?.floor ?? NOTHING) !== NOTHING;
    if ((isKnown && !isOpened) || !views.isShown(id)) return;
    if (isReady() || !tabs.isLeader)
      await tabs.ask(isKnown ? "refresh" : "olderMessages", id).catch(() => this.#outdated.add(id));
    else this.#outdated.add(id);
  }

  /** Loads all that are shown, and reads again what could not be read. Call it once there is a connection. */
  useAll(): void {
    for (const id of this.#parts.views.shown) void this.use(id, this.#outdated.delete(id));
  }
}
