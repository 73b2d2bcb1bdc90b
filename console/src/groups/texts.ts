// Texts about events in groups and about their members.
import type { Conversation, Group, Message } from "../../../packages/parley-client/src/index.ts";
import { type Face, type KnownPeople, plain, toHandle, type User } from "../people/known-people.ts";

export function toGroupFace({ id, name }: Group): Face {
  return { name, seed: id, picture: undefined, isGroup: true };
}

/** Returns who wrote a message, as a prefix; empty if the name of the conversation says it. */
export function toSpeaker(
  { kind }: Pick<Conversation, "kind">,
  { sender }: Pick<Message, "sender">,
  meId: string,
  people: KnownPeople,
): string {
  if (kind === "self") return "";
  if (sender?.id === meId) return "You: ";
  return kind === "group" && sender ? `${people.toPerson(sender).name}: ` : "";
}

/** Returns who invited the user. Includes the username, which is unique. */
export function toInviter({ invited_by: user }: Group, people: KnownPeople): string {
  if (!user) return "Somebody";
  const person = people.toPerson(user);
  const handle = toHandle(person);
  return handle ? `${person.name} (${handle})` : person.name;
}

/** Returns the text of a system message. `meId`: the reader. */
export function toSystemText({ type, sender, data }: Message, meId: string, people: KnownPeople): string {
  const { user, users, role, name } = (data ?? {}) as {
    user?: User | null;
    users?: User[];
    role?: string;
    name?: string;
  };
  const toSubject = (who: User | null | undefined) =>
    who ? (who.id === meId ? "You" : people.toPerson(who).name) : "A deleted user";
  const by = toSubject(sender);
  const toObject = (who: User) => (who.id === meId ? "you" : people.toPerson(who).name);
  if (type === "joined" && users) return `${by} added ${users.map(toObject).join(", ") || "deleted users"}`;
  if (type === "joined") return `${by} joined`;
  if (type === "left") return `${by} left`;
  if (type === "renamed") return `${by} renamed the group to ${plain(name ?? "")}`;
  const subject = toSubject(user);
  if (type === "removed") {
    const whom = subject === "You" ? "you" : user ? subject : "a deleted user";
    return `${by} removed ${whom}`;
  }
  const verb = subject === "You" ? "are" : "is";
  return `${subject} ${verb} ${role === "admin" ? "an admin now" : "no longer an admin"}`;
}
