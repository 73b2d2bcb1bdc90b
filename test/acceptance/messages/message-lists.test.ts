import assert from "node:assert/strict";
import { test } from "node:test";
import { call, faulty, links, type Message, messages, problem, unknownLike, walk } from "../client.ts";
import { freshConversation, newMessage, PATH } from "../send.ts";

const ids = (items: readonly { id: string }[]) => items.map(({ id }) => id);

/** Creates a conversation with this many messages, newest first. */
async function filled(count: number): Promise<{ path: string; sent: Message[] }> {
  const conversation_id = await freshConversation();
  const sent: Message[] = [];
  for (let at = 0; at < count; at++)
    sent.unshift(await newMessage({ conversation_id, text: `number ${at}` }));
  return { path: `${PATH}?conversation_id=${conversation_id}`, sent };
}

async function listed(path: string): Promise<string[]> {
  return ids(messages(await call("GET", path)).data);
}

test("a list has the messages of its conversation, ten by default, newest first, with pages both ways", async () => {
  const { path, sent } = await filled(12);
  const first = await call("GET", path);
  assert.deepEqual(messages(first), { has_more: true, data: sent.slice(0, 10) });
  assert.deepEqual(messages(await call("GET", links(first).next!)), {
    has_more: false,
    data: sent.slice(10),
  });
  const down = await walk(`${path}&limit=5`, messages, "starting_after");
  assert.deepEqual(down.map(ids), [ids(sent.slice(0, 5)), ids(sent.slice(5, 10)), ids(sent.slice(10))]);
  const up = await walk(`${path}&limit=5`, messages, "ending_before", sent.at(-1)!.id);
  assert.deepEqual(up.map(ids), [ids(sent.slice(6, 11)), ids(sent.slice(1, 6)), ids(sent.slice(0, 1))]);
});

test("ids increase in the order of sending, also of concurrent messages, and times do not decrease", async () => {
  const conversation_id = await freshConversation();
  const sent = await Promise.all(
    Array.from({ length: 20 }, (_, at) => newMessage({ conversation_id, text: `${at}` })),
  );
  const { data } = messages(await call("GET", `${PATH}?conversation_id=${conversation_id}&limit=100`));
  assert.deepEqual(ids(data), ids(sent).sort().reverse());
  const times = data.map(({ created_at }) => created_at);
  assert.deepEqual(
    times,
    times.toSorted((a, b) => b - a),
  );
});

test("around an id: half a page older, the message, half a page newer, and links both ways", async () => {
  const { path, sent } = await filled(9);
  const middle = sent[4]!;
  const reply = await call("GET", `${path}&around=${middle.id}&limit=5`);
  assert.deepEqual(messages(reply), { has_more: true, data: sent.slice(2, 7) });
  const { next, prev } = links(reply);
  assert.deepEqual(messages(await call("GET", next!)), { has_more: false, data: sent.slice(7) });
  assert.deepEqual(messages(await call("GET", prev!)), { has_more: false, data: sent.slice(0, 2) });
  assert.deepEqual(await listed(`${path}&around=${middle.id}&limit=4`), ids(sent.slice(3, 7)));
  assert.deepEqual(await listed(`${path}&around=${middle.id}&limit=1`), [middle.id]);
  const whole = await call("GET", `${path}&around=${middle.id}&limit=100`);
  assert.deepEqual(messages(whole), { has_more: false, data: sent });
  assert.deepEqual(links(whole), {});
});

test("around the newest there is nothing newer, around the oldest nothing older", async () => {
  const { path, sent } = await filled(5);
  const newest = await call("GET", `${path}&around=${sent[0]!.id}&limit=3`);
  assert.deepEqual(messages(newest), { has_more: true, data: sent.slice(0, 2) });
  assert.deepEqual(Object.keys(links(newest)), ["next"]);
  const oldest = await call("GET", `${path}&around=${sent[4]!.id}&limit=3`);
  assert.deepEqual(messages(oldest), { has_more: false, data: sent.slice(3) });
  assert.deepEqual(Object.keys(links(oldest)), ["prev"]);
});

test("the id of a deleted message still works as a cursor and for around", async () => {
  const { path, sent } = await filled(5);
  const gone = sent[2]!.id;
  await call("DELETE", `${PATH}/${gone}`);
  assert.deepEqual(await listed(`${path}&starting_after=${gone}`), ids(sent.slice(3)));
  assert.deepEqual(await listed(`${path}&ending_before=${gone}`), ids(sent.slice(0, 2)));
  assert.deepEqual(await listed(`${path}&around=${gone}`), ids([...sent.slice(0, 2), ...sent.slice(3)]));
});

test("a list needs its conversation, and an unknown or malformed one is 404", async () => {
  faulty(await call("GET", PATH), "conversation_id", "missing_parameter");
  const conversation = await freshConversation();
  for (const id of [unknownLike(conversation), "nonsense", ""]) {
    const answer = problem(await call("GET", `${PATH}?conversation_id=${id}`), 404, "conversation_not_found");
    assert.equal(answer.param, "conversation_id");
  }
});

test("a malformed cursor, and two cursors, are 400", async () => {
  const { path, sent } = await filled(1);
  const { id } = sent[0]!;
  for (const name of ["starting_after", "ending_before", "around"]) {
    for (const value of ["nonsense", "", id.replace("msg_", "cnv_")])
      faulty(await call("GET", `${path}&${name}=${value}`), name, "invalid_parameter");
  }
  for (const name of ["starting_after", "ending_before"])
    faulty(await call("GET", `${path}&${name}=${id}&around=${id}`), "around", "invalid_parameter");
  faulty(await call("GET", `${path}&starting_after=${id}&ending_before=${id}`), "ending_before");
});
