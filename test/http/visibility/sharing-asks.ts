// Bob's actions and requests on the servers of sharing-two-worlds.ts.
import type { Act } from "./sharing-secrets.ts";
import { type Answer, OTHERS, pick, type Request, type Twins } from "./sharing-two-worlds.ts";

/** How often to draw each. */
export const ASKS = {
  ...{ send: 8, sendFiles: 6, upload: 8, uploadToMessage: 3, sendAgain: 2, sendNamed: 3 },
  ...{ edit: 3, deleteMessage: 2, hideMessage: 10, rename: 2, deleteFile: 2, react: 3, unreact: 1 },
  ...{ read: 2, settings: 2, block: 1, unblock: 2, removeContact: 2, addContact: 4 },
  ...{ archive: 2, typing: 1, createGroup: 2, leaveGroup: 1, invite: 2 },
};
type Ask = keyof typeof ASKS;

/** A picture of one pixel. */
const PIXEL = Buffer.from("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7", "base64");

function form(fields: Record<string, string>, ...files: number[]): FormData {
  const data = new FormData();
  for (const [name, value] of Object.entries(fields)) data.set(name, value);
  for (const spare of files) {
    const bytes = spare % 3 ? Buffer.from("x".repeat(spare % 7 ? spare % 50 : 40_000)) : PIXEL;
    data.append("file", new File([bytes], `file ${spare % 9}.${spare % 3 ? "txt" : "gif"}`));
  }
  return data;
}

/** Returns whether it succeeded. */
export async function doAsk(kind: Ask, twins: Twins, { who, target, spare }: Act): Promise<boolean> {
  const message = twins.pick("msg", target);
  const conversation_id = twins.pick("cnv", target);
  const file = twins.pick("att", target);
  const group = twins.pick("grp", target);
  const name = OTHERS[who % OTHERS.length]!;
  const username = twins.plain.names.get(name)!;
  const text = `from bob ${spare % 5}`;
  const reply = spare % 5 === 0 ? { reply_to_id: twins.pick("msg", spare) } : {};
  const mentions = spare % 7 === 0 ? { mentions: [twins.plain.callers.get(name)!.userId] } : {};
  const key = { "idempotency-key": `key-${target % 3}` };
  const post = (path: string, body: object, headers = {}): Request => ({
    method: "POST",
    path,
    body,
    headers,
  });
  const atMessage = `/v1/messages/${message}`;
  const [isPrivate, emoji] = [spare % 2 === 0, encodeURIComponent("🎉")];
  const requests: Record<Exclude<Ask, "addContact">, Request> = {
    send: post("/v1/messages", { conversation_id, text, ...reply, ...mentions }),
    sendFiles: post("/v1/messages", form({ conversation_id, text }, spare, spare + 1)),
    upload: post("/v1/attachments", form({ conversation_id }, spare)),
    uploadToMessage: post("/v1/attachments", form({ message_id: message }, spare)),
    sendAgain: post("/v1/messages", { conversation_id: twins.pick("cnv", 4), text: "again" }, key),
    sendNamed: post("/v1/messages", { conversation_id, text, client_id: `${target % 9}` }),
    edit: { method: "PUT", path: atMessage, body: { text: `edited ${text}` } },
    deleteMessage: { method: "DELETE", path: atMessage },
    hideMessage: { method: "DELETE", path: `${atMessage}?for=me` },
    rename: { method: "PUT", path: `/v1/attachments/${file}`, body: { filename: `renamed ${spare % 3}` } },
    deleteFile: { method: "DELETE", path: `/v1/attachments/${file}` },
    react: { method: "PUT", path: `${atMessage}/reactions/${emoji}` },
    unreact: { method: "DELETE", path: `${atMessage}/reactions/${emoji}` },
    read: {
      method: "PUT",
      path: `/v1/conversations/${conversation_id}/read`,
      body: { message_id: message, private: isPrivate },
    },
    settings: {
      method: "PUT",
      path: `/v1/conversations/${conversation_id}`,
      body: { is_archived: isPrivate },
    },
    block: { method: "PUT", path: `/v1/blocks/${username}` },
    unblock: { method: "DELETE", path: `/v1/blocks/${username}` },
    removeContact: { method: "DELETE", path: `/v1/contacts/${twins.pick("con", target)}` },
    archive: post("/v1/archives", spare % 2 ? { conversation_id } : { attachment_ids: [file] }),
    typing: post(`/v1/conversations/${conversation_id}/typing`, {}),
    createGroup: post("/v1/groups", {
      name: text,
      history: isPrivate ? "all" : "joined",
      members: [username],
    }),
    leaveGroup: { method: "DELETE", path: `/v1/groups/${group}` },
    invite: post(`/v1/groups/${group}/members`, { username }),
  };
  const answer = kind === "addContact" ? await addContact(twins, name) : await twins.ask(requests[kind]);
  return answer?.startsWith("2") ?? false;
}

/**
 * Adding a contact again reveals whether the other has and had them since, so Bob does so only if that is equal on
 * both servers.
 */
async function addContact(twins: Twins, name: string): Promise<Answer | undefined> {
  const [plain, hidden] = await Promise.all([twins.plain.contactOf(name), twins.hidden.contactOf(name)]);
  if (plain?.conversation_id !== hidden?.conversation_id) return undefined;
  const body = { username: twins.plain.names.get(name)!, phone_number: "+15550100" };
  return twins.ask({ method: "POST", path: "/v1/contacts", body });
}

const get = (path: string): Request => ({ method: "GET", path });

/** Reads Bob's lists after each step, and some of the things he has met. */
export async function look(twins: Twins, { target, spare }: Act): Promise<void> {
  const message = twins.pick("msg", target);
  const file = twins.pick("att", spare);
  const conversation = twins.pick("cnv", target);
  for (const path of [
    ...["/v1/me", "/v1/contacts", "/v1/conversations", "/v1/groups", "/v1/blocks", "/v1/events?limit=12"],
    "/v1/attachments?include=sender,unscanned,image",
    `/v1/messages?conversation_id=${conversation}`,
    `/v1/messages?q=from&limit=${1 + (spare % 4)}`,
    ...[`/v1/messages/${message}`, `/v1/attachments/${file}`, `/v1/conversations/${conversation}`],
    ...[`/v1/messages/${message}/readers`, `/v1/groups/${twins.pick("grp", target)}/members`],
  ])
    await twins.ask(get(path));
  for (const number of [target, spare]) await openLink(twins, pick(twins.links, number), number);
}

async function openLink(twins: Twins, path: string | undefined, number: number): Promise<void> {
  if (path === undefined) return;
  const method = number % 3 ? "GET" : "HEAD";
  const headers: Record<string, string> = number % 5 ? {} : { range: "bytes=1-3" };
  const width = number % 7 || path.startsWith("/archives") ? "" : "&width=320";
  await twins.ask({ method, path: path + width, headers, isOpen: true });
}

/** Reads everything that Bob has ever met, in every way. */
export async function lookAtAll(twins: Twins): Promise<void> {
  const { known, links } = twins;
  const all = (kind: string) => known.get(kind) ?? [];
  for (const path of [
    ...["/v1/contacts?active=true", "/v1/contacts?active=false", "/v1/conversations?unread=true"],
    ...["/v1/conversations?archived=true", "/v1/attachments?q=file", "/v1/attachments?limit=100"],
    ...["/v1/events?limit=100", "/v1/messages?q=edited", "/v1/uploads", "/v1/contacts?q=a"],
    ...all("con").map((id) => `/v1/contacts/${id}`),
    ...all("msg").flatMap((id) => [`/v1/messages/${id}?include=image`, `/v1/messages/${id}/readers`]),
    ...all("att").map((id) => `/v1/attachments/${id}`),
    ...all("att").map((id) => `/files/${id}/file`),
    ...all("grp").flatMap((id) => [`/v1/groups/${id}`, `/v1/groups/${id}/members`]),
    ...all("cnv").flatMap((id) => [
      `/v1/conversations/${id}`,
      ...["/v1/messages", "/v1/attachments"].map((path) => `${path}?limit=100&conversation_id=${id}`),
      `/v1/messages?q=bob&conversation_id=${id}`,
    ]),
  ])
    await twins.ask(get(path));
  for (const link of links)
    for (const method of ["GET", "HEAD"]) await twins.ask({ method, path: link, isOpen: true });
}
