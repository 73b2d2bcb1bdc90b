// Audit entries in plain words.
import type { AuditEntry } from "../../../packages/parley-client/src/index.ts";
import { counted } from "../ui/format.ts";

/** A part of a sentence: words, or a link. */
export type Phrase =
  | string
  | { userId: string; name?: string | undefined }
  | { webhookId: string; text: string };

type Details = Readonly<Record<string, unknown>>;
type ToParts = (entry: AuditEntry, details: Details) => readonly Phrase[];

const quoted = (value: unknown) => `“${String(value ?? "")}”`;
/** `name` stands in for a user who has since been erased. */
const user = (id: unknown, name?: unknown): Phrase => ({
  userId: String(id),
  name: typeof name === "string" ? name : undefined,
});
/** The file or group of an entry, by its name if it still exists. */
const file = ({ object_name: name }: AuditEntry) => (name === null ? "a file" : quoted(name));
const group = ({ object_name: name }: AuditEntry) =>
  name === null ? "a group" : `the group ${quoted(name)}`;
const say =
  (text: string): ToParts =>
  () => [text];

function toToken({ name, user_id }: Details): Phrase[] {
  return [name ? `the token ${quoted(name)} of ` : "an unnamed token of ", user(user_id)];
}

function toHook({ object_id, action }: AuditEntry, { origin }: Details): Phrase {
  const text = String(origin ?? "a webhook");
  return action === "webhook.deleted" ? text : { webhookId: object_id, text };
}

const SENTENCES: Readonly<Record<string, ToParts>> = {
  "user.created": ({ actor_id, object_id }, { username }) =>
    actor_id === object_id
      ? ["signed in for the first time with a signed token"]
      : ["created the user ", user(object_id, username)],
  "user.updated": ({ actor_id, object_id }) =>
    actor_id === object_id ? ["changed their profile"] : ["changed the profile of ", user(object_id)],
  "user.paused": ({ object_id }) => ["paused ", user(object_id)],
  "user.resumed": ({ object_id }) => ["resumed ", user(object_id)],
  "user.linked": ({ actor_id, object_id }, { subject }) =>
    actor_id === object_id
      ? [`signed in as ${quoted(subject)} for the first time`]
      : ["linked ", user(object_id), ` to the subject ${quoted(subject)}`],
  "user.unlinked": ({ object_id }) => ["removed the identities of ", user(object_id)],
  "user.deleted": (_, { username }) => [`erased the user ${quoted(username)}`],
  "token.created": (_, details) => ["created ", ...toToken(details)],
  "token.revoked": (_, details) => ["revoked ", ...toToken(details)],
  "block.created": say("blocked somebody"),
  "block.deleted": say("unblocked somebody"),
  "contact.created": say("added a contact"),
  "contact.renamed": (_, { from, to }) => [`renamed a contact from ${quoted(from)} to ${quoted(to)}`],
  "contact.deleted": (_, { username }) => [`deleted the contact ${quoted(username)}`],
  "attachment.created": (entry) => [`uploaded ${file(entry)}`],
  "attachment.renamed": ({ object_name: name }) => [
    name === null ? "renamed a file" : `renamed a file, now ${quoted(name)}`,
  ],
  "attachment.deleted": say("deleted a file"),
  "attachment.refused": (_, { filename, found }) => [
    `uploaded ${quoted(filename)}, which the virus scanner refused: ${found}`,
  ],
  "attachment.withdrawn": (_, { found }) => [`withdrew a file in which a later scan found a virus: ${found}`],
  "attachment.downloaded": (entry, { address }) => [
    `downloaded ${file(entry)} by its link from ${address ?? "an unknown address"}, ${counted(countDownloads(entry), "time", "times")}`,
  ],
  "group.created": (entry) => [`created ${group(entry)}`],
  "group.updated": (entry) => [`changed ${group(entry)}`],
  "group.joined": (entry) => [`joined ${group(entry)}`],
  "group.left": (entry) => [`left ${group(entry)}`],
  "group.declined": say("declined the invitation to a group"),
  "conversation.read": say("marked messages as read"),
  "conversation.updated": say("changed the settings of a conversation"),
  "member.added": (_, { user_id }) => ["added ", user(user_id), " to a group"],
  "member.invited": say("invited somebody to a group"),
  "member.withdrawn": say("withdrew an invitation to a group"),
  "member.removed": say("removed a member from a group"),
  "member.updated": (_, { role }) => [
    role === "admin"
      ? "made a member an admin of a group"
      : "took the role of admin from a member of a group",
  ],
  "message.created": say("sent a message"),
  "message.updated": say("edited a message"),
  "message.deleted": ({ acted_by_id }) => [
    acted_by_id === null ? "deleted a message of another user" : "deleted a message",
  ],
  "message.hidden": say("deleted a message for themselves"),
  "reaction.created": say("reacted to a message"),
  "reaction.deleted": say("removed a reaction from a message"),
  "webhook.created": (entry, details) => [
    "created the webhook to ",
    toHook(entry, details),
    ...(details.all_users ? [" for the events of all users"] : []),
  ],
  "webhook.updated": (entry, details) => [
    "changed the webhook to ",
    toHook(entry, details),
    details.enabled === false ? ", which is disabled now" : "",
  ],
  "webhook.disabled": (entry, details) => [
    "disabled the webhook to ",
    toHook(entry, details),
    " because it kept failing",
  ],
  "webhook.deleted": (entry, details) => ["deleted the webhook to ", toHook(entry, details)],
  "webhook.secret_rotated": (entry) => ["rotated the secret of ", toHook(entry, {})],
  "push_subscription.created": (_, { origin }) => [`turned on push notifications through ${origin}`],
  "push_subscription.updated": (_, { origin }) => [`renewed push notifications through ${origin}`],
  "push_subscription.deleted": ({ actor_id }, { origin }) => [
    actor_id === null
      ? `ended push notifications through ${origin}, which no longer accepts them`
      : `turned off push notifications through ${origin}`,
  ],
};

/** Returns the actor if nobody was signed in. */
function toNobody(action: string): string {
  if (action === "attachment.downloaded") return "Somebody";
  if (action === "webhook.disabled" || action === "push_subscription.deleted") return "Parley";
  return "The command line";
}

/** Returns the sentence of an entry, such as "ann revoked the token “phone” of bob" or "shop as ann added a contact". */
export function toSentence(entry: AuditEntry): readonly Phrase[] {
  const actor: Phrase = entry.actor_id === null ? toNobody(entry.action) : user(entry.actor_id);
  const words = SENTENCES[entry.action]?.(entry, entry.details ?? {});
  return [
    ...(entry.acted_by_id === null ? [] : [user(entry.acted_by_id), " as "]),
    actor,
    " ",
    ...(words ?? [`performed an action that this console does not know (${entry.action})`]),
  ];
}

const countDownloads = ({ details }: AuditEntry) => Number(details?.count ?? 1);

/** Entries that are shown as one: the downloads of a file by its link on one day, newest first. */
export interface EntryGroup {
  /** The id of the newest entry. */
  id: string;
  entries: readonly AuditEntry[];
}

export function groupEntries(entries: readonly AuditEntry[]): EntryGroup[] {
  const groups = Map.groupBy(entries, ({ id, action, object_id, created_at }) =>
    action === "attachment.downloaded" ? `${object_id} ${new Date(created_at * 1000).toDateString()}` : id,
  );
  return [...groups.values()].map((entries) => ({ id: entries[0]!.id, entries }));
}

/** Returns the sentence of a group, such as "12 downloads of “report.pdf” by its link from 192.0.2.1 and 2 other addresses". */
export function toGroupSentence({ entries }: EntryGroup): readonly Phrase[] {
  const [first] = entries;
  if (entries.length === 1) return toSentence(first!);
  const count = entries.reduce((sum, entry) => sum + countDownloads(entry), 0);
  const [address, ...others] = new Set(
    entries.map(({ details }) => String(details?.address ?? "an unknown address")),
  );
  const more = others.length > 0 ? ` and ${counted(others.length, "other address", "other addresses")}` : "";
  return [`${count} downloads of ${file(first!)} by its link from ${address}${more}`];
}

/** Joins a sentence and fills in the names of users. An erased user has no name. */
export function toText(parts: readonly Phrase[], toName: (userId: string) => string | undefined): string {
  return parts
    .map((part) =>
      typeof part === "string"
        ? part
        : "userId" in part
          ? toName(part.userId) || part.name || "an erased user"
          : part.text,
    )
    .join("");
}

/** The actions to filter by: a family, or one action of it. */
export const ACTIONS: readonly {
  family: string;
  label: string;
  actions: readonly (readonly [action: string, label: string])[];
}[] = [
  {
    family: "user.",
    label: "Users",
    actions: [
      ["user.created", "Created"],
      ["user.updated", "Profile changed"],
      ["user.paused", "Paused"],
      ["user.resumed", "Resumed"],
      ["user.linked", "Linked"],
      ["user.unlinked", "Unlinked"],
      ["user.deleted", "Erased"],
    ],
  },
  {
    family: "token.",
    label: "Tokens",
    actions: [
      ["token.created", "Created"],
      ["token.revoked", "Revoked"],
    ],
  },
  {
    family: "webhook.",
    label: "Webhooks",
    actions: [
      ["webhook.created", "Created"],
      ["webhook.updated", "Changed"],
      ["webhook.disabled", "Disabled for failing"],
      ["webhook.deleted", "Deleted"],
      ["webhook.secret_rotated", "Secret rotated"],
    ],
  },
  {
    family: "attachment.",
    label: "Files",
    actions: [
      ["attachment.created", "Uploaded"],
      ["attachment.renamed", "Renamed"],
      ["attachment.downloaded", "Downloaded by link"],
      ["attachment.deleted", "Deleted"],
      ["attachment.refused", "Refused by the virus scanner"],
      ["attachment.withdrawn", "Withdrawn after a scan"],
    ],
  },
  {
    family: "message.",
    label: "Messages",
    actions: [
      ["message.created", "Sent as another user"],
      ["message.updated", "Edited as another user"],
      ["message.deleted", "Deleted for or as another user"],
      ["message.hidden", "Deleted for themselves, as another user"],
    ],
  },
  {
    family: "reaction.",
    label: "Reactions",
    actions: [
      ["reaction.created", "Added as another user"],
      ["reaction.deleted", "Removed as another user"],
    ],
  },
  {
    family: "conversation.",
    label: "Conversations",
    actions: [
      ["conversation.read", "Read as another user"],
      ["conversation.updated", "Settings changed as another user"],
    ],
  },
  {
    family: "contact.",
    label: "Contacts",
    actions: [
      ["contact.created", "Added"],
      ["contact.renamed", "Renamed"],
      ["contact.deleted", "Deleted"],
    ],
  },
  {
    family: "block.",
    label: "Blocks",
    actions: [
      ["block.created", "Blocked as another user"],
      ["block.deleted", "Unblocked as another user"],
    ],
  },
  {
    family: "group.",
    label: "Groups",
    actions: [
      ["group.created", "Created"],
      ["group.updated", "Changed"],
      ["group.joined", "Joined"],
      ["group.left", "Left"],
      ["group.declined", "Invitation declined"],
    ],
  },
  {
    family: "member.",
    label: "Members",
    actions: [
      ["member.added", "Added"],
      ["member.invited", "Invited"],
      ["member.withdrawn", "Invitation withdrawn"],
      ["member.removed", "Removed"],
      ["member.updated", "Role changed"],
    ],
  },
  {
    family: "push_subscription.",
    label: "Push notifications",
    actions: [
      ["push_subscription.created", "Turned on"],
      ["push_subscription.updated", "Renewed"],
      ["push_subscription.deleted", "Ended"],
    ],
  },
];
