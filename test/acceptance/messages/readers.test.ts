// Who has read a message.
import assert from "node:assert/strict";
import { test } from "node:test";
import { call, faulty, json, me, unknownLike } from "../client.ts";
import { join, leave, listMembers, newGroup } from "../in-groups.ts";
import { newMessage, PATH } from "../send.ts";
import { needsSecond, second, target } from "../target.ts";
import { pair, theirs } from "../two-users.ts";

const skip = needsSecond;

interface Page {
  has_more: boolean;
  data: { id: string; username: string }[];
}

async function readers(id: string, token = target.token): Promise<string[]> {
  const reply = await call("GET", `${PATH}/${id}/readers`, { token });
  assert.equal(reply.status, 200, reply.text);
  const { has_more, data } = reply.json as Page;
  assert.equal(has_more, false);
  for (const reader of data)
    assert.deepEqual(Object.keys(reader).slice(0, 4), ["id", "username", "display_name", "avatar_url"]);
  return data.map(({ id }) => id);
}

async function mark(conversation: string, fields: object): Promise<void> {
  const reply = await call("PUT", `/v1/conversations/${conversation}/read`, { ...json(fields), ...theirs() });
  assert.equal(reply.status, 204, reply.text);
}

test("the readers of a message are those who disclosed it, without the sender", { skip }, async () => {
  const conversation_id = await pair();
  const { id } = await newMessage({ conversation_id });
  const other = await me(second());
  assert.deepEqual(await readers(id), []);
  await mark(conversation_id, { message_id: id, private: true });
  assert.deepEqual(await readers(id), []);
  await mark(conversation_id, { message_id: id });
  for (const token of [target.token, second()]) assert.deepEqual(await readers(id, token), [other.id]);
  const later = await newMessage({ conversation_id });
  assert.deepEqual(await readers(later.id), []);
});

test("members of a group show how far they have read", { skip }, async () => {
  await pair();
  const other = await me(second());
  const made = await newGroup({ members: [other.username] });
  await join(made.id);
  const { id } = await newMessage({ conversation_id: made.conversation_id! });
  await mark(made.conversation_id!, { message_id: id });
  const shown = (await listMembers(made.id)).map(({ user_id, read_message_id }) => [
    user_id,
    read_message_id,
  ]);
  assert.deepEqual(shown, [
    [other.id, id],
    [(await me()).id, null],
  ]);
  assert.deepEqual(await readers(id), [other.id]);
  for (const options of [theirs(), {}]) await leave(made.id, options);
});

test("readers of a message that you do not see are 404, and unknown fields 400", { skip }, async () => {
  const { id } = await newMessage({ conversation_id: (await me()).conversation_id });
  assert.deepEqual(await readers(id), []);
  assert.equal((await call("GET", `${PATH}/${id}/readers`, theirs())).status, 404);
  assert.equal((await call("GET", `${PATH}/${unknownLike(id)}/readers`)).status, 404);
  faulty(await call("GET", `${PATH}/${id}/readers?limit=0`), "limit");
  faulty(await call("GET", `${PATH}/${id}/readers?starting_after=${id}`), "starting_after");
});
