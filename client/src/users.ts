import { List } from "./list.ts";
import type { CallOptions, ChangeOptions, CreateOptions, Transport } from "./transport.ts";
import type { ProfileChanges, User, UserFields, UserQuery, UserWithUnread } from "./types.ts";

const PATH = ["v1", "users"];

/** The users of the server. Needs the scope `admin`. */
export class Users {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  list(query: UserQuery = {}, options: CallOptions = {}): List<User> {
    return new List(this.#transport, PATH, query, options);
  }

  /** Throws `username_taken`, with the user's id in `members.existing_id`, if the username exists. */
  create(fields: UserFields, options: CreateOptions = {}): Promise<User> {
    return this.#transport.call({ ...options, method: "POST", path: PATH, body: fields });
  }

  /** With the number of the user's unread conversations, for a badge. */
  retrieve(id: string, options: CallOptions = {}): Promise<UserWithUnread> {
    return this.#transport.call({ ...options, method: "GET", path: [...PATH, id] });
  }

  /** Changes the profile; null clears a field. */
  update(id: string, changes: ProfileChanges, options: ChangeOptions = {}): Promise<UserWithUnread> {
    return this.#transport.call({ ...options, method: "PUT", path: [...PATH, id], body: changes });
  }

  /** Erases the user, with contacts, tokens, webhooks and notes to self. */
  delete(id: string, options: ChangeOptions = {}): Promise<void> {
    return this.#transport.remove([...PATH, id], options);
  }
}
