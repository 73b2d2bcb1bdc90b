import { List } from "./list.ts";
import type { CallOptions, ChangeOptions, CreateOptions, Transport } from "./transport.ts";
import type { IssuedToken, Token, TokenFields, TokenQuery } from "./types.ts";

const PATH = ["v1", "tokens"];

/** Access tokens of all users. Needs the scope `admin`. */
export class Tokens {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  list(query: TokenQuery = {}, options: CallOptions = {}): List<Token> {
    return new List(this.#transport, PATH, query, options);
  }

  /** Creates a token for a user. Only this answer has its secret. */
  create(fields: TokenFields, options: CreateOptions = {}): Promise<IssuedToken> {
    return this.#transport.call({ ...options, method: "POST", path: PATH, body: fields });
  }

  /** Finds a token by its secret, such as one that has leaked. Throws `token_not_found`. */
  find(secret: string, options: CallOptions = {}): Promise<Token> {
    return this.#transport.call({
      ...options,
      method: "POST",
      path: ["v1", "token_search"],
      body: { token: secret },
    });
  }

  retrieve(id: string, options: CallOptions = {}): Promise<Token> {
    return this.#transport.call({ ...options, method: "GET", path: [...PATH, id] });
  }

  /** Revokes the token. */
  delete(id: string, options: ChangeOptions = {}): Promise<void> {
    return this.#transport.remove([...PATH, id], options);
  }
}
