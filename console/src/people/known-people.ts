// How people are shown. Each person has one name, one picture and one colour, wherever they appear.
import type { Contact, Conversation, Me, Message } from "../../../packages/parley-client/src/index.ts";
import type { Sync } from "../../../packages/parley-sync/src/index.ts";
import type { Change } from "../session/changes.ts";
import { oncePerFrame } from "../ui/frames.ts";
import { Watched } from "../ui/watched.ts";

export type User = NonNullable<Message["sender"]>;

/** A user, a member of a group or a name that is invited. The username is null after the user was erased. */
export interface NamedUser {
  username: string | null;
  display_name: string | null;
  avatar_url: string | null;
  kind?: "person" | "bot" | null;
}

/** A person, group or conversation as it is shown. */
export interface Face {
  name: string;
  /** Decides the colour; undefined while it is unknown. */
  seed: string | undefined;
  /** The path of the picture on this server; undefined if there is none. */
  picture: string | undefined;
  isGroup?: boolean;
}

export interface Person extends Face {
  /** Undefined if the user was erased. */
  username: string | undefined;
  isBot: boolean;
  /** The user's contact of this name. */
  contact: Contact | undefined;
}

const ERASED: Person = {
  name: "Deleted user",
  seed: "Deleted user",
  picture: undefined,
  username: undefined,
  isBot: false,
  contact: undefined,
};
const NO_PROFILE = { display_name: null, avatar_url: null };

/** Matches a visible character. */
const VISIBLE = /[^\p{Z}\p{C}\p{Default_Ignorable_Code_Point}\u2800]/u;
/** Matches the address of a picture that a Parley server stores. */
const STORED = /\/v1\/avatars\/usr_\w+\/avt_\w+$/;

/** Matches characters that would reorder the text around a name. */
const REORDERING = /[\u202A-\u202E\u2066-\u2069]/g;

/** Returns a name for running text. */
export function plain(name: string): string {
  return name.replace(REORDERING, "");
}

/** Returns the username that somebody has typed, perhaps with the @ with which it is shown. */
export function toUsername(typed: string): string {
  return typed.trim().replace(/^@/, "");
}

/** Returns the username after an @; empty if the name is the same, or the user was erased. */
export function toHandle({ name, username }: Person): string {
  if (username === undefined || plain(username) === name) return "";
  return `@${plain(username)}`;
}

/** Returns the name; empty if it has no visible character. */
export function visible(name: string | null): string {
  return name !== null && VISIBLE.test(name) ? name : "";
}

/** Returns the form in which the server compares usernames. */
export function toKey(username: string): string {
  return username.normalize("NFKC").toLowerCase().normalize("NFKC");
}

/**
 * Returns the path of a picture that this server stores; undefined if another one has it. A picture from elsewhere
 * would tell its server who reads what, and the Content-Security-Policy forbids it.
 */
function toPicture(avatarUrl: string | null): string | undefined {
  return STORED.exec(avatarUrl ?? "")?.[0];
}

/** Knows all contacts, and the users whom the console has shown. */
export class KnownPeople extends Watched {
  /** Changes whenever somebody may be shown differently. */
  version = 0;
  /** By the key of the username. */
  #contacts = new Map<string, Contact>();
  #users = new Map<string, User>();
  /** The keys of the usernames, by the id of the contact or user. */
  #keys = new Map<string, string>();
  #isLoading = false;
  #canRead: boolean;
  #ownKey: string;
  #sync: Sync;

  constructor(sync: Sync, me: Me) {
    super();
    this.#sync = sync;
    this.#canRead = me.scopes.includes("contacts:read");
    this.#ownKey = toKey(me.username);
    this.learn([me]);
  }

  /** Follows the contacts of the local copy, and has it load all. */
  follow(): () => void {
    const contacts = this.#sync.contacts();
    const update = () => {
      const { items, hasOlder } = contacts.getSnapshot();
      // The newest comes first, so it wins.
      this.#contacts = new Map(items.toReversed().map((contact) => [toKey(contact.username), contact]));
      for (const { id, username } of items) this.#keys.set(id, toKey(username));
      this.#redraw();
      if (hasOlder) void this.#loadOlder();
    };
    update();
    return contacts.subscribe(update);
  }

  /** Without the scope there is nothing to wait for. */
  get #isLoaded(): boolean {
    return !this.#canRead || !this.#sync.contacts().getSnapshot().hasOlder;
  }

  async #loadOlder(): Promise<void> {
    if (this.#isLoading) return;
    this.#isLoading = true;
    // A change of the contacts or of the connection tries again.
    await this.#sync
      .contacts()
      .loadOlder()
      .catch(() => {});
    this.#isLoading = false;
  }

  hear(change: Change): void {
    if (change.type === "retry") void this.#loadOlder();
    else if (change.type === "message.created" || change.type === "message.updated")
      this.learn([change.payload.sender]);
    else if (change.type === "member.created" || change.type === "member.updated")
      this.learn([toUser(change.payload)]);
    else if (change.type === "user.updated") this.learn([change.payload]);
  }

  /** Remembers users as the server shows them now. */
  learn(users: Iterable<User | null | undefined>): void {
    for (const user of users) {
      if (!user) continue;
      const key = toKey(user.username);
      const before = this.#users.get(key);
      this.#users.set(key, user);
      this.#keys.set(user.id, key);
      const isSame =
        before?.id === user.id &&
        before.display_name === user.display_name &&
        before.avatar_url === user.avatar_url;
      if (!isSame) this.#redraw();
    }
  }

  /** Returns a user of a conversation: one that the console has shown, or a member of the group in the copy. */
  findUser(id: string, conversationId: string): NamedUser | undefined {
    const { members } = this.#sync.conversation(conversationId).getSnapshot();
    return this.#users.get(this.#keys.get(id) ?? "") ?? members?.find(({ user_id }) => user_id === id);
  }

  /** Returns the person of a user; null stands for an erased one. */
  toPerson(who: NamedUser | null): Person {
    if (who === null || who.username === null) return ERASED;
    const key = toKey(who.username);
    const contact = key === this.#ownKey ? undefined : this.#contacts.get(key);
    return toPerson(who.username, contact, this.#users.get(key) ?? who);
  }

  toContact(contact: Contact): Person {
    return toPerson(contact.username, contact, this.#users.get(toKey(contact.username)) ?? NO_PROFILE);
  }

  /** Returns how a conversation with a contact, or of a group, is shown. */
  toFace({ contact_id, group_id, name }: Pick<Conversation, "contact_id" | "group_id" | "name">): Face {
    const contact = contact_id !== null && this.#contacts.get(this.#keys.get(contact_id) ?? "");
    if (contact) return this.toContact(contact);
    const shown = { name: plain(visible(name)) || "No name", picture: undefined };
    if (group_id !== null) return { ...shown, seed: group_id, isGroup: true };
    return { ...shown, seed: this.#isLoaded ? (contact_id ?? "") : undefined };
  }

  #redraw = oncePerFrame(() => {
    this.version++;
    this.notify();
  });
}

/**
 * The user's own name for a contact comes first, then the name that the person has chosen, then the username. The
 * picture follows the same order. Of a contact only what the contact shows counts, also in groups: otherwise the name
 * would depend on the groups that were open. The colour follows from the username, which never changes.
 */
function toPerson(username: string, contact: Contact | undefined, user: Omit<NamedUser, "username">): Person {
  // The contact may spell it otherwise.
  const spelled = contact?.username ?? username;
  const name = contact
    ? visible(contact.display_name) || visible(contact.profile_name)
    : visible(user.display_name);
  return {
    name: plain(name || spelled),
    seed: toKey(username),
    picture: toPicture((contact ?? user).avatar_url),
    username: spelled,
    isBot: user.kind === "bot",
    contact,
  };
}

/** Returns the user of a member; undefined if the member is only invited, or was erased. */
export function toUser(member: NamedUser & { user_id: string | null }): User | undefined {
  const { user_id, username, display_name, avatar_url, kind } = member;
  if (user_id === null || username === null) return undefined;
  return { id: user_id, username, display_name, avatar_url, kind: kind ?? "person" };
}
