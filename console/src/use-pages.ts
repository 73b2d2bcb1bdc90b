// A list that grows page by page, newest first, as every list of the API does.
import { useLayoutEffect, useReducer, useState } from "preact/hooks";
import type { Page } from "../../client/src/index.ts";
import { explain, isAborted } from "./failures.ts";
import { oncePerFrame } from "./frames.ts";
import { useSession } from "./session.ts";

interface State<Item> {
  items: Item[];
  hasMore: boolean;
  loading: boolean;
  /** Whether the items answer what is asked now, and not what was asked before. */
  current: boolean;
  /** What to tell where a page could not be read. */
  failure: string;
}

/** Gives the same list where it was done already. */
type Edit<Item> = (items: Item[]) => Item[];

export interface Pages<Item> extends State<Item> {
  /** Reads the next page, if there is one, it is not on its way, and it has not failed. */
  more: () => void;
  /** Changes what is shown, after the server has changed it. */
  edit: (change: Edit<Item>) => void;
  reload: () => void;
  /** Reads the page that failed. */
  retry: () => void;
}

type ReadPage<Item> = (after: string | undefined, signal: AbortSignal) => PromiseLike<Page<Item>>;

class PageReader<Item extends { id: string }> {
  state: State<Item> = { items: [], hasMore: false, loading: true, current: false, failure: "" };
  #read: ReadPage<Item>;
  #redraw: () => void;
  #redrawSoon: () => void;
  #refused: (error: unknown) => void;
  #controller = new AbortController();
  /** Those of the time in which a page is on its way: it may not know of them. */
  #edits: Edit<Item>[] = [];
  #isFirst = true;

  constructor(read: ReadPage<Item>, redraw: () => void, refused: (error: unknown) => void) {
    this.#read = read;
    this.#redraw = redraw;
    this.#redrawSoon = oncePerFrame(redraw);
    this.#refused = refused;
  }

  /** Begins anew, by another question where one is given. What is shown stays until the answer is there. */
  restart(read?: ReadPage<Item>): void {
    this.stop();
    if (read) {
      this.#read = read;
      this.#set({ current: false });
    }
    this.#controller = new AbortController();
    void this.#load(true);
  }

  stop(): void {
    this.#controller.abort();
  }

  more(): void {
    const { hasMore, loading, failure } = this.state;
    if (hasMore && !loading && !failure) void this.#load(false);
  }

  retry(): void {
    if (!this.state.loading) void this.#load(this.#isFirst);
  }

  edit(change: Edit<Item>): void {
    if (this.state.loading) this.#edits.push(change);
    this.state = { ...this.state, items: change(this.state.items) };
    this.#redrawSoon();
  }

  #set(change: Partial<State<Item>>): void {
    this.state = { ...this.state, ...change };
    this.#redraw();
  }

  async #load(first: boolean): Promise<void> {
    const { signal } = this.#controller;
    this.#isFirst = first;
    this.#edits = [];
    this.#set({ loading: true, failure: "" });
    try {
      const { data, has_more } = await this.#read(first ? undefined : this.state.items.at(-1)?.id, signal);
      if (signal.aborted) return;
      const read = first ? data : [...this.state.items, ...data];
      const items = this.#edits.reduce((items, change) => change(items), read);
      this.#set({ items, hasMore: has_more, loading: false, current: true });
    } catch (error) {
      if (signal.aborted || isAborted(error)) return;
      // What answers another question would pass for an answer to this one.
      const items = this.state.current ? this.state.items : [];
      this.#set({ items, loading: false, current: true, failure: explain(error) });
      this.#refused(error);
    }
  }
}

/** Reads by `read`; another `key` means another question, which ends the one before. */
export function usePages<Item extends { id: string }>(key: string, read: ReadPage<Item>): Pages<Item> {
  const { endIfRefused } = useSession();
  const [, redraw] = useReducer<number, void>((count) => count + 1, 0);
  const [reader] = useState(() => new PageReader<Item>(read, () => redraw(), endIfRefused));
  // The key stands for what is asked. In the layout phase: the next paint is not waited for.
  useLayoutEffect(() => {
    reader.restart(read);
    return () => reader.stop();
  }, [key]);
  return {
    ...reader.state,
    more: () => reader.more(),
    edit: (change) => reader.edit(change),
    reload: () => reader.restart(),
    retry: () => reader.retry(),
  };
}
