import { type CallOptions, neighbourOf, type Transport } from "./transport.ts";

/** A page of a list, in the order of the list: newest first, but for usernames. */
export interface Page<T> {
  data: T[];
  /** Whether there are more items after this page, in the requested direction. */
  has_more: boolean;
}

/** The maximum of the API, so that a loop over all items needs the fewest requests. */
const MAX_LIMIT = 100;

/**
 * A list on the server. `await` returns its first page. `for await` yields all its items, and requests each page when it
 * is needed: in the order of the list, or with `ending_before` from there towards its start.
 */
export class List<T> implements PromiseLike<Page<T>>, AsyncIterable<T> {
  readonly #fetchPage: (query: object) => Promise<Page<T>>;
  readonly #query: { ending_before?: string | undefined };

  constructor(
    transport: Transport,
    path: readonly string[],
    query: { ending_before?: string | undefined },
    { signal }: CallOptions,
  ) {
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
    // A page can be short of items, even empty, and not be the last: only its links say how to go on.
    let query: object | undefined = { limit: MAX_LIMIT, ...this.#query };
    while (query !== undefined) {
      const page: Page<T> = await this.#fetchPage(query);
      yield* isForward ? page.data.toReversed() : page.data;
      query = page.has_more ? neighbourOf(page, isForward ? "prev" : "next") : undefined;
    }
  }
}
