// Messages in a world of sharing-world.ts.
import assert from "node:assert/strict";
import { systemData } from "./group-operations.ts";
import { checkFile, enterFile, newFile } from "./sharing-files.ts";
import { toShownUser } from "./sharing-profiles.ts";
import { reactionsFor } from "./sharing-reactions.ts";
import type { Content, Conversation, Message, User } from "./sharing-types.ts";
import { oneOf, type Page, type Shown, UNKNOWN, type World } from "./sharing-world.ts";

export async function sendMessage(
  world: World,
  user: User,
  conversation: Conversation | undefined,
  spare: number,
): Promise<void> {
  const content = chooseContent(world, user, conversation, spare);
  const fields = toFields(conversation?.id ?? `cnv_${UNKNOWN}`, content);
  const { replyTo } = content;
  const refused = (status: number, code: string) =>
    world.refused(user, "POST", "/v1/messages", status, code, fields);
  if (!conversation?.seats.has(user)) {
    await refused(404, "conversation_not_found");
  } else if (replyTo && !(replyTo.conversation === conversation && replyTo.seenBy.has(user))) {
    assert.equal((await refused(404, "message_not_found")).param, "reply_to_id");
  } else if (content.mentions.some((mentioned) => !mayMention(world, conversation, mentioned))) {
    assert.equal((await refused(400, "invalid_parameter")).param, "mentions");
  } else {
    await send(world, user, conversation, content, fields, spare);
  }
}

/** A contact who has left still counts, so that nobody notices. */
function mayMention({ model }: World, { seats, left, group }: Conversation, user: User): boolean {
  return seats.has(user) || (!group && left.has(user) && model.users.get(user.name) === user);
}

async function send(
  world: World,
  user: User,
  conversation: Conversation,
  content: Content,
  fields: object,
  spare: number,
): Promise<void> {
  const { model, clock, repeatable } = world;
  const message = model.send(user, conversation, content, clock.now);
  const hasKey = spare % 6 === 0;
  const headers: Record<string, string> = hasKey
    ? { "idempotency-key": `${user.id}-${model.messages.length}` }
    : {};
  const shown = (await world.ask(user, "POST", "/v1/messages", 201, fields, headers)) as Shown;
  const before = conversation.messages.at(-2)?.id ?? "";
  message.id = shown.id as string;
  assert.ok(message.id > before, "ids rise");
  for (const [i, file] of message.files.entries()) enterFile(user, file, (shown.attachments as Shown[])[i]!);
  model.publish(message, "message.created", message.id);
  for (const file of message.files) model.publish(message, "attachment.created", file.id);
  checkMessage(world, user, message, shown);
  if (!hasKey && content.clientId === null) return;
  const again = hasKey ? 201 : 200;
  repeatable.set(message, { headers, fields, again });
  assert.deepEqual(await world.ask(user, "POST", "/v1/messages", again, fields, headers), shown);
}

/** A retry makes no second message and does not restore a deleted one. */
export async function sendAgain(world: World, user: User, target: number): Promise<void> {
  const own = [...world.repeatable].filter(([{ sender }]) => sender === user);
  const [message, sent] = oneOf(own, target) ?? [];
  if (!message) return;
  const { headers, fields, again } = sent!;
  const isSeen = message.seenBy.has(user);
  const status = isSeen ? again : 404;
  const shown = (await world.ask(user, "POST", "/v1/messages", status, fields, headers)) as Shown;
  if (isSeen) checkMessage(world, user, message, shown);
  else assert.equal(shown.code, "message_not_found");
}

function chooseContent(
  world: World,
  user: User,
  conversation: Conversation | undefined,
  spare: number,
): Content {
  const { model } = world;
  const nth = model.messages.length;
  const seen = conversation?.messages.filter(({ seenBy }) => seenBy.has(user)) ?? [];
  const files = Array.from({ length: spare % 4 === 0 ? 1 + (spare % 3) : 0 }, (_, i) =>
    newFile(world, i, spare),
  );
  const members = [...(conversation?.seats.keys() ?? [])];
  const isOnlyFile = files.length > 0 && spare % 16 === 0;
  return {
    text: isOnlyFile || spare % 5 === 0 ? null : `message ${nth}\n${"words ".repeat(spare % 40)}`.trim(),
    data: isOnlyFile ? null : spare % 5 === 0 || spare % 7 === 0 ? { nth, list: ["é", null] } : null,
    mentions: spare % 9 === 0 ? [oneOf(spare % 2 ? members : model.everyone, spare) ?? user] : [],
    replyTo:
      (spare % 8 === 3 ? oneOf(seen, spare) : spare % 16 === 1 ? oneOf(model.messages, spare) : null) ?? null,
    // Different users use the same ones.
    clientId: spare % 4 === 1 || spare % 12 === 0 ? `${nth}` : null,
    files,
  };
}

function toFields(conversationId: string, content: Content): object {
  const { text, data, mentions, replyTo, clientId, files } = content;
  const ids = mentions.map(({ id }) => id);
  if (files.length === 0) {
    return {
      ...{ conversation_id: conversationId, text, data },
      ...(ids.length > 0 ? { mentions: ids } : {}),
      ...(replyTo ? { reply_to_id: replyTo.id } : {}),
      ...(clientId === null ? {} : { client_id: clientId }),
    };
  }
  const form = new FormData();
  form.set("conversation_id", conversationId);
  if (text !== null) form.set("text", text);
  if (data !== null) form.set("data", JSON.stringify(data));
  for (const id of ids) form.append("mentions", id);
  if (replyTo) form.set("reply_to_id", replyTo.id);
  if (clientId !== null) form.set("client_id", clientId);
  for (const { filename, content } of files) form.append("file", new File([content], filename));
  return form;
}

export async function editMessage(
  world: World,
  user: User,
  message: Message | undefined,
  spare: number,
): Promise<void> {
  const path = `/v1/messages/${message?.id ?? `msg_${UNKNOWN}`}`;
  const body: { text?: string | null; data?: object | null } = [
    { text: `edited ${spare % 3}` },
    { text: null },
    { data: { edited: spare % 3 } },
    { data: null },
    { text: `edited ${spare % 3}`, data: null },
    { text: message?.text ?? "x" },
  ][spare % 6]!;
  if (!message?.seenBy.has(user)) {
    await world.refused(user, "PUT", path, 404, "message_not_found", body);
    return;
  }
  if (message.sender !== user || message.type !== "text") {
    await world.refused(user, "PUT", path, 403, "not_sender", body);
    return;
  }
  const left = { text: message.text, data: message.data, ...body };
  if (left.text === null && left.data === null && message.files.length === 0) {
    await world.refused(user, "PUT", path, 400, "missing_parameter", body);
    return;
  }
  world.model.edit(message, body.text, body.data, world.clock.now);
  checkMessage(world, user, message, (await world.ask(user, "PUT", path, 200, body)) as Shown);
}

export async function deleteMessage(world: World, user: User, message: Message | undefined): Promise<void> {
  const path = `/v1/messages/${message?.id ?? `msg_${UNKNOWN}`}`;
  if (!message?.seenBy.has(user)) {
    await world.refused(user, "DELETE", path, 404, "message_not_found");
  } else if (message.sender !== user || message.type !== "text") {
    await world.refused(user, "DELETE", path, 403, "not_sender");
  } else {
    world.model.deleteMessage(message);
    await world.ask(user, "DELETE", path, 204);
  }
}

/** Deletes a message for this user only. */
export async function hideMessage(world: World, user: User, message: Message | undefined): Promise<void> {
  const path = `/v1/messages/${message?.id ?? `msg_${UNKNOWN}`}?for=me`;
  if (!message?.seenBy.has(user)) {
    await world.refused(user, "DELETE", path, 404, "message_not_found");
    return;
  }
  world.model.hide(user, message);
  await world.ask(user, "DELETE", path, 204);
}

export async function readMessage(world: World, user: User, message: Message | undefined): Promise<void> {
  const path = `/v1/messages/${message?.id ?? `msg_${UNKNOWN}`}`;
  if (!message?.seenBy.has(user)) {
    await world.refused(user, "GET", path, 404, "message_not_found");
    await world.refused(user, "GET", `${path}/readers`, 404, "message_not_found");
    return;
  }
  checkMessage(world, user, message, (await world.ask(user, "GET", path, 200)) as Shown);
  const { data } = (await world.ask(user, "GET", `${path}/readers?limit=100`, 200)) as Page;
  assert.deepEqual(
    data.map(({ username }) => username),
    readersOf(world, user, message).map(({ name }) => name),
    `readers of ${message.id} for ${user.name}`,
  );
}

/** Returns the users who have read the message, as far as the user may know, newest first. */
function readersOf({ model }: World, user: User, { conversation, sender, id }: Message): User[] {
  const { seats, messages, group } = conversation;
  const place = messages.findIndex((each) => each.id === id);
  const contact = model.contactOf(user, conversation);
  const peer = contact && model.openPeer(contact)?.owner;
  const readers = [...seats].filter(([reader, { disclosed, since }]) => {
    const mayKnow = reader === user || reader === peer || (group && since <= place);
    return reader !== sender && mayKnow && disclosed && messages.indexOf(disclosed) >= place;
  });
  return readers.map(([reader]) => reader).sort((a, b) => (a.id < b.id ? 1 : -1));
}

/** Small pages, walked in both directions. */
const LIMIT = 7;

export async function checkMessages(world: World, user: User, conversation: Conversation): Promise<void> {
  const path = `/v1/messages?limit=${LIMIT}&conversation_id=${conversation.id}`;
  if (!conversation.seats.has(user)) {
    await world.refused(user, "GET", path, 404, "conversation_not_found");
    return;
  }
  const wanted = world.model.messagesSeenBy(user, conversation);
  const down = await walk(world, user, path, "starting_after");
  assert.deepEqual(
    down.map(({ id }) => id),
    wanted.map(({ id }) => id),
    `messages that ${user.name} sees`,
  );
  for (const [i, message] of wanted.entries()) checkMessage(world, user, message, down[i]!);
  const up = await walk(world, user, path, "ending_before");
  assert.deepEqual(up, down);
}

/** Returns all messages that the user sees of the conversation. */
export function listMessages(world: World, user: User, conversation: string): Promise<Shown[]> {
  return walk(world, user, `/v1/messages?limit=100&conversation_id=${conversation}`, "starting_after", 100);
}

/** Returns all pages, newest first. */
export async function walk(
  world: World,
  user: User,
  path: string,
  cursor: string,
  limit = LIMIT,
): Promise<Shown[]> {
  const found: Shown[] = [];
  const isUp = cursor === "ending_before";
  for (let at = isUp ? "msg_00000000000000000000000000" : ""; ; ) {
    const page = (await world.ask(user, "GET", (at && `${path}&${cursor}=${at}`) || path, 200)) as Page;
    if (isUp) found.unshift(...page.data);
    else found.push(...page.data);
    if (!page.has_more) return found;
    assert.equal(page.data.length, limit);
    at = page.data.at(isUp ? 0 : -1)!.id as string;
  }
}

export function checkMessage(world: World, user: User, message: Message, shown: Shown): void {
  const { attachments, ...rest } = shown;
  const { sender } = message;
  const { model } = world;
  const isKnown = (user: User) => model.users.get(user.name) === user;
  assert.deepEqual(rest, {
    id: message.id,
    conversation_id: message.conversation.id,
    type: message.type,
    sender: isKnown(sender) ? toShownUser(sender) : null,
    text: message.text,
    data: systemData(world, message),
    mentions: message.mentions.filter(isKnown).map(({ id }) => id),
    reply_to_id: message.replyTo?.id ?? null,
    client_id: message.clientId,
    reactions: reactionsFor(world, user, message),
    created_at: Math.floor(message.createdAt / 1000),
    edited_at: message.editedAt === null ? null : Math.floor(message.editedAt / 1000),
  });
  const files = attachments as Shown[];
  assert.equal(files.length, message.files.length);
  for (const [i, file] of message.files.entries()) checkFile(user, file, files[i]!);
}
