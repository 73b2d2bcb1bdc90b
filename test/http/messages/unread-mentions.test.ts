// How many unread messages mention a member: in the inbox, in the snapshot, and after edits, reads and deletions.
import assert from "node:assert/strict";
import type { TestApp } from "../../support/app.ts";
import { asker, type Json } from "../../support/asker.ts";
import { onEachEngine } from "../../support/on-engines.ts";
import { type Person, say, trio } from "../../support/people.ts";

type Counts = [unread: number, mentions: number];

/** Returns the counts of a conversation, which all answers must agree about. */
async function countsOf(server: TestApp, who: Person, id: string): Promise<Counts> {
  const ask = asker(server, who);
  const toCounts = (row: Json): Counts => [Number(row.unread_count), Number(row.unread_mention_count)];
  const counts = toCounts((await ask("GET", `/v1/conversations/${id}`)).body);
  for (const path of ["/v1/conversations", "/v1/snapshot"]) {
    const { data, conversations = data } = (await ask("GET", path)).body as Record<string, Json[]>;
    assert.deepEqual(toCounts(conversations!.find((row) => row.id === id)!), counts, path);
  }
  return counts;
}

onEachEngine("unread messages that mention a member are counted for that member", async (server) => {
  const { ann, bob, cat, conversation } = await trio(server);
  const counts = (who: Person) => countsOf(server, who, conversation);
  const mention = (text: string, ...who: Person[]) =>
    say(server, ann, conversation, text, { mentions: who.map(({ id }) => id) });
  assert.deepEqual(await counts(bob), [0, 0]);
  const first = await mention("one", cat, bob);
  await say(server, ann, conversation, "two");
  const third = await mention("three", bob);
  await mention("to myself", ann);
  assert.deepEqual(await counts(bob), [4, 2]);
  assert.deepEqual(await counts(cat), [4, 1]);
  assert.deepEqual(await counts(ann), [0, 0]);
  const ask = asker(server, bob);
  await ask("PUT", `/v1/conversations/${conversation}/read`, { message_id: first });
  assert.deepEqual(await counts(bob), [3, 1]);
  const edit = (id: string, mentions: string[]) =>
    asker(server, ann)("PUT", `/v1/messages/${id}`, { mentions });
  await edit(third, []);
  assert.deepEqual(await counts(bob), [3, 0]);
  await edit(third, [bob.id]);
  assert.deepEqual(await counts(bob), [3, 1]);
  await edit(first, [cat.id]);
  assert.deepEqual(await counts(bob), [3, 1], "it is read");
  await asker(server, ann)("DELETE", `/v1/messages/${third}`);
  assert.deepEqual(await counts(bob), [2, 0]);
});

onEachEngine("mentions that the member does not see are not counted", async (server) => {
  const { ann, bob, cat, conversation } = await trio(server);
  const mention = (who: Person) => say(server, who, conversation, "bob?", { mentions: [bob.id] });
  await mention(ann);
  await asker(server, bob)("PUT", `/v1/blocks/${cat.name}`);
  for (let i = 0; i < 3; i++) await mention(cat);
  await mention(ann);
  assert.deepEqual(await countsOf(server, bob, conversation), [2, 2]);
  await mention(bob);
  assert.deepEqual(await countsOf(server, bob, conversation), [0, 0]);
  await asker(server, bob)("DELETE", `/v1/blocks/${cat.name}`);
  await mention(cat);
  assert.deepEqual(await countsOf(server, bob, conversation), [1, 1]);
});

onEachEngine("mentions are counted among the first 100 unread messages", async (server) => {
  const { ann, bob, conversation } = await trio(server);
  const say100 = async (mentions: string[]) => {
    for (let i = 0; i < 100; i++) await say(server, ann, conversation, `${i}`, { mentions });
  };
  await say100([bob.id]);
  assert.deepEqual(await countsOf(server, bob, conversation), [100, 100]);
  await say100([]);
  assert.deepEqual(await countsOf(server, bob, conversation), [100, 100]);
});
