// Names, and messages in one line.
import type { Message } from "parley-client";
import type { ConversationState, InboxEntry, SyncMessage } from "parley-sync";
import type { Translate } from "./labels.ts";

type User = Pick<NonNullable<Message["sender"]>, "username" | "display_name">;

/** Matches characters that would reorder the text around a name. */
const REORDERING = /[\u202A-\u202E\u2066-\u2069]/g;

export function toName(user: User | null | undefined, translate: Translate): string {
  if (!user) return translate("deletedUser");
  return (user.display_name || user.username).replace(REORDERING, "");
}

export function toTitle({ kind, name }: Pick<InboxEntry, "kind" | "name">, translate: Translate): string {
  if (kind === "self") return translate("notes");
  return name?.replace(REORDERING, "") || translate("noName");
}

/** Returns the name of a user of a conversation, such as one who is typing. */
export function findName(id: string, state: ConversationState, translate: Translate): string {
  const { conversation, members, messages } = state;
  if (conversation?.kind === "contact") return toTitle(conversation, translate);
  const member = members?.find(({ user_id }) => user_id === id);
  if (member?.username) return toName({ ...member, username: member.username }, translate);
  return toName(messages.findLast(({ sender }) => sender?.id === id)?.sender, translate);
}

/** Returns a message in one line. */
export function toLine(message: SyncMessage | Message, translate: Translate): string {
  if (message.type !== "text") return toSystemText(message, translate);
  if (message.text !== null) return message.text;
  const waiting = "files" in message ? message.files : [];
  const files = [...message.attachments, ...waiting];
  if (files.length === 0) return translate("appData");
  return files.length === 1 ? files[0]!.filename : translate("files", { count: files.length });
}

/** Returns the text of a message of the system. */
export function toSystemText({ type, sender, data }: Message, translate: Translate): string {
  const { user, users, role, name } = (data ?? {}) as {
    user?: User | null;
    users?: User[];
    role?: string;
    name?: string;
  };
  const by = toName(sender, translate);
  const other = toName(user, translate);
  if (type === "joined" && users) {
    const others = users.map((each) => toName(each, translate)).join(", ");
    return translate("added", { name: by, others: others || translate("deletedUser") });
  }
  if (type === "joined" || type === "left") return translate(type, { name: by });
  if (type === "removed") return translate("removed", { name: by, other });
  if (type === "renamed") return translate("renamed", { name: by, group: name ?? "" });
  return translate(role === "admin" ? "madeAdmin" : "madeMember", { other });
}
