// Texts about events in groups and about their members.
import type { Conversation, Group, Member, Message } from "../../../client/src/index.ts";
import { visible } from "../people/people.tsx";

type User = NonNullable<Message["sender"]>;

/** Returns the name that a user chose for themselves. */
export function toUserName(user: Pick<User, "username" | "display_name">): string {
  return visible(user.display_name) || user.username;
}

export function toMemberName({ username, display_name }: Member): string {
  return username === null ? "Deleted user" : toUserName({ username, display_name });
}

/** Returns who wrote a message, as a prefix; empty if the name of the conversation says it. */
export function toSpeaker({ kind }: Conversation, { sender }: Message, meId: string): string {
  if (kind === "self") return "";
  if (sender?.id === meId) return "You: ";
  return kind === "group" && sender ? `${toUserName(sender)}: ` : "";
}

/** Returns who invited the user. Includes the username, which is unique. */
export function toInviter({ invited_by: user }: Group): string {
  if (!user) return "Somebody";
  const name = toUserName(user);
  return name === user.username ? name : `${name} (@${user.username})`;
}

/** Returns the text of a system message. `meId`: the reader. */
export function toSystemText({ type, sender, data }: Message, meId: string): string {
  const { user, users, role, name } = (data ?? {}) as {
    user?: User | null;
    users?: User[];
    role?: string;
    name?: string;
  };
  const toSubject = (who: User | null | undefined) =>
    who ? (who.id === meId ? "You" : toUserName(who)) : "A deleted user";
  const by = toSubject(sender);
  const toObject = (who: User) => (who.id === meId ? "you" : toUserName(who));
  if (type === "joined" && users) return `${by} added ${users.map(toObject).join(", ") || "deleted users"}`;
  if (type === "joined") return `${by} joined`;
  if (type === "left") return `${by} left`;
  if (type === "renamed") return `${by} renamed the group to ${name}`;
  const subject = toSubject(user);
  if (type === "removed") {
    const whom = subject === "You" ? "you" : user ? subject : "a deleted user";
    return `${by} removed ${whom}`;
  }
  const verb = subject === "You" ? "are" : "is";
  return `${subject} ${verb} ${role === "admin" ? "an admin now" : "no longer an admin"}`;
}
