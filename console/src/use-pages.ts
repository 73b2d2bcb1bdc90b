// A list that grows page by page, newest first, as every list of the API does.
import { useLayoutEffect, useReducer, useState } from "preact/hooks";
import type { Page } from "../../client/src/index.ts";
import { explain, isAborted } from "./failures.ts";
import { useSession } from "./session.ts";

interface State<Item> {
  items: Item[];
  hasMore: boolean;
  loading: boolean;
  /** What to tell where a page could not be read. */
  failure: string;
}

export interface Pages<Item> extends State<Item> {
  /** Reads the next page, if there is one and it is not on its way. */
  more: () => void;
  /** Changes what is shown, after the server has changed it. */
  edit: (change: (items: Item[]) => Item[]) => void;
  reload: () => void;
}

type ReadPage<Item> = (after: string | undefined, signal: AbortSignal) => PromiseLike<Page<Item>>;

class PageReader<Item extends { id: string }> {
  state: State<Item> = { items: [], hasMore: false, loading: true, failure: "" };
  #read: ReadPage<Item>;
  #redraw: () => void;
  #refused: (error: unknown) => void;
  #controller = new AbortController();

  constructor(read: ReadPage<Item>, redraw: () => void, refused: (error: unknown) => void) {
    this.#read = read;
    this.#redraw = redraw;
    this.#refused = refused;
  }

  /** Begins anew, by another question where one is given. What is shown stays until the answer is there. */
  restart(read: ReadPage<Item> = this.#read): void {
    this.stop();
    this.#read = read;
    this.#controller = new AbortController();
    void this.#load(true);
  }

  stop(): void {
    this.#controller.abort();
  }

  more(): void {
    if (this.state.hasMore && !this.state.loading) void this.#load(false);
  }

  edit(change: (items: Item[]) => Item[]): void {
    this.#set({ items: change(this.state.items) });
  }

  #set(change: Partial<State<Item>>): void {
    this.state = { ...this.state, ...change };
    this.#redraw();
  }

  async #load(first: boolean): Promise<void> {
    const { signal } = this.#controller;
    this.#set({ loading: true, failure: "" });
    try {
      const { data, has_more } = await this.#read(first ? undefined : this.state.items.at(-1)?.id, signal);
      if (signal.aborted) return;
      const items = first ? data : [...this.state.items, ...data];
      this.#set({ items, hasMore: has_more, loading: false });
    } catch (error) {
      if (signal.aborted || isAborted(error)) return;
      this.#set({ loading: false, hasMore: false, failure: explain(error) });
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
  };
}
