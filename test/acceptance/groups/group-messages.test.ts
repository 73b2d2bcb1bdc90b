// Messages between members of a group: texts, files, mentions and replies.
import assert from "node:assert/strict";
import { test } from "node:test";
import { attachments, call, faulty, fresh, json, me, message, messages, problem } from "../client.ts";
import { invite, join, leave, listMembers, newGroup, PATH } from "../in-groups.ts";
import { newMessage, parts, post, send } from "../send.ts";
import { needsSecond, second } from "../target.ts";
import { pair, theirs } from "../two-users.ts";

const skip = needsSecond;

/** Creates a group of both users, with messages from before the second one joined. */
async function shared(history: string) {
  await pair();
  const { username } = await me(second());
  const made = await newGroup({ history, members: [username] });
  const conversation_id = made.conversation_id!;
  const before = await newMessage({ conversation_id, text: "before" });
  await join(made.id);
  return { id: made.id, conversation_id, before, username };
}

const seen = async (conversation: string, options = {}) =>
  messages(await call("GET", `/v1/messages?conversation_id=${conversation}&limit=100`, options)).data;
const texts = async (conversation: string, options = {}) =>
  (await seen(conversation, options)).map(({ type, text }) => text ?? type).reverse();

test("history decides whether a new member sees earlier messages", { skip }, async () => {
  for (const [history, ...sees] of [["joined"], ["all", "joined", "before"]] as const) {
    const { id, conversation_id, before } = await shared(history);
    const path = `/v1/messages/${before.id}`;
    assert.deepEqual(await texts(conversation_id), ["joined", "before", "joined"]);
    assert.deepEqual(await texts(conversation_id, theirs()), [...sees, "joined"]);
    const read = await call("GET", path, theirs());
    if (history === "all") assert.deepEqual(message(read), before);
    else problem(read, 404, "message_not_found");
    // Everything from before counts as read.
    await newMessage({ conversation_id, text: "after" });
    const conversation = await call("GET", `/v1/conversations/${conversation_id}`, theirs());
    assert.equal((conversation.json as { unread_count: number }).unread_count, 1);
    const reply = await send({ conversation_id, text: "re", reply_to_id: before.id }, theirs());
    if (history === "all") message(reply, 201);
    else problem(reply, 404, "message_not_found");
    // A member who rejoins sees nothing from before, whatever the history.
    await leave(id, theirs());
    problem(await call("GET", path, theirs()), 404, "message_not_found");
    problem(await call("GET", `/v1/messages?conversation_id=${conversation_id}`, theirs()), 404);
    await invite(id, (await me(second())).username);
    await join(id);
    assert.deepEqual(await texts(conversation_id, theirs()), ["joined"]);
    problem(await call("GET", path, theirs()), 404, "message_not_found");
    await leave(id, theirs());
    await leave(id);
  }
});

test("messages and files reach all members; replies and mentions stay in the group", { skip }, async () => {
  const { id, conversation_id } = await shared("joined");
  const other = await me(second());
  const sent = await newMessage({ conversation_id, text: "hello", mentions: [other.id] });
  const reply = message(await send({ conversation_id, text: "re", reply_to_id: sent.id }, theirs()), 201);
  assert.equal(message(await call("GET", `/v1/messages/${reply.id}`)).reply_to_id, sent.id);
  const made = message(
    await post(parts(["conversation_id", conversation_id], new File(["map"], "map.txt"))),
    201,
  );
  const list = attachments(await call("GET", `/v1/attachments?conversation_id=${conversation_id}`, theirs()));
  assert.deepEqual(
    list.data.map((file) => file.id),
    made.attachments.map((file) => file.id),
  );
  const address = made.attachments[0]!.file_url;
  assert.equal((await call("GET", address, { token: null })).text, "map");
  problem(await call("PUT", `/v1/messages/${sent.id}`, { ...json({ text: "x" }), ...theirs() }), 403);
  const unread = await call("GET", `/v1/conversations/${conversation_id}`, theirs());
  const { kind, group_id, contact_id, contact_joined, unread_count } = unread.json as Record<string, unknown>;
  assert.deepEqual([kind, group_id, contact_id, contact_joined, unread_count], ["group", id, null, null, 1]);
  await leave(id, theirs());
  // A former member cannot be mentioned.
  faulty(await send({ conversation_id, text: "x", mentions: [other.id] }), "mentions");
  const nobody = `${other.id.slice(0, -4)}0000`;
  faulty(await send({ conversation_id, text: "x", mentions: [nobody] }), "mentions");
  problem(await send({ conversation_id, text: "x" }, theirs()), 404, "conversation_not_found");
  problem(await call("GET", `/v1/attachments/${made.attachments[0]!.id}`, theirs()), 404);
  await leave(id);
  problem(await call("GET", address, { token: null }), 404);
});

test("system messages record who did what and cannot be edited, deleted or extended", { skip }, async () => {
  const { id, conversation_id } = await shared("joined");
  const [own, other] = [await me(), await me(second())];
  const name = fresh("renamed");
  await call("PUT", `${PATH}/${id}`, json({ name }));
  const rows = await listMembers(id);
  const memberId = rows.find(({ user_id }) => user_id === other.id)!.id;
  await call("PUT", `${PATH}/${id}/members/${memberId}`, json({ role: "admin" }));
  await call("DELETE", `${PATH}/${id}/members/${memberId}`);
  const said = (await seen(conversation_id)).filter(({ type }) => type !== "text").reverse();
  const facts = said.map(({ type, sender, data, mentions, text }) => {
    const { user, ...rest } = (data ?? {}) as { user?: { id: string } };
    return [type, sender!.id, user?.id, rest, mentions, text];
  });
  assert.deepEqual(facts, [
    ["joined", own.id, undefined, {}, [], null],
    ["joined", other.id, undefined, {}, [], null],
    ["renamed", own.id, undefined, { name }, [], null],
    ["role", own.id, other.id, { role: "admin" }, [], null],
    ["removed", own.id, other.id, {}, [], null],
  ]);
  for (const { id: messageId } of said) {
    const path = `/v1/messages/${messageId}`;
    problem(await call("PUT", path, json({ text: "x" })), 403, "not_sender");
    problem(await call("DELETE", path), 403, "not_sender");
    const body = new FormData();
    body.append("file", new File(["x"], "x"));
    const upload = await call("POST", `/v1/attachments?message_id=${messageId}`, { body });
    problem(upload, 404, "message_not_found");
  }
  const conversation = await call("GET", `/v1/conversations/${conversation_id}`);
  const shown = conversation.json as { unread_count: number; last_message: { text: string } };
  assert.deepEqual([shown.unread_count, shown.last_message.text], [0, "before"]);
  await leave(id);
});

test("messages of a blocked member never reach the blocker", { skip }, async () => {
  const { id, conversation_id } = await shared("all");
  const { username } = await me(second());
  assert.equal((await call("PUT", `/v1/blocks/${encodeURIComponent(username)}`)).status, 204);
  const sent = await newMessage({ conversation_id, text: "unseen" }, theirs());
  problem(await call("GET", `/v1/messages/${sent.id}`), 404, "message_not_found");
  await newMessage({ conversation_id, text: "seen" });
  assert.deepEqual(await texts(conversation_id), ["joined", "before", "joined", "seen"]);
  assert.deepEqual((await texts(conversation_id, theirs())).slice(-2), ["unseen", "seen"]);
  await call("DELETE", `/v1/blocks/${encodeURIComponent(username)}`);
  assert.equal((await texts(conversation_id)).includes("unseen"), false);
  await leave(id, theirs());
  await leave(id);
});
