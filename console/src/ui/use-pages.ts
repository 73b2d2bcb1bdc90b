// A list that loads page by page, newest first, like every list of the API.
import { useLayoutEffect, useState } from "preact/hooks";
import type { Page } from "../../../packages/parley-client/src/index.ts";
import { neighbourOf } from "../../../packages/parley-client/src/transport.ts";
import { explain, isAborted, isPassing } from "../failures.ts";
import { useChanges, useSession } from "../session/session.ts";
import { oncePerFrame } from "./frames.ts";
import { useRedraw } from "./use-redraw.ts";

interface State<Item> {
  items: Item[];
  hasMore: boolean;
  loading: boolean;
  /** Whether the items belong to the current query, not to the previous one. */
  current: boolean;
  /** The error of the page that failed; empty if none did. */
  failure: string;
  /** Whether a retry may succeed. */
  isPassing: boolean;
}

/** Changes a list that may have more items. Must be idempotent. */
type Edit<Item> = (items: Item[], hasMore: boolean) => Item[];

export interface Pages<Item> extends Omit<State<Item>, "isPassing"> {
  /** Loads the next page, unless there is none, it is loading, or it failed. */
  more: () => void;
  /** Applies a change to the items. */
  edit: (change: Edit<Item>) => void;
  reload: () => void;
  /** Retries the failed page; undefined if that cannot help. */
  retry: (() => void) | undefined;
}

/** Returns the cursor of the page after an item. */
type ToCursor<Item> = (item: Item) => string;

type ReadPage<Item> = (after: string | undefined, signal: AbortSignal) => PromiseLike<Page<Item>>;

/**
 * Reads a page of a search, skipping empty ones: the server ends a page after examining many items, even without a
 * match.
 */
export async function readFound<Item, Query extends object>(
  read: (query: Query) => PromiseLike<Page<Item>>,
  query: Query,
): Promise<Page<Item>> {
  let page = await read(query);
  while (page.data.length === 0 && page.has_more) page = await read(neighbourOf(page, "next") as Query);
  return page;
}

class PageReader<Item extends { id: string }> {
  state: State<Item> = {
    ...{ items: [], hasMore: false, loading: true, current: false },
    ...{ failure: "", isPassing: false },
  };
  #read: ReadPage<Item>;
  #toCursor: ToCursor<Item>;
  #redraw: () => void;
  #redrawSoon: () => void;
  #refused: (error: unknown) => void;
  #controller = new AbortController();
  /** Edits since the page was requested: the page may not contain them. */
  #edits: Edit<Item>[] = [];
  #isFirst = true;

  constructor(
    read: ReadPage<Item>,
    toCursor: ToCursor<Item>,
    redraw: () => void,
    refused: (error: unknown) => void,
  ) {
    this.#read = read;
    this.#toCursor = toCursor;
    this.#redraw = redraw;
    this.#redrawSoon = oncePerFrame(redraw);
    this.#refused = refused;
  }

  /** Reloads the list, with another query if given. The old items stay until the answer arrives. */
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

  /** Retries a failed load when the server may be back. */
  resume(): void {
    if (this.state.failure && this.state.isPassing) this.retry();
  }

  edit(change: Edit<Item>): void {
    if (this.state.loading) this.#edits.push(change);
    this.state = { ...this.state, items: change(this.state.items, this.state.hasMore) };
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
      const last = first ? undefined : this.state.items.at(-1);
      const { data, has_more } = await this.#read(last && this.#toCursor(last), signal);
      if (signal.aborted) return;
      const read = first ? data : [...this.state.items, ...data];
      const items = this.#edits.reduce((items, change) => change(items, has_more), read);
      this.#set({ items, hasMore: has_more, loading: false, current: true });
    } catch (error) {
      if (signal.aborted || isAborted(error)) return;
      // Items of another query must not appear as results of this one.
      const items = this.state.current ? this.state.items : [];
      this.#set({
        items,
        loading: false,
        current: true,
        failure: explain(error),
        isPassing: isPassing(error),
      });
      this.#refused(error);
    }
  }
}

const toId = (item: { id: string }) => item.id;

/** Loads a list with `read`. A different `key` means a different query, which aborts the previous one. */
export function usePages<Item extends { id: string }>(
  key: string,
  read: ReadPage<Item>,
  toCursor: ToCursor<Item> = toId,
): Pages<Item> {
  const { endIfRefused } = useSession();
  const redraw = useRedraw();
  const [reader] = useState(() => new PageReader<Item>(read, toCursor, redraw, endIfRefused));
  // The key identifies the query. A layout effect does not wait for the next paint.
  useLayoutEffect(() => {
    reader.restart(read);
    return () => reader.stop();
  }, [key]);
  useChanges(({ type }) => type === "retry" && reader.resume());
  const { isPassing: canRetry, ...state } = reader.state;
  return {
    ...state,
    more: () => reader.more(),
    edit: (change) => reader.edit(change),
    reload: () => reader.restart(),
    retry: canRetry ? () => reader.retry() : undefined,
  };
}
