// The rules of docs/sharing.md as a few sets, made without a look at how the service keeps them: what a server answers is
// compared with what this says. Ids are the server's; whoever drives both writes them down here.

export interface Conversation {
  id: string;
  members: Set<User>;
  /** Who has left it while it went on. */
  left: Set<User>;
}

export interface Contact {
  id: string;
  owner: User;
  /** As it was typed. */
  username: string;
  displayName: string | null;
  conversation: Conversation;
  blocked: boolean;
  /** Milliseconds. */
  createdAt: number;
}

export interface User {
  id: string;
  name: string;
  token: string;
  notes: Conversation;
  /** By the name that they are compared by. */
  contacts: Map<string, Contact>;
  /** Each request of the user, milliseconds. */
  seenAt: number[];
}

export interface SentFile {
  id: string;
  messageId: string;
  uploader: User;
  conversation: Conversation;
  filename: string;
  content: string;
  /** The address that the uploader was given first. */
  link: string;
  createdAt: number;
  /** With nobody left the file is gone. */
  seenBy: Set<User>;
}

export class Model {
  /** Those who are there, by name. */
  readonly users = new Map<string, User>();
  /** All that ever were, also those that are gone. */
  readonly everyone: User[] = [];
  readonly conversations: Conversation[] = [];
  readonly contacts: Contact[] = [];
  readonly files: SentFile[] = [];
  /** How often what makes the rules hard came about. */
  readonly met = { joined: 0, withheld: 0, blocked: 0, outlived: 0 };
  /** When the last user of a name was erased, milliseconds. */
  readonly #erased = new Map<string, number>();

  makeUser(name: string): User {
    const notes: Conversation = { id: "", members: new Set(), left: new Set() };
    const user: User = { id: "", name, token: "", notes, contacts: new Map(), seenAt: [] };
    notes.members.add(user);
    this.conversations.push(notes);
    this.users.set(name, user);
    this.everyone.push(user);
    return user;
  }

  eraseUser(user: User, at: number): void {
    this.users.delete(user.name);
    this.#erased.set(user.name, at);
    for (const conversation of this.conversationsOf(user)) this.#leave(user, conversation);
    user.contacts.clear();
  }

  /** Undefined where the user has a contact of that name. The conversation has an id where it was there before. */
  addContact(user: User, username: string, createdAt: number): Contact | undefined {
    const key = username.toLowerCase();
    if (user.contacts.has(key)) return undefined;
    const theirs = this.contactOfPeer(user, key);
    const conversation = theirs?.conversation ?? this.#newConversation();
    conversation.members.add(user);
    const before = this.filesIn(conversation);
    if (theirs && before.length > 0) this.met.joined++;
    // What came before the last user of this name was erased may have been meant for that one.
    const since = this.#erased.get(user.name) ?? Number.NEGATIVE_INFINITY;
    const given = conversation.left.has(user) ? [] : before.filter((file) => file.createdAt > since);
    for (const file of given) file.seenBy.add(user);
    if (given.length < before.length) this.met.withheld++;
    const contact: Contact = {
      id: "",
      owner: user,
      username,
      displayName: null,
      conversation,
      blocked: false,
      createdAt,
    };
    user.contacts.set(key, contact);
    this.contacts.push(contact);
    return contact;
  }

  #newConversation(): Conversation {
    const conversation: Conversation = { id: "", members: new Set(), left: new Set() };
    this.conversations.push(conversation);
    return conversation;
  }

  /** The contact that the user of that name has of this one. */
  contactOfPeer(user: User, name: string): Contact | undefined {
    const other = this.users.get(name);
    return other === user ? undefined : other?.contacts.get(user.name);
  }

  isThere(contact: Contact): boolean {
    return contact.owner.contacts.get(contact.username.toLowerCase()) === contact;
  }

  removeContact(contact: Contact): void {
    const key = contact.username.toLowerCase();
    contact.owner.contacts.delete(key);
    this.#leave(contact.owner, contact.conversation);
    contact.conversation.left.add(contact.owner);
  }

  #leave(user: User, conversation: Conversation): void {
    conversation.members.delete(user);
    for (const file of this.filesIn(conversation)) {
      file.seenBy.delete(user);
      if (file.uploader === user && file.seenBy.size > 0) this.met.outlived++;
    }
  }

  /** Only from a member. Ids and the link are still to be written down. */
  upload(sent: Omit<SentFile, "id" | "messageId" | "link" | "seenBy">): SentFile {
    const { uploader, conversation } = sent;
    const receives = (member: User) => member === uploader || !member.contacts.get(uploader.name)?.blocked;
    const seenBy = new Set([...conversation.members].filter(receives));
    if (seenBy.size < conversation.members.size) this.met.blocked++;
    const file = { ...sent, id: "", messageId: "", link: "", seenBy };
    this.files.push(file);
    return file;
  }

  conversationsOf(user: User): Conversation[] {
    return this.conversations.filter((each) => each.members.has(user));
  }

  filesIn(conversation: Conversation): SentFile[] {
    return this.files.filter((file) => file.conversation === conversation && file.seenBy.size > 0);
  }

  /** Newest first. */
  filesSeenBy(user: User): SentFile[] {
    return this.files.filter((file) => file.seenBy.has(user)).reverse();
  }

  storageUsed(user: User): number {
    const own = this.filesSeenBy(user).filter((file) => file.uploader === user);
    return own.reduce((sum, file) => sum + file.content.length, 0);
  }

  /** All that may be told of when the contact was last active, in seconds; the newest last. Empty: nothing. */
  presenceOf(contact: Contact): number[] {
    const theirs = this.contactOfPeer(contact.owner, contact.username.toLowerCase());
    if (!theirs || theirs.blocked) return [];
    const after = theirs.owner.seenAt.filter((at) => at > contact.createdAt);
    return after.map((at) => Math.floor(Math.max(at - (at % 60_000), contact.createdAt) / 1000));
  }
}
