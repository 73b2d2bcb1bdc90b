import { List } from "./list.ts";
import type { CallOptions, Transport } from "./transport.ts";
import type { Block, BlockQuery } from "./types.ts";

const PATH = ["v1", "blocks"];

/** Usernames that the caller has blocked, of contacts and of others. */
export class Blocks {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Lists blocks in the order of their usernames. Cursors are usernames. */
  list(query: BlockQuery = {}, options: CallOptions = {}): List<Block> {
    return new List(this.#transport, PATH, query, options);
  }

  /** Blocks a username: nothing that its user sends reaches the caller. */
  create(username: string, options: CallOptions = {}): Promise<void> {
    return this.#transport.call({ ...options, method: "PUT", path: [...PATH, username] });
  }

  delete(username: string, options: CallOptions = {}): Promise<void> {
    return this.#transport.call({ ...options, method: "DELETE", path: [...PATH, username] });
  }
}
