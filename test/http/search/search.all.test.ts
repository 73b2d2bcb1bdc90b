// Content of the search index, on both engines.
import assert from "node:assert/strict";
import { randomBytes, randomInt } from "node:crypto";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { deleteUser } from "../../../src/core/people/users.ts";
import { INDEXED_AT_ONCE } from "../../../src/core/search/search.ts";
import { indexKey } from "../../../src/db/queries/search/search.ts";
import { sql } from "../../../src/db/sql.ts";
import { idOfBits } from "../../../src/util/ids.ts";
import { startApp, type TestApp } from "../../support/app.ts";
import type { Json } from "../../support/asker.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { ENGINES, startOnEngine } from "../../support/on-engines.ts";
import { done, type Person, pair, person, read, say, send } from "../../support/people.ts";

/** Uses the index even for few messages. */
const INDEXED = { messagesReadAtOnce: 0 };

async function search(server: TestApp, who: Person, q: string): Promise<string[]> {
  const page = await read<Json>(
    send(server, who, "GET", `/v1/messages?limit=100&q=${encodeURIComponent(q)}`),
    200,
  );
  return (page.data as Json[]).map(({ text }) => String(text));
}

/** Returns how many texts of the conversation are indexed, once nothing waits for the index. */
async function indexed({ app }: TestApp, conversation: string): Promise<number> {
  const { db } = app.core;
  await eventually(async () => (await db.get(sql`SELECT body_id FROM unindexed`)) === undefined);
  return new Set(await db.findBodies([indexKey(conversation)], { entry: "", isPrefix: true }, 10_000)).size;
}

test("few messages can be searched while the index is built", async (t) => {
  const server = await startApp(t);
  const { ann, conversation } = await pair(server);
  await say(server, ann, conversation, "red");
  await server.app.core.db.write("rebuildIndex", undefined);
  assert.deepEqual(await search(server, ann, "red"), ["red"]);
});

for (const name of ENGINES) {
  test(`${name}: the index follows edits, and drops words once nobody sees the message`, async (t) => {
    const server = await startOnEngine(t, name, INDEXED);
    const { ann, bob, conversation } = await pair(server);
    const ids: string[] = [];
    for (const text of ["one red", "two red", "three red", "?!"])
      ids.push(await say(server, ann, conversation, text));
    assert.deepEqual(await search(server, bob, "red"), ["three red", "two red", "one red"]);
    assert.equal(await indexed(server, conversation), 3);
    await read(send(server, ann, "PUT", `/v1/messages/${ids[0]}`, { text: "one blue" }), 200);
    await done(send(server, ann, "DELETE", `/v1/messages/${ids[1]}`));
    await done(send(server, bob, "DELETE", `/v1/messages/${ids[2]}?for=me`));
    for (const who of [ann, bob]) {
      assert.deepEqual(await search(server, who, "blue"), ["one blue"]);
      assert.deepEqual(await search(server, who, "red"), who === ann ? ["three red"] : []);
    }
    assert.equal(await indexed(server, conversation), 2);
    for (const who of [ann, bob]) await deleteUser(server.app.core, null, who.id);
    assert.ok(await eventually(async () => (await indexed(server, conversation)) === 0));
  });

  test(`${name}: a search finds messages that wait for the index, in the user's conversations only`, async (t) => {
    const server = await startOnEngine(t, name, INDEXED);
    const { ann, conversation } = await pair(server);
    const eve = await person(server, "eve");
    const own = await read<{ conversation_id: string }>(send(server, eve, "GET", "/v1/me"), 200);
    await say(server, ann, conversation, "old red");
    await indexed(server, conversation);
    const { db } = server.app.core;
    const { write } = db;
    // Stops indexing.
    db.write = ((...args: unknown[]) =>
      args[0] === "indexMessages" ? Promise.resolve(false) : Reflect.apply(write, db, args)) as typeof write;
    t.after(() => {
      db.write = write;
    });
    await say(server, eve, own.conversation_id, "eve's red");
    for (const text of ["new red", "new blue"]) await say(server, ann, conversation, text);
    assert.deepEqual(await search(server, ann, "red"), ["new red", "old red"]);
    assert.deepEqual(await search(server, eve, "red"), ["eve's red"]);
  });

  test(`${name}: one write indexes all waiting messages`, async (t) => {
    const server = await startOnEngine(t, name, INDEXED);
    const { ann, conversation } = await pair(server);
    for (const text of ["one red", "two red"]) await say(server, ann, conversation, text);
    const { db } = server.app.core;
    assert.equal(await db.write("indexMessages", INDEXED_AT_ONCE), false);
    assert.equal(await db.get(sql`SELECT body_id FROM unindexed`), undefined);
  });

  test(`${name}: words of any length are found, and delay no others`, async (t) => {
    const server = await startOnEngine(t, name, INDEXED);
    const ann = await person(server, "ann");
    const { conversation_id } = await read<{ conversation_id: string }>(
      send(server, ann, "GET", "/v1/me"),
      200,
    );
    // Texts that no database can compress.
    const long = Array.from({ length: 10_000 }, () => String.fromCodePoint(0x2_0000 + randomInt(40_000)));
    const latin = randomBytes(5000).toString("hex");
    for (const text of [latin, long.join(""), `${latin.slice(0, 100)}x`, "short"])
      await say(server, ann, conversation_id, text);
    assert.deepEqual(await search(server, ann, "short"), ["short"]);
    assert.deepEqual(await search(server, ann, latin.slice(0, 128)), [latin]);
    assert.deepEqual(await search(server, ann, latin.slice(0, 20)), [`${latin.slice(0, 100)}x`, latin]);
    assert.deepEqual(await search(server, ann, `${latin.slice(0, 100)}x short`), []);
    assert.deepEqual(await search(server, ann, long.slice(5000, 5100).join("")), [long.join("")]);
  });
}

for (const [when, ago] of [
  ["an hour ago", 3_600_000],
  ["by a clock a year ahead", -31_536_000_000],
] as const)
  test(`a page cut short among hidden messages sent ${when} has a cursor that reveals none of them`, async (t) => {
    const server = await startApp(t, INDEXED);
    const { ann, bob, conversation } = await pair(server);
    const from = Date.now() - ago;
    const ids = Array.from({ length: 25_000 }, (_, i) => idOfBits("msg", from + i, 1n));
    await say(server, bob, conversation, "cotton");
    const db = new DatabaseSync(join(server.config.dataFolder, "parley.db"), { timeout: 5000 });
    t.after(() => db.close());
    const insert =
      db.prepare(`INSERT INTO messages (conversation_id, id, sender_id, type, has_files, created_at, version)
    VALUES (?, ?, ?, 'text', 0, ?, 1)`);
    db.exec("BEGIN");
    for (const id of ids) insert.run(conversation, id, bob.id, from);
    db.prepare("UPDATE conversations SET last_id = MAX(last_id, ?) WHERE id = ?").run(
      ids.at(-1)!,
      conversation,
    );
    db.exec("COMMIT");
    await say(server, bob, conversation, "wool");
    // A single letter is not in the index.
    const path = "/v1/messages?limit=5&q=w";
    const linkOf = (answer: Response) =>
      /[?&]starting_after=(msg_\w+)[^>]*>; rel="next"/.exec(String(answer.headers.get("link")))?.[1];
    const hide = db.prepare(
      "INSERT INTO withheld (user_id, conversation_id, from_id, to_id) VALUES (?, ?, ?, ?)",
    );
    hide.run(ann.id, conversation, ids[0]!, ids.at(-1)!);
    const early = await send(server, ann, "GET", path);
    const page = await read<Json>(Promise.resolve(early), 200);
    assert.deepEqual([page.has_more, (page.data as Json[]).length], [true, 1]);
    const cursor = linkOf(early)!;
    assert.ok(cursor > ids[0]! && cursor < ids.at(-1)! && !ids.includes(cursor));
    const next = await read<Json>(send(server, ann, "GET", `${path}&starting_after=${cursor}`), 200);
    assert.deepEqual([next.has_more, next.data], [false, []]);
    db.prepare("UPDATE members SET since_id = ? WHERE user_id = ?").run(ids.at(-1)!, ann.id);
    const all = await read<Json>(send(server, ann, "GET", path), 200);
    assert.deepEqual([all.has_more, (all.data as Json[]).map(({ text }) => text)], [false, ["wool"]]);
  });
