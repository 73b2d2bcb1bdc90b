/** State outside of components. `useWatched` renders a component again when it changes. */
export class Watched {
  #watchers = new Set<() => void>();

  /** Calls `watcher` after each change, and returns a function that ends this. */
  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  protected notify(): void {
    for (const watcher of this.#watchers) watcher();
  }
}
