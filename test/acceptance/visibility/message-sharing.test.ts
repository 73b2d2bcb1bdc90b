// Messages between two users: who sees which, and what others can do with them.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  call,
  faulty,
  form,
  json,
  type Message,
  me,
  message,
  messages,
  newContact,
  problem,
  type Reply,
  unknownLike,
} from "../client.ts";
import { newMessage, PATH, parts, post, send } from "../send.ts";
import { needsSecond, second, target } from "../target.ts";
import { add, pair, part, theirs } from "../two-users.ts";
import { newAttachment, upload } from "../upload.ts";

const skip = needsSecond;

/** Returns the texts that the token's user sees, oldest first. */
async function texts(conversation: string, token: string): Promise<(string | null)[]> {
  const path = `${PATH}?conversation_id=${conversation}&limit=100`;
  const { data } = messages(await call("GET", path, { token }));
  for (const { id } of data) assert.equal((await call("GET", `${PATH}/${id}`, { token })).status, 200);
  return data.map(({ text }) => text).reverse();
}

/** Returns the message as the token's user sees it; undefined if that user does not. */
async function seen({ id }: Pick<Message, "id">, token: string): Promise<Message | undefined> {
  const reply = await call("GET", `${PATH}/${id}`, { token });
  if (reply.status === 200) return message(reply);
  problem(reply, 404, "message_not_found");
  return undefined;
}

/** Asserts that another user's id has the same answer as an unknown id. */
async function alike(foreign: string, request: (id: string) => Promise<Reply>): Promise<void> {
  const answers: unknown[] = [];
  for (const id of [foreign, unknownLike(foreign), "nonsense"]) {
    const { request_id, ...body } = problem(await request(id), 404);
    assert.ok(request_id);
    answers.push(body);
  }
  for (const answer of answers) assert.deepEqual(answer, answers[0]);
}

/** Each user has a different link. */
function withoutLinks({ attachments, ...message }: Message) {
  return { ...message, attachments: attachments.map(({ file_url: _, ...attachment }) => attachment) };
}

test("both members see all messages in one order and with all fields", { skip }, async () => {
  const conversation_id = await pair();
  const [mine, other] = [await me(), await me(second())];
  const question = await newMessage({ conversation_id, text: "question", mentions: [other.id, mine.id] });
  assert.deepEqual(question.mentions, [other.id, mine.id]);
  const answer = message(
    await post(
      parts(["conversation_id", conversation_id], ["reply_to_id", question.id], new File(["a"], "a.txt")),
      theirs(),
    ),
    201,
  );
  assert.equal(answer.sender?.username, other.username);
  assert.deepEqual(withoutLinks((await seen(answer, target.token))!), withoutLinks(answer));
  assert.deepEqual(await seen(question, second()), question);
  assert.deepEqual(await texts(conversation_id, target.token), ["question", null]);
  assert.deepEqual(await texts(conversation_id, second()), ["question", null]);
});

test("only the sender edits and deletes: 403 for a member", { skip }, async () => {
  const conversation_id = await pair();
  const made = await newMessage({ conversation_id });
  const path = `${PATH}/${made.id}`;
  problem(await call("PUT", path, { ...json({ text: "no" }), ...theirs() }), 403, "not_sender");
  problem(await call("DELETE", path, theirs()), 403, "not_sender");
  problem(await upload({ query: `?message_id=${made.id}`, ...theirs() }), 404, "message_not_found");
  assert.deepEqual(await seen(made, second()), made);
  const edited = message(await call("PUT", path, json({ text: "yes" })));
  assert.deepEqual(await seen(made, second()), edited);
  await call("DELETE", path);
  assert.equal(await seen(made, second()), undefined);
});

test("a stranger cannot see messages and conversations of others", { skip }, async () => {
  await part();
  const { conversation_id } = await newContact();
  const made = await newMessage({ conversation_id });
  const token = second();
  const list = (id: string) => call("GET", `${PATH}?conversation_id=${id}`, { token });
  await alike(conversation_id, list);
  await alike(conversation_id, (id) => send({ conversation_id: id, text: "a" }, { token }));
  for (const method of ["GET", "DELETE"])
    await alike(made.id, (id) => call(method, `${PATH}/${id}`, { token }));
  await alike(made.id, (id) => call("PUT", `${PATH}/${id}`, { ...json({ text: "a" }), token }));
  await alike(made.id, (id) => send({ text: "a", reply_to_id: id }, { token }));
  await alike(made.id, (id) => upload({ query: `?message_id=${id}`, token }));
  const { id } = await me();
  faulty(await send({ text: "a", mentions: [id] }, { token }), "mentions", "invalid_parameter");
  assert.deepEqual(await seen(made, target.token), made);
});

test("messages to a user who has not added the sender wait until they do", { skip }, async () => {
  await part();
  const { conversation_id } = await add(target.token, second());
  const waiting = await newMessage({ conversation_id, text: "waiting" });
  assert.equal(await seen(waiting, second()), undefined);
  problem(await call("GET", `${PATH}?conversation_id=${conversation_id}`, theirs()), 404);
  await add(second(), target.token);
  assert.deepEqual(await texts(conversation_id, second()), ["waiting"]);
  assert.deepEqual(await seen(waiting, second()), waiting);
});

test("messages of a blocked user never arrive, and the sender cannot tell", { skip }, async () => {
  await part();
  const { conversation_id } = await add(target.token, second());
  const contact = await add(second(), target.token);
  const before = await newMessage({ conversation_id, text: "before" });
  const block = `/v1/contacts/${contact.id}/block`;
  await call("PUT", block, theirs());
  const during = await newMessage({ conversation_id, text: "during" });
  const file = await newAttachment({ query: `?conversation_id=${conversation_id}` });
  await newMessage({ conversation_id, text: "theirs" }, theirs());
  await call("DELETE", block, theirs());
  await newMessage({ conversation_id, text: "after" });
  assert.deepEqual(await texts(conversation_id, second()), ["before", "theirs", "after"]);
  assert.deepEqual(await texts(conversation_id, target.token), ["before", "during", null, "theirs", "after"]);
  assert.equal(await seen(during, second()), undefined);
  problem(await call("GET", `/v1/attachments/${file.id}`, theirs()), 404, "attachment_not_found");
  const reply = await send({ conversation_id, text: "a", reply_to_id: during.id }, theirs());
  problem(reply, 404, "message_not_found");
  const around = await call(
    "GET",
    `${PATH}?conversation_id=${conversation_id}&around=${during.id}`,
    theirs(),
  );
  assert.deepEqual(
    messages(around).data.map(({ text }) => text),
    ["after", "theirs", "before"],
  );
  assert.deepEqual(await seen(before, second()), before);
});

test("an edit or a late file by a blocked user withdraws the message", { skip }, async () => {
  await part();
  const { conversation_id } = await add(target.token, second());
  const contact = await add(second(), target.token);
  const [edited, extended, kept] = [
    await newMessage({ conversation_id, text: "edited" }),
    await newMessage({ conversation_id, text: "extended" }),
    await newMessage({ conversation_id, text: "kept" }),
  ];
  await call("PUT", `/v1/contacts/${contact.id}/block`, theirs());
  await call("PUT", `${PATH}/${edited.id}`, json({ text: "new words" }));
  await newAttachment({ query: `?message_id=${extended.id}` });
  await call("PUT", `${PATH}/${kept.id}`, json({ text: "kept" }));
  assert.deepEqual(await texts(conversation_id, second()), ["kept"]);
  await call("DELETE", `/v1/contacts/${contact.id}/block`, theirs());
  assert.deepEqual(await texts(conversation_id, second()), ["kept"]);
  await call("DELETE", `${PATH}/${kept.id}`);
  assert.deepEqual(await texts(conversation_id, second()), []);
});

test("a user who leaves sees nothing, even after rejoining; the other keeps all", { skip }, async () => {
  await part();
  const { conversation_id } = await add(target.token, second());
  const contact = await add(second(), target.token);
  const [mine, their] = [
    await newMessage({ conversation_id, text: "mine" }),
    await newMessage({ conversation_id, text: "theirs" }, theirs()),
  ];
  await call("DELETE", `/v1/contacts/${contact.id}`, theirs());
  for (const each of [mine, their]) assert.equal(await seen(each, second()), undefined);
  problem(await send({ conversation_id, text: "a" }, theirs()), 404, "conversation_not_found");
  const missed = await newMessage({ conversation_id, text: "missed" });
  await add(second(), target.token);
  await newMessage({ conversation_id, text: "again" });
  assert.deepEqual(await texts(conversation_id, second()), ["again"]);
  assert.equal(await seen(missed, second()), undefined);
  for (const method of ["PUT", "DELETE"])
    problem(
      await call(method, `${PATH}/${their.id}`, { ...form({}), ...theirs() }),
      404,
      "message_not_found",
    );
  problem(await upload({ query: `?message_id=${their.id}`, ...theirs() }), 404, "message_not_found");
  assert.deepEqual(await texts(conversation_id, target.token), ["mine", "theirs", "missed", "again"]);
});

test("an idempotency key of one user reveals nothing to another", { skip }, async () => {
  const conversation_id = await pair();
  const headers = { "idempotency-key": crypto.randomUUID() };
  const mine = await newMessage({ conversation_id }, { headers });
  const their = await newMessage({ conversation_id }, { headers, ...theirs() });
  assert.notEqual(mine.id, their.id);
  assert.deepEqual(await texts(conversation_id, target.token), ["hello", "hello"]);
});
