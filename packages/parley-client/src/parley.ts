import { Archives } from "./archives.ts";
import { Attachments } from "./attachments.ts";
import { Blocks } from "./blocks.ts";
import { Contacts } from "./contacts.ts";
import { Conversations } from "./conversations.ts";
import { Events } from "./events.ts";
import { Groups } from "./groups.ts";
import { List } from "./list.ts";
import { Messages } from "./messages.ts";
import { PushSubscriptions } from "./push-subscriptions.ts";
import type { UploadSource } from "./source.ts";
import { Tokens } from "./tokens.ts";
import { type CallOptions, type ChangeOptions, type ParleyOptions, Transport } from "./transport.ts";
import type { AuditEntry, AuditQuery, Me, ProfileChanges, Snapshot, SnapshotQuery } from "./types.ts";
import { type AvatarOptions, sendAvatar } from "./upload.ts";
import { Uploads } from "./uploads.ts";
import { Users } from "./users.ts";
import { Webhooks } from "./webhooks.ts";

/**
 * A Parley server, used with an access token. All methods throw a `ParleyApiError` if the server refuses or the network
 * fails, and the signal's reason if the caller's signal is aborted.
 */
export class Parley {
  readonly contacts: Contacts;
  readonly blocks: Blocks;
  readonly conversations: Conversations;
  readonly messages: Messages;
  readonly groups: Groups;
  readonly attachments: Attachments;
  readonly uploads: Uploads;
  readonly archives: Archives;
  readonly events: Events;
  readonly webhooks: Webhooks;
  readonly pushSubscriptions: PushSubscriptions;
  readonly users: Users;
  readonly tokens: Tokens;
  /** The audit trail, newest first. Needs the scope `admin`. */
  readonly audit: { list(query?: AuditQuery, options?: CallOptions): List<AuditEntry> };
  readonly #transport: Transport;
  readonly #options: ParleyOptions;

  constructor(options: ParleyOptions) {
    const transport = new Transport(options);
    this.contacts = new Contacts(transport);
    this.blocks = new Blocks(transport);
    this.events = new Events(transport);
    this.conversations = new Conversations(transport, this.events);
    this.messages = new Messages(transport, this.events);
    this.groups = new Groups(transport);
    this.attachments = new Attachments(transport);
    this.uploads = new Uploads(transport);
    this.archives = new Archives(transport);
    this.webhooks = new Webhooks(transport);
    this.pushSubscriptions = new PushSubscriptions(transport);
    this.users = new Users(transport);
    this.tokens = new Tokens(transport);
    this.audit = { list: (query = {}, options = {}) => new List(transport, ["v1", "audit"], query, options) };
    this.#transport = transport;
    this.#options = options;
  }

  /**
   * Returns a client for the same server that sends all requests as another user: an id, or `username:` and a username. The token
   * needs the scope `act_as`. Throws a TypeError without a user: the requests would be those of the token's owner.
   */
  as(user: string): Parley {
    if (typeof user !== "string" || user === "" || !user.isWellFormed())
      throw new TypeError("user must be an id (usr_…), or `username:` and a username.");
    return new Parley({ ...this.#options, actAs: user });
  }

  /** Returns the caller, with their storage and limits. */
  me(options: CallOptions = {}): Promise<Me> {
    return this.#transport.call({ ...options, method: "GET", path: ["v1", "me"] });
  }

  /** Changes the caller's own profile; null clears a field. */
  updateMe(changes: ProfileChanges, options: ChangeOptions = {}): Promise<Me> {
    return this.#transport.call({ ...options, method: "PUT", path: ["v1", "me"], body: changes });
  }

  /** Sets the caller's own picture: a JPEG, PNG, WebP or GIF. Its address is then in `avatar_url`. */
  setAvatar(source: UploadSource, options: AvatarOptions = {}): Promise<Me> {
    return sendAvatar(this.#transport, ["v1", "me", "avatar"], source, options);
  }

  /** Deletes the caller's own picture, if the server has one. */
  deleteAvatar(options: ChangeOptions = {}): Promise<void> {
    return this.#transport.remove(["v1", "me", "avatar"], options);
  }

  /**
   * Returns the caller and the newest conversations with their newest messages, all as they are at one moment. A stream `after` its
   * `last_event_id` has every later change.
   */
  snapshot(query: SnapshotQuery = {}, options: CallOptions = {}): Promise<Snapshot> {
    return this.#transport.call({ ...options, method: "GET", path: ["v1", "snapshot"], query });
  }

  /** Returns the metrics of the server in the text format of Prometheus. Needs the scope `admin`. */
  metrics(options: CallOptions = {}): Promise<string> {
    return this.#transport.text({ ...options, method: "GET", path: ["metrics"] });
  }
}
