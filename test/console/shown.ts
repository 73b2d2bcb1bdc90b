// Compares a page with what the API lists for its user.
import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import type { TestApp, TestUser } from "../support/app.ts";
import { read, send } from "../support/people.ts";

interface Message {
  type: string;
  sender: { id: string; username: string; display_name: string | null } | null;
  text: string | null;
  attachments: { filename: string }[];
  reactions: { emoji: string; count: number }[];
  reply_to_id: string | null;
  id: string;
  edited_at: number | null;
}

interface Conversation {
  id: string;
  kind: string;
  name: string;
  contact_id: string | null;
  last_message: Message | null;
  unread_count: number;
  is_pinned: boolean;
  is_archived: boolean;
}

interface Contact {
  id: string;
  username: string;
  display_name: string | null;
  phone_number: string;
}

interface Group {
  id: string;
  name: string;
  role: string;
  member_count: number;
}

/** A late answer may still undo something after the page looks right. */
const STABLE_MS = 500;
const ATTEMPTS = 150;

/** The place of a page: a conversation and a tab. */
export interface Place {
  /** The id of the contact or group. */
  id: string;
  conversationId: string;
  tab: "Messages" | "Files";
}

/** Fails unless the page soon shows what the API lists, and still does a moment later. */
export async function assertCurrent(server: TestApp, user: TestUser, page: Page, place: Place, what: string) {
  for (const pause of [0, STABLE_MS]) {
    await page.waitForTimeout(pause);
    for (let attempt = 1; ; attempt++) {
      const wanted = await listAll(server, user, place);
      const shown = await page.evaluate(readPage);
      if (JSON.stringify(wanted) === JSON.stringify(shown)) break;
      if (attempt === ATTEMPTS) assert.deepEqual(shown, wanted, `${what}: ${place.tab} of ${place.id}`);
      await page.waitForTimeout(100);
    }
  }
}

type Shown = ReturnType<typeof readPage>;

/** Runs in the page. */
function readPage() {
  const toText = (element: Element | null | undefined) => element?.textContent?.trim() ?? "";
  const all = (root: ParentNode, selector: string) => [...root.querySelectorAll(selector)];
  const toPlace = (row: Element) => Number(row.getAttribute("aria-posinset"));
  return {
    unread: /^\((\d+)\)/.exec(document.title)?.[1] ?? "0",
    rows: all(document, ".contacts [role=option]")
      .sort((a, b) => toPlace(a) - toPlace(b))
      .map((row) => ({
        name: toText(row.querySelector(".contact-name")),
        isPinned: row.querySelector("[title=Pinned]") !== null,
        hint: toText(row.querySelector(".contact-line.small > .ellipsis")),
        unread: Number.parseInt(toText(row.querySelector(".unread")) || "0", 10),
      })),
    invitations: all(document, ".invitation a").map(toText),
    heading: toText(document.querySelector(".conversation h1")),
    members: Number.parseInt(toText(document.querySelector(".conversation header .muted")), 10) || 0,
    messages: all(document, ".message:not(.system)").map((message) => ({
      text: toText(message.querySelector(".message-text")),
      files: all(message, ".message-files [title]").map((file) => file.getAttribute("title")!),
      reactions: all(message, ".reaction").map(toText),
      quote: toText(message.querySelector(".quote > .muted")),
      isEdited: toText(message.querySelector(".message-foot")).includes("Edited"),
    })),
    files: all(document, ".files .card:not(.add-card) .name").map(toText),
  };
}

async function listAll(server: TestApp, user: TestUser, place: Place): Promise<Shown> {
  const list = async <T>(path: string): Promise<T[]> =>
    (await read<{ data: T[] }>(send(server, user, "GET", path), 200)).data;
  const me = await read<{ unread_conversations: number }>(send(server, user, "GET", "/v1/me"), 200);
  const conversations = await list<Conversation>("/v1/conversations?limit=100");
  const contacts = await list<Contact>("/v1/contacts?limit=100&active=true");
  const groups = await list<Group>("/v1/groups?limit=100");
  const contact = contacts.find(({ id }) => id === place.id);
  const group = groups.find(({ id }) => id === place.id);
  const isMessages = place.tab === "Messages";
  const path = `conversation_id=${place.conversationId}&limit=100`;
  return {
    unread: String(me.unread_conversations),
    rows: toRows(conversations, contacts, user.id),
    invitations: groups.filter(({ role }) => role === "invited").map(({ name }) => name),
    heading: contact ? toName(contact) : group!.name,
    members: group?.member_count ?? 0,
    messages: isMessages ? toMessages(await list<Message>(`/v1/messages?${path}`)) : [],
    files: isMessages
      ? []
      : (await list<{ filename: string }>(`/v1/attachments?${path}`)).map(({ filename }) => filename),
  };
}

function toRows(conversations: Conversation[], contacts: Contact[], meId: string): Shown["rows"] {
  const known = new Set(conversations.map(({ contact_id }) => contact_id));
  const listed = conversations.filter(({ kind, is_archived }) => kind !== "self" && !is_archived);
  const toRow = ({ name, is_pinned, unread_count, kind, last_message }: Conversation) => ({
    name,
    isPinned: is_pinned,
    hint: last_message ? toSpeaker(kind, last_message, meId, contacts) + toOneLine(last_message) : "",
    unread: unread_count,
  });
  const toBare = (contact: Contact) => ({
    name: toName(contact),
    isPinned: false,
    hint: contact.display_name === null ? contact.phone_number : `@${contact.username}`,
    unread: 0,
  });
  return [
    ...listed.filter(({ is_pinned }) => is_pinned).map(toRow),
    ...listed.filter(({ is_pinned }) => !is_pinned).map(toRow),
    ...contacts.filter(({ id }) => !known.has(id)).map(toBare),
  ];
}

function toMessages(messages: Message[]): Shown["messages"] {
  const texts = new Map(messages.map((message) => [message.id, toOneLine(message)]));
  return messages
    .filter(({ type }) => type === "text")
    .map(({ text, attachments, reactions, reply_to_id, edited_at }) => ({
      text: text ?? "",
      files: attachments.map(({ filename }) => filename),
      reactions: reactions.map(({ emoji, count }) => `${emoji} ${count}`),
      quote: reply_to_id === null ? "" : (texts.get(reply_to_id) ?? ""),
      isEdited: edited_at !== null,
    }))
    .reverse();
}

function toName({ display_name, username }: Contact): string {
  return display_name ?? username;
}

/** A contact has the name that the user gave them, also in groups. */
function toSpeaker(kind: string, { sender }: Message, meId: string, contacts: readonly Contact[]): string {
  if (sender?.id === meId) return "You: ";
  if (kind !== "group" || !sender) return "";
  const contact = contacts.find(({ username }) => username === sender.username);
  return `${contact?.display_name ?? sender.display_name ?? sender.username}: `;
}

function toOneLine({ text, attachments }: Message): string {
  if (text !== null) return text;
  return attachments.length === 1 ? attachments[0]!.filename : `${attachments.length} files`;
}
