// Messages that a user deletes only for themselves (`?for=me`).
import assert from "node:assert/strict";
import { test } from "node:test";
import { attachments, call, faulty, json, type Message, message, messages, problem } from "../client.ts";
import { newMessage, PATH, parts, post, send } from "../send.ts";
import { needsSecond, second, target } from "../target.ts";
import { add, pair, part, theirs } from "../two-users.ts";
import { upload } from "../upload.ts";

const skip = needsSecond;

const hide = ({ id }: Pick<Message, "id">, token = target.token) =>
  call("DELETE", `${PATH}/${id}?for=me`, { token });

async function hidden(made: Pick<Message, "id">, token?: string): Promise<void> {
  const reply = await hide(made, token);
  assert.deepEqual([reply.status, reply.text], [204, ""]);
}

async function texts(conversation: string, token: string): Promise<(string | null)[]> {
  const path = `${PATH}?conversation_id=${conversation}&limit=100`;
  return messages(await call("GET", path, { token })).data.map(({ text }) => text);
}

interface Conversation {
  unread_count: number;
  last_message: Message | null;
}

const conversationOf = async (id: string, token: string) =>
  (await call("GET", `/v1/conversations/${id}`, { token })).json as Conversation;

test("a message deleted for oneself is gone for that user only", { skip }, async () => {
  const conversation_id = await pair();
  const [first, last] = [
    await newMessage({ conversation_id, text: "first" }),
    await newMessage({ conversation_id, text: "last" }),
  ];
  await hidden(last, second());
  problem(await hide(last, second()), 404, "message_not_found");
  problem(await call("GET", `${PATH}/${last.id}`, theirs()), 404, "message_not_found");
  problem(
    await send({ conversation_id, text: "a", reply_to_id: last.id }, theirs()),
    404,
    "message_not_found",
  );
  assert.deepEqual(await texts(conversation_id, second()), ["first"]);
  const theirView = await conversationOf(conversation_id, second());
  assert.deepEqual([theirView.unread_count, theirView.last_message?.id], [1, first.id]);
  assert.deepEqual(await texts(conversation_id, target.token), ["last", "first"]);
  assert.deepEqual(message(await call("GET", `${PATH}/${last.id}`)), last);
});

test("an own message can no longer be changed, and its files free storage", { skip }, async () => {
  const conversation_id = await pair();
  const used = async () =>
    ((await call("GET", "/v1/me", theirs())).json as { storage: { used: number } }).storage.used;
  const before = await used();
  const form = parts(["conversation_id", conversation_id], new File(["12345"], "a.txt"));
  const made = message(await post(form, theirs()), 201);
  const [file] = made.attachments;
  const path = `${PATH}/${made.id}`;
  const link = file!.file_url;
  assert.equal((await call("GET", link, { token: null })).status, 200);
  assert.equal(await used(), before + 5);
  await hidden(made, second());
  assert.equal(await used(), before);
  assert.equal((await call("GET", link, { token: null })).status, 404, "although another member sees it");
  problem(await call("PUT", path, { ...json({ text: "a" }), ...theirs() }), 404, "message_not_found");
  problem(await call("DELETE", path, theirs()), 404, "message_not_found");
  problem(await upload({ query: `?message_id=${made.id}`, ...theirs() }), 404, "message_not_found");
  problem(await call("GET", `/v1/attachments/${file!.id}`, theirs()), 404, "attachment_not_found");
  const list = `/v1/attachments?conversation_id=${conversation_id}`;
  assert.deepEqual(attachments(await call("GET", list, theirs())).data, []);
  assert.equal(attachments(await call("GET", list)).data.length, 1);
  await hidden(made);
  assert.equal(await used(), before);
});

test("it is deleted for all if the contact has not joined yet", { skip }, async () => {
  await part();
  const { conversation_id } = await add(target.token, second());
  await hidden(await newMessage({ conversation_id, text: "taken back" }));
  await newMessage({ conversation_id, text: "kept" });
  await add(second(), target.token);
  assert.deepEqual(await texts(conversation_id, second()), ["kept"]);
});

test("another value, version or field is refused", async () => {
  const made = await newMessage();
  for (const value of ["", "all", "ME"])
    faulty(await call("DELETE", `${PATH}/${made.id}?for=${value}`), "for", "invalid_parameter");
  const headers = { "if-match": '"7"' };
  problem(await call("DELETE", `${PATH}/${made.id}?for=me`, { headers }), 412, "precondition_failed");
  assert.equal((await call("GET", `${PATH}/${made.id}`)).status, 200);
  await hidden(made);
  problem(await call("GET", `${PATH}/${made.id}`), 404, "message_not_found");
});
