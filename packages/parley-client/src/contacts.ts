import { List } from "./list.ts";
import type { CallOptions, ChangeOptions, CreateOptions, Transport } from "./transport.ts";
import type { Contact, ContactChanges, ContactQuery, NewContact } from "./types.ts";

const PATH = ["v1", "contacts"];

/** People in the caller's contact list. */
export class Contacts {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  list(query: ContactQuery = {}, options: CallOptions = {}): List<Contact> {
    return new List(this.#transport, PATH, query, options);
  }

  /** Throws `contact_exists` if the contact exists, with its id in `members.existing_id` if the token has `contacts:read`. */
  create(fields: NewContact, options: CreateOptions = {}): Promise<Contact> {
    return this.#transport.call({ ...options, method: "POST", path: PATH, body: fields });
  }

  retrieve(id: string, options: CallOptions = {}): Promise<Contact> {
    return this.#transport.call({ ...options, method: "GET", path: [...PATH, id] });
  }

  /** Sets the display name; null removes it. */
  update(id: string, changes: ContactChanges, options: ChangeOptions = {}): Promise<Contact> {
    return this.#transport.call({ ...options, method: "PUT", path: [...PATH, id], body: changes });
  }

  /** Deletes the contact, and the caller's side of the conversation with its files. */
  delete(id: string, options: ChangeOptions = {}): Promise<void> {
    return this.#transport.remove([...PATH, id], options);
  }

  /** Blocks the contact: nothing that they send reaches the caller. */
  block(id: string, options: CallOptions = {}): Promise<void> {
    return this.#transport.call({ ...options, method: "PUT", path: [...PATH, id, "block"] });
  }

  unblock(id: string, options: CallOptions = {}): Promise<void> {
    return this.#transport.call({ ...options, method: "DELETE", path: [...PATH, id, "block"] });
  }
}
