import { List } from "./list.ts";
import type { UploadSource } from "./source.ts";
import type { CallOptions, ChangeOptions, CreateOptions, Transport } from "./transport.ts";
import type {
  User,
  UserChanges,
  UserFields,
  UserFile,
  UserFileQuery,
  UserGroup,
  UserGroupQuery,
  UserQuery,
  UserWithUnread,
} from "./types.ts";
import { type AvatarOptions, sendAvatar } from "./upload.ts";

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

  /** Throws `username_taken` or `identity_taken` if another user has the username or the identity, with that user's id in `members.existing_id`. */
  create(fields: UserFields, options: CreateOptions = {}): Promise<User> {
    return this.#transport.call({ ...options, method: "POST", path: PATH, body: fields });
  }

  /** With the identities, and the number of the user's unread conversations, for a badge. */
  retrieve(id: string, options: CallOptions = {}): Promise<UserWithUnread> {
    return this.#transport.call({ ...options, method: "GET", path: [...PATH, id] });
  }

  /** Changes the profile and the identities; null clears a field, and as `subject` removes all identities. Throws `identity_taken`. */
  update(id: string, changes: UserChanges, options: ChangeOptions = {}): Promise<UserWithUnread> {
    return this.#transport.call({ ...options, method: "PUT", path: [...PATH, id], body: changes });
  }

  /** Sets the picture of a user, like `Parley.setAvatar`. */
  setAvatar(id: string, source: UploadSource, options: AvatarOptions = {}): Promise<UserWithUnread> {
    return sendAvatar(this.#transport, [...PATH, id, "avatar"], source, options);
  }

  /** Deletes the picture of a user, if the server has one. */
  deleteAvatar(id: string, options: ChangeOptions = {}): Promise<void> {
    return this.#transport.remove([...PATH, id, "avatar"], options);
  }

  /** Lists the files that the user sees, newest first, without their bytes. */
  listFiles(id: string, query: UserFileQuery = {}, options: CallOptions = {}): List<UserFile> {
    return new List(this.#transport, [...PATH, id, "attachments"], query, options);
  }

  /** Lists the groups that the user is a member of, newest first. */
  listGroups(id: string, query: UserGroupQuery = {}, options: CallOptions = {}): List<UserGroup> {
    return new List(this.#transport, [...PATH, id, "groups"], query, options);
  }

  /** Erases the user, with contacts, tokens, webhooks and notes to self. */
  delete(id: string, options: ChangeOptions = {}): Promise<void> {
    return this.#transport.remove([...PATH, id], options);
  }
}
