import type { CallOptions, Transport } from "./transport.ts";

/** A page of a list, newest first. */
export interface Page<T> {
  data: T[];
  /** Whether there are more items after this page, in the requested direction. */
  has_more: boolean;
}

interface Cursors {
  limit?: number | undefined;
  starting_after?: string | undefined;
  ending_before?: string | undefined;
}

/** The maximum of the API, so that a loop over all items needs the fewest requests. */
const MAX_LIMIT = 100;

/**
 * A list on the server. `await` returns its first page. `for await` yields all its items, and requests each page when it
 * is needed: newest first, or with `ending_before` from there towards the newest.
 */
export class List<T extends { id: string }> implements PromiseLike<Page<T>>, AsyncIterable<T> {
  readonly #fetchPage: (query: Cursors) => Promise<Page<T>>;
  readonly #query: Cursors;

  constructor(transport: Transport, path: readonly string[], query: Cursors, { signal }: CallOptions) {
    this.#fetchPage = (query) => transport.call({ method: "GET", path, query, signal });
    this.#query = query;
  }

  // biome-ignore lint/suspicious/noThenProperty: it is meant to be awaited.
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
