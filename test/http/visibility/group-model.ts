// The rules of groups in docs/sharing.md, which extend sharing-model.ts. Written independently of how the service
// stores groups.
import { isThere, type Model } from "./sharing-model.ts";
import type { Conversation, Group, Invitation, Member, Message, User } from "./sharing-types.ts";

/** The fields that a creator chooses. */
export interface NewGroup {
  name: string;
  description: string | null;
  avatarUrl: string | null;
  history: "joined" | "all";
}

/** A published event whose id the server assigns. */
interface Published {
  type: string;
  what: { id: string };
  to: User[];
}

/** A user's relation to a group; undefined: none. */
export type View = Member["role"] | "invited" | undefined;

export class Groups {
  readonly model: Model;
  /** Published events to record once their ids are known. */
  readonly published: Published[] = [];
  /** How often the difficult cases occurred. */
  readonly met = {
    ...{ seated: 0, returned: 0, inherited: 0, ended: 0, hidden: 0, declined: 0, uninvited: 0, crowded: 0 },
    ...{ caughtUp: 0, filtered: 0, unseated: 0, handedOver: 0 },
  };

  constructor(model: Model) {
    this.model = model;
  }

  /** Groups with at least one member. */
  live(): Group[] {
    return this.model.groups.filter(({ members }) => members.size > 0);
  }

  view(user: User, group: Group): View {
    return group.members.get(user)?.role ?? (this.invitationOf(user, group) && "invited");
  }

  /** Returns the invitation that the user sees: of the first inviter who is an unblocked contact of the user. */
  invitationOf(user: User, group: Group): Invitation | undefined {
    return this.invitationsOf(user.name, group).find(
      ({ inviter, isDeclined }) => !isDeclined && knows(user, inviter),
    );
  }

  /** Returns the user whom the group shows as its reader's inviter; an erased one is not shown. */
  shownInviter(user: User, group: Group): User | undefined {
    const inviter = group.members.get(user)?.inviter ?? this.inviterOf(user, group);
    return inviter && this.model.users.get(inviter.name) === inviter ? inviter : undefined;
  }

  /** Returns whom the user sees as the inviter before joining. */
  inviterOf(user: User, group: Group): User | undefined {
    return group.members.has(user) ? undefined : this.invitationOf(user, group)?.inviter;
  }

  /** Returns the names of senders, other than inviters, whose messages the user would see by joining. */
  sendersBefore(user: User, group: Group): string[] {
    const { conversation, members, history } = group;
    if (history === "joined" || members.has(user) || conversation.left.has(user)) return [];
    const inviters = this.invitationsOf(user.name, group).map(({ inviter }) => inviter);
    const senders = conversation.messages.filter(hasText).map(({ sender }) => sender);
    return senders.filter((sender) => !inviters.includes(sender)).map(({ name }) => name);
  }

  /** Returns the names of inviters whom the user does not see, because an earlier one is shown. */
  inviterAmongOthers(user: User): string[] {
    const shared = this.seenBy(user).filter(
      (group) =>
        this.invitationsOf(user.name, group).filter(({ inviter }) => knows(user, inviter)).length > 1,
    );
    return shared.flatMap((group) => this.inviterOf(user, group)?.name ?? []);
  }

  /**
   * Returns the users who would see this inviter's invitation, and whom only others have invited, or else who have
   * left.
   */
  peopleToInvite(inviter: User, group: Group): User[] {
    const people = [...this.model.users.values()].filter(
      (user) => !group.members.has(user) && knows(user, inviter),
    );
    const invitations = (user: User) => this.invitationsOf(user.name, group);
    const byOthers = people.filter(
      (user) =>
        this.view(user, group) === "invited" && invitations(user).every((each) => each.inviter !== inviter),
    );
    const isBack = (user: User) => group.conversation.left.has(user) && invitations(user).length === 0;
    return byOthers.length > 0 ? byOthers : people.filter(isBack);
  }

  /** Returns the groups of this admin that have such people to invite. */
  groupsToInviteInto(user: User): Group[] {
    return this.live().filter(
      (group) => this.view(user, group) === "admin" && this.peopleToInvite(user, group).length > 0,
    );
  }

  invitationsOf(name: string, { invitations }: Group): Invitation[] {
    return invitations.filter(({ username }) => username.toLowerCase() === name.toLowerCase());
  }

  /** Returns the number of members and invited users, each counted once. */
  size(group: Group): number {
    return group.members.size + new Set(group.invitations.map(({ seat }) => seat)).size;
  }

  create(user: User, fields: NewGroup, usernames: readonly string[], at: number): Group {
    const conversation = this.model.newConversation();
    const members = new Map<User, Member>();
    const group: Group = { ...fields, id: "", conversation, createdAt: at, members, invitations: [] };
    conversation.group = group;
    this.model.groups.push(group);
    this.#seat(user, group, { id: "", role: "admin", inviter: null, joinedAt: at }, 0, at);
    for (const username of usernames)
      if (username.toLowerCase() !== user.name) this.invite(user, group, username, at);
    return group;
  }

  /** Returns the seat that the name has or gets in the group. Existing seats, invitations and refusals stay. */
  invite(inviter: User, group: Group, username: string, at: number): { id: string } {
    for (const [user, member] of group.members) if (user.name === username.toLowerCase()) return member;
    const known = this.invitationsOf(username, group);
    const seat = known[0]?.seat ?? { id: "" };
    if (known.some((each) => each.isDeclined || each.inviter === inviter)) return seat;
    const typed = known[0]?.username ?? username;
    group.invitations.push({ seat, inviter, username: typed, createdAt: at, isDeclined: false });
    return seat;
  }

  /**
   * Requires a visible invitation. New members of a group with full history see its messages, unless they were in it
   * before.
   */
  join(user: User, group: Group, at: number): void {
    const { conversation } = group;
    const { seat, inviter } = this.invitationOf(user, group)!;
    const isBack = conversation.left.has(user);
    const seesAll = group.history === "all" && !isBack;
    group.invitations = group.invitations.filter((each) => each.seat !== seat);
    const earlier = conversation.messages.filter(isThere);
    this.#seat(
      user,
      group,
      { id: seat.id, role: "member", inviter, joinedAt: at },
      seesAll ? 0 : conversation.messages.length,
      at,
    );
    const isHidden = ({ type, sender }: Message) =>
      type === "text" && this.model.users.get(sender.name) === sender && user.blocks.has(sender.name);
    const received = seesAll ? earlier.filter((message) => !isHidden(message)) : [];
    for (const message of received) message.seenBy.add(user);
    this.met.seated++;
    if (isBack && group.history === "all" && earlier.some(hasText)) this.met.returned++;
    if (received.some(hasText)) this.met.caughtUp++;
    if (seesAll && received.length < earlier.length) this.met.filtered++;
  }

  /** An admin makes users members, who see what they would see by joining. Only earlier members get an event of each. */
  add(admin: User, group: Group, users: readonly User[], at: number): void {
    const { conversation } = group;
    const earlier = conversation.messages.filter(isThere);
    const since = conversation.messages.length;
    const before = [...group.members.keys()];
    for (const user of users) {
      const member: Member = {
        id: this.invitationsOf(user.name, group)[0]?.seat.id ?? "",
        role: "member",
        inviter: admin,
        joinedAt: at,
      };
      group.invitations = group.invitations.filter(
        ({ username }) => username.toLowerCase() !== user.name.toLowerCase(),
      );
      const seesAll = group.history === "all" && !conversation.left.has(user);
      group.members.set(user, member);
      this.model.sit(user, conversation, at, at).since = seesAll ? 0 : since;
      const isHidden = ({ type, sender }: Message) =>
        type === "text" && this.model.users.get(sender.name) === sender && user.blocks.has(sender.name);
      if (seesAll) for (const message of earlier) if (!isHidden(message)) message.seenBy.add(user);
      this.#publish("member.created", member, before);
      this.#publish("group.created", group, [user]);
    }
    const said = { type: "joined", sender: admin, about: null, added: users, data: null } as const;
    const message = this.#say(conversation, said, at);
    for (const user of users) conversation.seats.get(user)!.read = message;
  }

  #seat(user: User, group: Group, member: Member, since: number, at: number): void {
    const { conversation } = group;
    group.members.set(user, member);
    const seat = this.model.sit(user, conversation, at, at);
    seat.since = since;
    seat.read = this.#say(conversation, { type: "joined", sender: user, about: null, data: null }, at);
    this.#publish("group.created", group, [user]);
    this.#publish("member.created", member, group.members.keys());
  }

  /** Everybody sees a system message, regardless of blocks; it is unread for nobody. */
  #say(
    conversation: Conversation,
    said: Pick<Message, "type" | "sender" | "about" | "added" | "data">,
    at: number,
  ): Message {
    const seenBy = new Set(conversation.seats.keys());
    const message: Message = {
      ...{
        ...said,
        id: "",
        conversation,
        text: null,
        mentions: [],
        replyTo: null,
        clientId: null,
        files: [],
      },
      ...{
        createdAt: at,
        editedAt: null,
        seenBy,
        missedBy: new Set(),
        reactions: new Map(),
      },
    };
    conversation.messages.push(message);
    this.model.messages.push(message);
    this.#publish("message.created", message, seenBy);
    if ([...seenBy].some((user) => user.blocks.has(said.sender.name))) this.met.hidden++;
    return message;
  }

  #publish(type: string, what: { id: string }, to: Iterable<User>): void {
    this.published.push({ type, what, to: [...to] });
  }

  /** Returns the next admin if this one leaves: another admin, or the longest-standing member. */
  #heir(user: User, group: Group): User | undefined {
    const others = [...group.members].filter(([other]) => other !== user);
    const rank = ([, { role, joinedAt }]: [User, Member]) => (role === "admin" ? 0 : 1) * 1e15 + joinedAt;
    // Several can be added at once.
    return others.sort((a, b) => rank(a) - rank(b) || (a[0].id < b[0].id ? -1 : 1))[0]?.[0];
  }

  /** The user leaves, or an admin removes them. */
  leave(user: User, group: Group, by: User, at: number): void {
    const { conversation, members } = group;
    const heir = this.#heir(user, group);
    const member = members.get(user)!;
    group.invitations = group.invitations.filter(({ inviter }) => inviter !== user);
    members.delete(user);
    this.model.leave(user, conversation);
    conversation.left.add(user);
    this.#publish("group.deleted", group, [user]);
    if (!heir) {
      this.met.ended++;
      return;
    }
    const isOwn = by === user;
    this.#say(
      conversation,
      { type: isOwn ? "left" : "removed", sender: by, about: isOwn ? null : user, data: null },
      at,
    );
    this.#publish("member.deleted", member, members.keys());
    if (!isOwn) this.met.unseated++;
    if (members.get(heir)!.role === "admin") return;
    this.met.inherited++;
    this.#appoint(heir, group, "admin", by, at);
  }

  #appoint(user: User, group: Group, role: Member["role"], by: User, at: number): void {
    const member = group.members.get(user)!;
    member.role = role;
    this.#say(group.conversation, { type: "role", sender: by, about: user, data: { role } }, at);
    this.#publish("member.updated", member, group.members.keys());
    this.#publish("group.updated", group, [user]);
  }

  /** The only member stays an admin. */
  setRole(user: User, group: Group, role: Member["role"], by: User, at: number): void {
    const member = group.members.get(user)!;
    const heir = this.#heir(user, group);
    if (member.role === role || (role === "member" && !heir)) return;
    if (role === "member" && group.members.get(heir!)!.role === "member") {
      this.met.inherited++;
      this.#appoint(heir!, group, "admin", by, at);
    }
    this.#appoint(user, group, role, by, at);
  }

  /** Final, for all inviters. */
  decline(user: User, group: Group): void {
    for (const invitation of this.invitationsOf(user.name, group)) invitation.isDeclined = true;
    this.met.declined++;
  }

  withdraw(seat: { id: string }, group: Group): void {
    group.invitations = group.invitations.filter((each) => each.seat !== seat);
    this.met.uninvited++;
  }

  update(
    user: User,
    group: Group,
    changes: Partial<Pick<Group, "name" | "description" | "avatarUrl">>,
    at: number,
  ): void {
    const { name, description, avatarUrl } = { ...group, ...changes };
    if (name === group.name && description === group.description && avatarUrl === group.avatarUrl) return;
    if (name !== group.name)
      this.#say(group.conversation, { type: "renamed", sender: user, about: null, data: { name } }, at);
    Object.assign(group, { name, description, avatarUrl });
    const invited = [...this.model.users.values()].filter((each) => this.view(each, group) === "invited");
    this.#publish("group.updated", group, [...group.members.keys(), ...invited]);
  }

  /** A later user of the name gets none of the erased user's invitations. */
  eraseUser(user: User, at: number): void {
    for (const group of this.live()) {
      for (const invitation of this.invitationsOf(user.name, group)) invitation.isDeclined = true;
    }
    const own = this.live().filter(({ members }) => members.has(user));
    for (const group of own.sort((a, b) => (a.id < b.id ? -1 : 1))) this.leave(user, group, user, at);
  }

  /** Newest first. */
  seenBy(user: User): Group[] {
    const seen = this.live().filter((group) => this.view(user, group));
    return seen.sort((a, b) => (a.id < b.id ? 1 : -1));
  }
}

/** Reports whether a member sent the message and somebody sees it. */
function hasText(message: Message): boolean {
  return message.type === "text" && isThere(message);
}

/** Reports whether the user has the other as an unblocked contact. */
function knows(user: User, { name }: User): boolean {
  return user.contacts.has(name) && !user.blocks.has(name);
}
