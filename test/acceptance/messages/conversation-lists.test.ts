// The inbox of an ordinary client: order, pages and read positions.
import assert from "node:assert/strict";
import { test } from "node:test";
import { call, faulty, json, links, me, problem } from "../client.ts";
import { freshConversation, newMessage } from "../send.ts";

interface Conversation {
  id: string;
  kind: string;
  position: string | null;
  unread_count: number;
  is_pinned: boolean;
  last_message: { id: string } | null;
}

async function list(query: string) {
  const reply = await call("GET", `/v1/conversations${query}`);
  assert.equal(reply.status, 200, reply.text);
  return { reply, page: reply.json as { has_more: boolean; data: Conversation[] } };
}

test("a conversation is listed from its first message, and each message moves it to the top", async () => {
  const first = await freshConversation();
  const second = await freshConversation();
  const before = (await list("?limit=100")).page.data.map(({ id }) => id);
  assert.ok(!before.includes(first) && !before.includes(second));
  const got = await call("GET", `/v1/conversations/${first}`);
  assert.deepEqual([(got.json as Conversation).position, got.status], [null, 200]);
  await newMessage({ conversation_id: first });
  await newMessage({ conversation_id: second });
  const { id } = await newMessage({ conversation_id: first });
  const { data } = (await list("?limit=2")).page;
  assert.deepEqual(
    data.map((each) => [each.id, each.kind, each.unread_count]),
    [
      [first, "contact", 0],
      [second, "contact", 0],
    ],
  );
  assert.equal(data[0]!.last_message!.id, id);
  assert.ok(data[0]!.position! > data[1]!.position!);
});

test("pages work both ways by positions, and Link names them", async () => {
  const made: string[] = [];
  for (let i = 0; i < 3; i++) {
    made.unshift(await freshConversation());
    await newMessage({ conversation_id: made[0] });
  }
  const first = await list("?limit=2&kind=contact");
  assert.deepEqual(
    first.page.data.map(({ id }) => id),
    made.slice(0, 2),
  );
  assert.equal(first.page.has_more, true);
  const next = await list(links(first.reply).next!.replace("/v1/conversations", ""));
  assert.equal(next.page.data[0]!.id, made[2]);
  const back = await list(`?ending_before=${next.page.data[0]!.position}&limit=2&kind=contact`);
  assert.deepEqual(back.page.data, first.page.data);
  faulty(await call("GET", "/v1/conversations?starting_after=cnv_x"), "starting_after");
  faulty(await call("GET", "/v1/conversations?kind=x"), "kind");
});

test("settings are private to the caller, and their If-Match ignores everything else", async () => {
  const id = await freshConversation();
  const path = `/v1/conversations/${id}`;
  const etag = (await call("GET", path)).headers.get("etag")!;
  await newMessage({ conversation_id: id });
  const changed = await call("GET", path, { headers: { "if-none-match": etag } });
  assert.equal(changed.status, 200, "a message changes what is shown");
  const fields = json({ is_pinned: true });
  const put = (match: string) =>
    call("PUT", path, { ...fields, headers: { ...fields.headers, "if-match": match } });
  const pinned = await put(etag);
  assert.equal((pinned.json as Conversation).is_pinned, true);
  problem(await put(etag), 412, "precondition_failed");
  assert.equal((await list("?pinned=true&limit=1")).page.data[0]!.id, id);
  faulty(await call("PUT", path, json({ is_pinned: "true" })), "is_pinned");
});

test("a read position must be a message of the conversation", async () => {
  const { conversation_id } = await me();
  const { id } = await newMessage();
  const read = (message_id: unknown) =>
    call("PUT", `/v1/conversations/${conversation_id}/read`, json({ message_id }));
  assert.equal((await read(id)).status, 204);
  for (const wrong of ["msg_x", `msg_7${id.slice(5)}`]) problem(await read(wrong), 404, "message_not_found");
  faulty(await call("PUT", `/v1/conversations/${conversation_id}/read`, json({})), "message_id");
});
