// The rules of docs/sharing.md as a few sets, written independently of how the service stores them: the tests compare
// the server's answers with this model. Ids are the server's; the driver records them here.

import type {
  Contact,
  Content,
  Conversation,
  Group,
  Message,
  Seat,
  SentFile,
  User,
} from "./sharing-types.ts";

/** How long after an erasure messages may still have been meant for the erased user. */
const GRACE_MS = 60_000;

export class Model {
  /** Existing users, by name. */
  readonly users = new Map<string, User>();
  /** All users ever, also erased ones. */
  readonly everyone: User[] = [];
  readonly conversations: Conversation[] = [];
  readonly contacts: Contact[] = [];
  /** All groups ever. */
  readonly groups: Group[] = [];
  readonly messages: Message[] = [];
  readonly files: SentFile[] = [];
  /** How often the difficult cases occurred. */
  readonly met = {
    joined: 0,
    missed: 0,
    refused: 0,
    blocked: 0,
    withdrawn: 0,
    outlived: 0,
    emptied: 0,
    forMe: 0,
    unseen: 0,
    reacted: 0,
    concealed: 0,
  };
  /** When the last user of a name was erased, in milliseconds. */
  readonly #erased = new Map<string, number>();

  makeUser(name: string, at: number, acceptsEveryone = false): User {
    const notes = this.newConversation();
    const user: User = {
      ...{ id: "", name, displayName: null, tokens: [], notes, acceptsEveryone },
      ...{ contacts: new Map(), blocks: new Map(), blockChanges: 0, seenAt: [], events: [] },
    };
    this.sit(user, notes, at, at);
    this.users.set(name, user);
    this.everyone.push(user);
    return user;
  }

  eraseUser(user: User, at: number): void {
    this.users.delete(user.name);
    this.#erased.set(user.name, at);
    for (const conversation of this.conversationsOf(user)) this.leave(user, conversation);
    user.contacts.clear();
    user.blocks.clear();
    for (const message of this.messages)
      for (const emoji of [...message.reactions.keys()]) this.#removeReaction(user, message, emoji);
  }

  /** Returns undefined if the user already has a contact of that name. An existing conversation has its id. */
  addContact(user: User, username: string, blocked: boolean, at: number, phone: string): Contact | undefined {
    const key = username.toLowerCase();
    if (user.contacts.has(key)) return undefined;
    const conversation = this.contactOfPeer(user, key)?.conversation ?? this.newConversation();
    if (!blocked) this.unblock(user, key);
    this.#join(user, conversation, blocked, at);
    if (blocked) this.block(user, key, at);
    const contact = { id: "", owner: user, username, phone, displayName: null, conversation, createdAt: at };
    user.contacts.set(key, contact);
    this.contacts.push(contact);
    const other = this.users.get(key);
    if (other?.acceptsEveryone) this.addBack(other, user, at);
    return contact;
  }

  /** Gives the other user this one as a contact, unless they are the same or have it. A block stays. */
  addBack(other: User, user: User, at: number): void {
    if (other === user || other.contacts.has(user.name)) return;
    this.addContact(other, user.name, other.blocks.has(user.name), at, "");
  }

  block(user: User, name: string, at: number): void {
    user.blockChanges++;
    if (!user.blocks.has(name)) user.blocks.set(name, at);
  }

  /** Messages sent while blocked are never received. */
  unblock(user: User, name: string): void {
    const since = user.blocks.get(name);
    user.blockChanges++;
    user.blocks.delete(name);
    const waiting = this.contactOfPeer(user, name)?.conversation;
    if (since === undefined || !waiting || waiting.seats.has(user)) return;
    for (const message of waiting.messages) if (message.createdAt >= since) message.missedBy.add(user);
  }

  newConversation(group: Group | null = null): Conversation {
    const conversation: Conversation = {
      ...{ id: "", group, seats: new Map(), left: new Set(), joined: new Set(), messages: [] },
    };
    this.conversations.push(conversation);
    return conversation;
  }

  sit(user: User, conversation: Conversation, movedAt: number | null, joinedAt: number): Seat {
    const seat: Seat = {
      ...{ since: 0, read: null, disclosed: null, movedAt, joinedAt },
      ...{ pinned: false, archived: false, mutedUntil: null },
    };
    conversation.seats.set(user, seat);
    conversation.joined.add(user);
    return seat;
  }

  /** A new member receives what waits, unless they were there before, or block or blocked the sender. */
  #join(user: User, conversation: Conversation, isDeaf: boolean, at: number): void {
    const { messages } = conversation;
    const seat = this.sit(user, conversation, null, at);
    // Messages until a minute after the last user of this name was erased may have been meant for that user.
    const meantFrom = (this.#erased.get(user.name) ?? Number.NEGATIVE_INFINITY) + GRACE_MS;
    const isAway = conversation.left.has(user) || isDeaf;
    seat.since = messages.filter(({ createdAt }) => isAway || createdAt <= meantFrom).length;
    const waiting = messages.slice(seat.since).filter(isThere);
    const received = waiting.filter(({ missedBy }) => !missedBy.has(user));
    for (const message of received) message.seenBy.add(user);
    if (received.length > 0) {
      seat.movedAt = at;
      this.met.joined++;
    }
    if (received.length < waiting.length || (isDeaf && messages.some(isThere))) this.met.refused++;
    else if (messages.slice(0, seat.since).some(isThere)) this.met.missed++;
  }

  /** Returns the contact by which the user of that name has this one. */
  contactOfPeer(user: User, name: string): Contact | undefined {
    const other = this.users.get(name);
    return other === user ? undefined : other?.contacts.get(user.name);
  }

  /** Returns that contact if its owner shows this user their activity and read position. */
  openPeer(contact: Contact): Contact | undefined {
    const theirs = this.contactOfPeer(contact.owner, contact.username.toLowerCase());
    return theirs && !this.isBlocked(theirs) ? theirs : undefined;
  }

  contactOf(user: User, conversation: Conversation): Contact | undefined {
    return [...user.contacts.values()].find((contact) => contact.conversation === conversation);
  }

  /** Reports whether a user of that name, other than the owner, was ever in the conversation. */
  hasJoined({ owner, conversation }: Contact): boolean {
    return [...conversation.joined].some((user) => user !== owner);
  }

  isBlocked({ owner, username }: Contact): boolean {
    return owner.blocks.has(username.toLowerCase());
  }

  isThere(contact: Contact): boolean {
    return contact.owner.contacts.get(contact.username.toLowerCase()) === contact;
  }

  removeContact(contact: Contact): void {
    contact.owner.contacts.delete(contact.username.toLowerCase());
    this.leave(contact.owner, contact.conversation);
    contact.conversation.left.add(contact.owner);
  }

  leave(user: User, conversation: Conversation): void {
    conversation.seats.delete(user);
    for (const message of conversation.messages) {
      if (message.seenBy.delete(user) && message.sender === user && isThere(message)) this.met.outlived++;
    }
  }

  /** Requires a member. Ids and links are recorded later. */
  send(sender: User, conversation: Conversation, content: Content, at: number): Message {
    const isDeaf = (member: User) => member !== sender && member.blocks.has(sender.name);
    const seenBy = new Set([...conversation.seats.keys()].filter((member) => !isDeaf(member)));
    if (seenBy.size < conversation.seats.size) this.met.blocked++;
    const { files, ...rest } = content;
    const message: Message = {
      ...{ ...rest, id: "", type: "text", about: null, sender, conversation, files: [], createdAt: at },
      ...{ editedAt: null, seenBy, missedBy: new Set(), reactions: new Map() },
    };
    conversation.messages.push(message);
    this.messages.push(message);
    for (const user of seenBy) conversation.seats.get(user)!.movedAt = at;
    conversation.seats.get(sender)!.read = message;
    for (const file of files) this.#attach(message, file, at);
    return message;
  }

  #attach(message: Message, file: Content["files"][number], at: number): SentFile {
    const sent = { ...file, id: "", message, links: new Map(), createdAt: at };
    message.files.push(sent);
    this.files.push(sent);
    return sent;
  }

  /** Publishes an event to everybody who sees the message. */
  publish(message: Message, type: string, id: string, to: Iterable<User> = message.seenBy): void {
    for (const user of to) user.events.push(`${type} ${id}`);
  }

  /** Users who have blocked the sender since lose the message instead of receiving the change. */
  #change(message: Message): void {
    const { sender } = message;
    const deaf = [...message.seenBy].filter((user) => user !== sender && user.blocks.has(sender.name));
    this.#publishDeleted(message, deaf);
    for (const user of deaf) message.seenBy.delete(user);
    this.met.withdrawn += deaf.length;
    this.publish(message, "message.updated", message.id);
  }

  #publishDeleted(message: Message, to: Iterable<User>): void {
    const users = [...to];
    this.publish(message, "message.deleted", message.id, users);
    for (const file of message.files) this.publish(message, "attachment.deleted", file.id, users);
  }

  /** Requires the sender. Undefined leaves a field unchanged. */
  edit(message: Message, text: string | null | undefined, data: object | null | undefined, at: number): void {
    const wanted = {
      text: text === undefined ? message.text : text,
      data: data === undefined ? message.data : data,
    };
    const isSame =
      wanted.text === message.text && JSON.stringify(wanted.data) === JSON.stringify(message.data);
    if (isSame) return;
    Object.assign(message, wanted, { editedAt: at });
    this.#change(message);
  }

  addFile(message: Message, file: Content["files"][number], at: number): SentFile {
    this.#change(message);
    return this.#attach(message, file, at);
  }

  rename(file: SentFile, filename: string): void {
    if (file.filename === filename) return;
    file.filename = filename;
    this.#change(file.message);
    this.publish(file.message, "attachment.updated", file.id);
  }

  deleteMessage(message: Message): void {
    this.#publishDeleted(message, message.seenBy);
    message.seenBy.clear();
  }

  /** Only for this user; others still see it. */
  hide(user: User, message: Message): void {
    this.#publishDeleted(message, [user]);
    message.seenBy.delete(user);
    this.met[isThere(message) ? "forMe" : "unseen"]++;
  }

  /** Reports whether the reader sees the user's reactions. */
  showsReactions(user: User, reader: User): boolean {
    return user === reader || !reader.blocks.has(user.name);
  }

  react(user: User, message: Message, emoji: string): void {
    const users = message.reactions.get(emoji) ?? [];
    if (users.includes(user)) return;
    message.reactions.set(emoji, [...users, user]);
    this.#tellReaction(user, message, "reaction.created");
    this.met.reacted++;
  }

  unreact(user: User, message: Message, emoji: string): void {
    if (this.#removeReaction(user, message, emoji)) this.#tellReaction(user, message, "reaction.deleted");
  }

  #removeReaction(user: User, { reactions }: Message, emoji: string): boolean {
    const users = reactions.get(emoji) ?? [];
    const others = users.filter((each) => each !== user);
    if (others.length > 0) reactions.set(emoji, others);
    else reactions.delete(emoji);
    return others.length < users.length;
  }

  #tellReaction(user: User, message: Message, type: string): void {
    const readers = [...message.seenBy].filter((reader) => this.showsReactions(user, reader));
    this.met.concealed += message.seenBy.size - readers.length;
    this.publish(message, type, message.id, readers);
  }

  deleteFile(file: SentFile): void {
    const { message } = file;
    if (message.text === null && message.data === null && message.files.length === 1) {
      this.met.emptied++;
      this.deleteMessage(message);
      return;
    }
    this.publish(message, "attachment.deleted", file.id);
    message.files.splice(message.files.indexOf(file), 1);
    this.publish(message, "message.updated", message.id);
  }

  /** Up to a message visible to the member. Positions never move back. */
  read(user: User, message: Message, isPrivate: boolean): void {
    const { conversation } = message;
    const seat = conversation.seats.get(user)!;
    const event = `conversation.updated ${conversation.id}`;
    if (isLater(message, seat.read)) {
      seat.read = message;
      user.events.push(event);
    }
    if (isPrivate || !isLater(message, seat.disclosed)) return;
    seat.disclosed = message;
    const contact = this.contactOf(user, conversation);
    const theirs = contact && this.contactOfPeer(user, contact.username.toLowerCase());
    if (theirs && !user.blocks.has(theirs.owner.name)) theirs.owner.events.push(event);
  }

  conversationsOf(user: User): Conversation[] {
    return this.conversations.filter((each) => each.seats.has(user));
  }

  /** Most recent activity first. */
  inboxOf(user: User): Conversation[] {
    const movedAt = (each: Conversation) => each.seats.get(user)!.movedAt;
    const listed = this.conversationsOf(user).filter((each) => movedAt(each) !== null);
    return listed.sort((a, b) => movedAt(b)! - movedAt(a)!);
  }

  unread(user: User, conversation: Conversation): number {
    return this.#unreadOf(user, conversation).length;
  }

  unreadMentions(user: User, conversation: Conversation): number {
    return this.#unreadOf(user, conversation).filter(({ mentions }) => mentions.includes(user)).length;
  }

  #unreadOf(user: User, conversation: Conversation): Message[] {
    const { read } = conversation.seats.get(user)!;
    const seen = this.messagesSeenBy(user, conversation);
    return seen.filter(
      (message) => message.sender !== user && message.type === "text" && isLater(message, read),
    );
  }

  /** Newest first. */
  messagesSeenBy(user: User, conversation: Conversation): Message[] {
    return conversation.messages.filter(({ seenBy }) => seenBy.has(user)).reverse();
  }

  /** Newest first. */
  filesSeenBy(user: User): SentFile[] {
    return this.files.filter((file) => seesFile(user, file)).reverse();
  }

  storageUsed(user: User): number {
    const own = this.filesSeenBy(user).filter(({ message }) => message.sender === user);
    return own.reduce((sum, file) => sum + file.content.length, 0);
  }

  /** Returns all times that may be shown as the contact's last activity, in seconds, the newest last; empty: none. */
  presenceOf(contact: Contact): number[] {
    const theirs = this.openPeer(contact);
    if (!theirs) return [];
    const after = theirs.owner.seenAt.filter((at) => at > contact.createdAt);
    return after.map((at) => Math.floor(Math.max(at - (at % 60_000), contact.createdAt) / 1000));
  }
}

export function isThere(message: Message): boolean {
  return message.seenBy.size > 0;
}

/** Reports whether anybody sees the file. */
export function isFileThere(file: SentFile): boolean {
  return isThere(file.message) && file.message.files.includes(file);
}

export function seesFile(user: User, file: SentFile | undefined): file is SentFile {
  return file?.message.seenBy.has(user) === true && isFileThere(file);
}

/** Reports whether the first was sent after the second, in the same conversation. */
function isLater(message: Message, than: Message | null): boolean {
  const { messages } = message.conversation;
  return than === null || messages.indexOf(message) > messages.indexOf(than);
}
