// Files in a world of sharing-world.ts.
import assert from "node:assert/strict";
import { sql } from "../../../src/db/sql.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { seesFile } from "./sharing-model.ts";
import type { Content, Conversation, Message, SentFile, User } from "./sharing-types.ts";
import { type Page, type Shown, UNKNOWN, type World } from "./sharing-world.ts";

/** Most are small enough for the database, some go to the store. */
export function newFile({ model }: World, nth: number, spare: number): Content["files"][number] {
  const name = `f ${model.files.length + nth}`;
  return { filename: name, content: `${name} `.padEnd(spare % 8 === 7 ? 40_000 : (spare % 100) * 20, "x") };
}

export async function upload(
  world: World,
  user: User,
  conversation: Conversation | undefined,
  spare: number,
): Promise<void> {
  const field = spare % 10 === 0 ? undefined : (conversation?.id ?? `cnv_${UNKNOWN}`);
  const to = field === undefined ? user.notes : conversation;
  const form = new FormData();
  if (field !== undefined) form.set("conversation_id", field);
  const file = newFile(world, 0, spare);
  form.set("file", new File([file.content], file.filename));
  if (!to?.seats.has(user)) {
    await world.refused(user, "POST", "/v1/attachments", 404, "conversation_not_found", form);
    return;
  }
  const content = { text: null, data: null, mentions: [], replyTo: null, clientId: null, files: [file] };
  const message = world.model.send(user, to, content, world.clock.now);
  const [sent] = message.files;
  const shown = (await world.ask(user, "POST", "/v1/attachments", 201, form)) as Shown;
  message.id = shown.message_id as string;
  enterFile(user, sent!, shown);
  world.model.publish(message, "message.created", message.id);
  world.model.publish(message, "attachment.created", sent!.id);
}

/** Records what the server returned for a file. */
export function enterFile(user: User, file: SentFile, shown: Shown): void {
  file.id = shown.id as string;
  checkFile(user, file, shown);
}

/** Only to one's own message, in a conversation one is in. */
export async function uploadToMessage(
  world: World,
  user: User,
  message: Message | undefined,
  spare: number,
): Promise<void> {
  const form = new FormData();
  form.set("message_id", message?.id ?? `msg_${UNKNOWN}`);
  const file = newFile(world, 0, spare);
  form.set("file", new File([file.content], file.filename));
  if (message?.sender !== user || message.type !== "text" || !message.seenBy.has(user)) {
    await world.refused(user, "POST", "/v1/attachments", 404, "message_not_found", form);
    return;
  }
  const sent = world.model.addFile(message, file, world.clock.now);
  enterFile(user, sent, (await world.ask(user, "POST", "/v1/attachments", 201, form)) as Shown);
  world.model.publish(message, "attachment.created", sent.id);
}

export async function changeFile(
  world: World,
  user: User,
  file: SentFile | undefined,
  kind: "rename" | "deleteFile",
  spare: number,
): Promise<void> {
  const path = `/v1/attachments/${file?.id ?? `att_${UNKNOWN}`}`;
  const filename = `renamed ${spare % 3}`;
  const [method, body] = kind === "rename" ? (["PUT", { filename }] as const) : (["DELETE"] as const);
  if (!seesFile(user, file)) {
    await world.refused(user, method, path, 404, "attachment_not_found", body);
  } else if (file.message.sender !== user) {
    await world.refused(user, method, path, 403, "not_uploader", body);
  } else if (kind === "rename") {
    world.model.rename(file, filename);
    checkFile(user, file, (await world.ask(user, method, path, 200, body)) as Shown);
  } else {
    world.model.deleteFile(file);
    await world.ask(user, method, path, 204);
  }
}

export async function readFile(
  world: World,
  user: User,
  file: SentFile | undefined,
  kind: "readFile" | "download",
): Promise<void> {
  const id = file?.id ?? `att_${UNKNOWN}`;
  const sees = seesFile(user, file);
  if (kind === "download") {
    const address = `${world.server.url}/files/${id}/${encodeURIComponent(file?.filename ?? "f")}`;
    user.seenAt.push(world.clock.now);
    await checkBytes(address, sees ? file : undefined, { authorization: `Bearer ${user.tokens[0]}` });
  } else if (sees) {
    checkFile(user, file, (await world.ask(user, "GET", `/v1/attachments/${id}`, 200)) as Shown);
  } else {
    await world.refused(user, "GET", `/v1/attachments/${id}`, 404, "attachment_not_found");
  }
}

/** Checks that anyone with the link can read exactly while its user sees the file. */
export async function openLinks(_: World, file: SentFile | undefined): Promise<void> {
  for (const [user, link] of file?.links ?? [])
    await checkBytes(link, seesFile(user, file) ? file : undefined, {});
}

/** Of one conversation, or all that the user sees. */
export async function checkFiles(world: World, user: User, conversation?: Conversation): Promise<void> {
  const path = `/v1/attachments?limit=100${conversation ? `&conversation_id=${conversation.id}` : ""}`;
  if (conversation && !conversation.seats.has(user)) {
    await world.refused(user, "GET", path, 404, "conversation_not_found");
    return;
  }
  const { db } = world.server.app.core;
  const isListed = async () =>
    (await db.get(sql`SELECT 1 AS one FROM joining WHERE user_id = ${user.id}`)) === undefined;
  assert.ok(await eventually(isListed), "files of before are listed in steps");
  const { data, has_more } = (await world.ask(user, "GET", path, 200)) as Page;
  const seen = world.model.filesSeenBy(user);
  const wanted = conversation ? seen.filter(({ message }) => message.conversation === conversation) : seen;
  assert.deepEqual(
    data.map(({ id }) => id),
    wanted.map(({ id }) => id),
    `files that ${user.name} sees`,
  );
  assert.equal(has_more, false);
  for (const [i, file] of wanted.entries()) checkFile(user, file, data[i]!);
}

export async function checkStorage(world: World, user: User): Promise<void> {
  const { db } = world.server.app.core;
  const isErased = async () =>
    (await db.get(sql`SELECT 1 AS one FROM departing WHERE user_id = ${user.id}`)) === undefined;
  assert.ok(await eventually(isErased), "files count until they are erased");
  const me = (await world.ask(user, "GET", "/v1/me", 200)) as { storage: { used: number } };
  assert.equal(me.storage.used, world.model.storageUsed(user), `what the files of ${user.name} take`);
}

export function checkFile(user: User, file: SentFile, shown: Shown): void {
  file.links.set(user, shown.file_url as string);
  const { file_url, file_type, ...rest } = shown;
  assert.deepEqual(rest, {
    id: file.id,
    message_id: file.message.id,
    filename: file.filename,
    file_size: file.content.length,
    created_at: Math.floor(file.createdAt / 1000),
  });
  assert.equal(file_type, "application/octet-stream");
  const { pathname, searchParams } = new URL(file_url as string);
  assert.equal(searchParams.get("user"), user.id);
  assert.equal(decodeURIComponent(pathname), `/files/${file.id}/${file.filename}`);
}

/** Checks the bytes at a URL; undefined: it must be gone. A URL with a former name redirects to the current one. */
async function checkBytes(address: string, file: SentFile | undefined, headers: Record<string, string>) {
  const answer = await fetch(address, { headers, redirect: "manual" });
  const text = await answer.text();
  if (!file) assert.equal(answer.status, 404, text);
  else if (new URL(address).pathname.endsWith(`/${encodeURIComponent(file.filename)}`)) {
    assert.equal(answer.status, 200, text);
    assert.equal(text, file.content);
  } else {
    assert.equal(answer.status, 308);
    const to = decodeURIComponent(new URL(answer.headers.get("location")!, address).pathname);
    assert.equal(to, `/files/${file.id}/${file.filename}`);
  }
}
