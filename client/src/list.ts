import type { CallOptions, Transport } from "./transport.ts";

/** A part of a list, newest first. */
export interface Page<T> {
  data: T[];
  /** Whether there are more items beyond this page, in the direction that was asked for. */
  has_more: boolean;
}

interface Cursors {
  limit?: number | undefined;
  starting_after?: string | undefined;
  ending_before?: string | undefined;
}

/** As many as the API gives at once: who goes through all items waits for the fewest answers. */
const MAX_LIMIT = 100;

/**
 * A list on the server. `await` gives its first page; `for await` goes through all its items, page by page, each fetched
 * when it is needed: newest first, or with `ending_before` on from there, oldest first.
 */
export class List<T extends { id: string }> implements PromiseLike<Page<T>>, AsyncIterable<T> {
  readonly #fetchPage: (query: Cursors) => Promise<Page<T>>;
  readonly #query: Cursors;

  constructor(transport: Transport, path: readonly string[], query: Cursors, { signal }: CallOptions) {
    this.#fetchPage = (query) => transport.call({ method: "GET", path, query, signal });
    this.#query = query;
  }

  // biome-ignore lint/suspicious/noThenProperty: that it can be awaited is what it is for.
  then<A = Page<T>, B = never>(
    onPage?: ((page: Page<T>) => A | PromiseLike<A>) | null,
    onError?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#fetchPage(this.#query).then(onPage, onError);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    const isForward = this.#query.ending_before !== undefined;
    let query = { limit: MAX_LIMIT, ...this.#query };
    for (;;) {
      const { data, has_more } = await this.#fetchPage(query);
      const items = isForward ? data.toReversed() : data;
      yield* items;
      const last = items.at(-1);
      if (!has_more || last === undefined) return;
      query = { ...query, [isForward ? "ending_before" : "starting_after"]: last.id };
    }
  }
}
