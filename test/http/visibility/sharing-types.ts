// What the model of docs/sharing.md is about. Ids are the server's.

export interface Conversation {
  id: string;
  /** The group that it belongs to; null: direct, or notes to self. */
  group: Group | null;
  seats: Map<User, Seat>;
  /** Users who left it while it went on. */
  left: Set<User>;
  /** All who were ever there. */
  joined: Set<User>;
  /** All that were ever sent, also deleted ones, oldest first. */
  messages: Message[];
}

/** A member's own view of a conversation. */
export interface Seat {
  /** How many of its messages came before what the member may see. */
  since: number;
  /** The last read message; null: none. */
  read: Message | null;
  /** The same, as far as the contact may know. */
  disclosed: Message | null;
  /** When a message last reached the member; null: never, and the conversation is not listed. */
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
  /** As it was typed. */
  username: string;
  displayName: string | null;
  conversation: Conversation;
  /** Milliseconds. */
  createdAt: number;
}

export interface User {
  id: string;
  name: string;
  /** Of two devices, which take turns. */
  tokens: string[];
  notes: Conversation;
  /** By the name that they are compared by. */
  contacts: Map<string, Contact>;
  /** Names that the user has blocked, in the same form, and since when, milliseconds. */
  blocks: Map<string, number>;
  /** How often these have changed: no event says so. */
  blockChanges: number;
  /** Each request of the user, milliseconds. */
  seenAt: number[];
  /** What was published to the user and not compared yet: `type id`. */
  events: string[];
}

/** What a sender chooses. */
export interface Content {
  text: string | null;
  data: object | null;
  mentions: User[];
  replyTo: Message | null;
  /** Names and contents. */
  files: { filename: string; content: string }[];
}

export interface Message extends Omit<Content, "files"> {
  id: string;
  type: "text" | "joined" | "left" | "removed" | "renamed" | "role";
  /** Whom the system says it was done to. */
  about: User | null;
  sender: User;
  conversation: Conversation;
  createdAt: number;
  /** Milliseconds. */
  editedAt: number | null;
  /** Those that are not deleted. */
  files: SentFile[];
  /** With nobody left the message is gone. */
  seenBy: Set<User>;
  /** Those who had blocked the sender before they joined. */
  missedBy: Set<User>;
  /** By their emoji, in the order of coming. */
  reactions: Map<string, User[]>;
}

export interface SentFile {
  id: string;
  message: Message;
  filename: string;
  content: string;
  /** The last address that each user was given. */
  links: Map<User, string>;
  createdAt: number;
}

/** What the members of a conversation share beside it. */
export interface Group {
  id: string;
  conversation: Conversation;
  name: string;
  description: string | null;
  avatarUrl: string | null;
  history: "joined" | "all";
  /** Milliseconds. */
  createdAt: number;
  /** Those who have joined. With nobody left the group is gone. */
  members: Map<User, Member>;
  /** Oldest first. */
  invitations: Invitation[];
}

export interface Member {
  id: string;
  role: "admin" | "member";
  /** Milliseconds. */
  joinedAt: number;
}

/** What one admin has said about one name. */
export interface Invitation {
  /** The member's that comes of it, the same for all who invite that name. */
  seat: { id: string };
  inviter: User;
  /** As the first inviter has typed it. */
  username: string;
  /** Milliseconds. */
  createdAt: number;
  isDeclined: boolean;
}
