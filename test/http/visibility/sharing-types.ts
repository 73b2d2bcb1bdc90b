// The types of the model of docs/sharing.md. Ids are the server's.

export interface Conversation {
  id: string;
  /** The group of the conversation; null: direct, or notes to self. */
  group: Group | null;
  seats: Map<User, Seat>;
  /** Users who left it while others stayed. */
  left: Set<User>;
  /** All users who were ever in it. */
  joined: Set<User>;
  /** All messages ever, also deleted ones, oldest first. */
  messages: Message[];
}

/** A member's own state of a conversation. */
export interface Seat {
  /** How many of its messages precede what the member may see. */
  since: number;
  /** The last read message; null: none. */
  read: Message | null;
  /** The last read message, as far as the contact may know. */
  disclosed: Message | null;
  /** When a message last reached the member; null: never, so the conversation is not listed. */
  movedAt: number | null;
  /** Milliseconds. */
  joinedAt: number;
  pinned: boolean;
  archived: boolean;
  /** Unix seconds. */
  mutedUntil: number | null;
}

export interface Contact {
  id: string;
  owner: User;
  /** As typed. */
  username: string;
  phone: string;
  displayName: string | null;
  conversation: Conversation;
  /** Milliseconds. */
  createdAt: number;
}

export interface User {
  id: string;
  name: string;
  displayName: string | null;
  /** Of two devices, used in turn. */
  tokens: string[];
  notes: Conversation;
  /** Has everybody back who adds this user. */
  acceptsEveryone: boolean;
  /** By the form in which names are compared. */
  contacts: Map<string, Contact>;
  /** Blocked names in the same form, and since when, in milliseconds. */
  blocks: Map<string, number>;
  /** How often the blocks have changed: no event reports it. */
  blockChanges: number;
  /** Times of all requests of the user, in milliseconds. */
  seenAt: number[];
  /** Published to the user and not compared yet: `type id`. */
  events: string[];
}

/** What a sender chooses. */
export interface Content {
  text: string | null;
  data: object | null;
  mentions: User[];
  replyTo: Message | null;
  clientId: string | null;
  /** Names and contents. */
  files: { filename: string; content: string }[];
}

export interface Message extends Omit<Content, "files"> {
  id: string;
  type: "text" | "joined" | "left" | "removed" | "renamed" | "role";
  /** The subject of a system message. */
  about: User | null;
  /** The users whom the sender of a system message has added to the group. */
  added?: readonly User[];
  sender: User;
  conversation: Conversation;
  createdAt: number;
  /** Milliseconds. */
  editedAt: number | null;
  /** Files that are not deleted. */
  files: SentFile[];
  /** Once empty, the message is gone. */
  seenBy: Set<User>;
  /** Users who had blocked the sender before they joined. */
  missedBy: Set<User>;
  /** By emoji, in order of arrival. */
  reactions: Map<string, User[]>;
}

export interface SentFile {
  id: string;
  message: Message;
  filename: string;
  content: string;
  /** The last URL that each user was given. */
  links: Map<User, string>;
  createdAt: number;
}

/** What the members of a conversation share besides it. */
export interface Group {
  id: string;
  conversation: Conversation;
  name: string;
  description: string | null;
  avatarUrl: string | null;
  history: "joined" | "all";
  /** Milliseconds. */
  createdAt: number;
  /** Users who have joined. Once empty, the group is gone. */
  members: Map<User, Member>;
  /** Oldest first. */
  invitations: Invitation[];
}

export interface Member {
  id: string;
  role: "admin" | "member";
  /** Who has invited or added the member; null: nobody. */
  inviter: User | null;
  /** Milliseconds. */
  joinedAt: number;
}

/** An admin's decision about a name. */
export interface Invitation {
  /** The seat that it leads to, the same for all who invite the name. */
  seat: { id: string };
  inviter: User;
  /** As typed by the first inviter. */
  username: string;
  /** Milliseconds. */
  createdAt: number;
  isDeclined: boolean;
}
