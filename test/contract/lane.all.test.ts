// Writes that arrive during a transaction share the next one. Each still gets the result that it would get alone.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import pg from "pg";
import type { Database, WriteName } from "../../src/db/database.ts";
import { openPostgres } from "../../src/db/engines/postgres/postgres.ts";
import { raw, type Statement, sql } from "../../src/db/sql.ts";
import { testDatabase } from "../support/engines/postgres.ts";
import { startProxy } from "../support/engines/postgres-proxy.ts";
import { holds } from "../support/property.ts";
import { addUser, anEntry, attachment, aUser, contact, message, messageId } from "../support/rows.ts";
import { openOnPostgres, openOnSqlite, openTwiceOnPostgres } from "./databases.ts";
import { dump } from "./dump.ts";
import { add, meet, SHARED, seenBy, send } from "./messages/talk.ts";

/** Starts writes at once: the first has a transaction to itself, the others wait and share the next one. */
async function together(db: Database, writes: readonly (() => Promise<unknown>)[]): Promise<unknown[]> {
  await addUser(db, "first");
  const first = db.write("createContact", contact("first", 1));
  const settled = await Promise.allSettled(writes.map((write) => write()));
  await first;
  return settled.map((each) => (each.status === "fulfilled" ? each.value : each.reason));
}

/** Creates contacts of one owner, by their numbers. */
const creates = (db: Database, owner: string, numbers: readonly number[]) =>
  numbers.map((number) => () => db.write("createContact", contact(owner, number)));

const count = async (db: Database, text: string): Promise<number> =>
  (await db.get(raw(`SELECT COUNT(*) AS count FROM ${text}`) as Statement<{ count: number }>))!.count;

const GROUP = "cnv_grp";

const upTo = (length: number) => Array.from({ length }, (_, i) => i + 1);

test("many concurrent writes of one owner share a few transactions", async (t) => {
  const db = await openOnPostgres(t);
  await addUser(db, "a");
  await together(db, creates(db, "a", upTo(150)));
  assert.equal(await count(db, "(SELECT DISTINCT xmin::text FROM contacts) AS x"), 3);
  assert.equal(await count(db, "members WHERE user_id = 'a'"), 151);
  assert.equal(await count(db, "audit WHERE action = 'contact.created'"), 151);
  assert.equal(await count(db, "outbox WHERE recipient_id = 'a'"), 150);
});

test("of two contacts with one name in a shared transaction one is created, and other writes succeed", async (t) => {
  const db = await openOnPostgres(t);
  await addUser(db, "a");
  const twice = { ...contact("a", 2), usernameKey: "name 1" };
  const [first, second, ...others] = await together(db, [
    ...creates(db, "a", [1]),
    () => db.write("createContact", twice),
    ...creates(db, "a", upTo(20).slice(2)),
  ]);
  assert.equal((first as { id: string }).id, contact("a", 1).id);
  assert.equal((second as { code: string }).code, "contact_exists");
  assert.ok(others.every((each) => !(each instanceof Error)));
  assert.equal(await count(db, "contacts WHERE owner_id = 'a'"), 19);
});

test("two users who add each other in one transaction share a conversation", async (t) => {
  const db = await openOnPostgres(t);
  for (const name of ["a", "b"]) await addUser(db, name);
  const [one, other] = await together(db, [
    () => db.write("createContact", { ...contact("a", 1), usernameKey: "b" }),
    () => db.write("createContact", { ...contact("b", 1), usernameKey: "a" }),
    ...creates(db, "a", [2, 3]),
  ]);
  const idOf = (made: unknown) => (made as { conversation_id: string }).conversation_id;
  assert.equal(idOf(one), idOf(other));
  assert.equal(await count(db, `members WHERE conversation_id = '${idOf(one)}'`), 2);
  assert.equal(await count(db, "contacts WHERE peer_id IS NOT NULL"), 2);
});

test("of two requests with one Idempotency-Key in one transaction one is executed, and both get its result", async (t) => {
  const db = await openOnPostgres(t);
  await addUser(db, "a");
  const request = {
    ...{ userId: "a", keyHash: new Uint8Array(32).fill(1), fingerprint: new Uint8Array(32).fill(2) },
    ...{ now: 1, until: 2, replayOnly: false },
  };
  const keyed = (number: number) => () =>
    db.write("runIdempotent", { name: "createContact", input: contact("a", number), request } as never);
  const [one, other] = await together(db, [keyed(1), keyed(2), ...creates(db, "a", [3, 4])]);
  assert.deepEqual((one as { result: unknown }).result, (other as { result: unknown }).result);
  assert.deepEqual([one, other].map((each) => (each as { replayed: boolean }).replayed).sort(), [
    false,
    true,
  ]);
  assert.equal(await count(db, "contacts WHERE owner_id = 'a'"), 3);
  assert.equal(await count(db, "idempotency"), 1);
});

test("messages to one conversation in one transaction are all stored, in order", async (t) => {
  const db = await openOnPostgres(t);
  await meet(db);
  const sent = await together(
    db,
    upTo(30).map(
      (number) => () => db.write("createMessage", message(number % 2 ? "a" : "b", number, SHARED)),
    ),
  );
  assert.deepEqual(
    sent.map((each) => (each as { id: string }).id),
    upTo(30).map(messageId),
  );
  assert.deepEqual(await seenBy(db, "a"), upTo(30));
  const { last_id } = (await db.get(sql<{ last_id: string }>`SELECT last_id FROM conversations`))!;
  assert.equal(last_id, messageId(30));
  // Notes with and without their conversation id, in one transaction, are one conversation, too.
  const notes = [null, "cnv_a_notes"].map(
    (to, i) => () => db.write("createMessage", message("a", 31 + i, to as string)),
  );
  await Promise.all([...creates(db, "first", [2]), ...notes].map((write) => write()));
  assert.equal((await seenBy(db, "a", "cnv_a_notes")).length, 2);
});

test("messages in one transaction leave the same rows as messages one after another", async (t) => {
  const [sqlite, postgres] = [await openOnSqlite(t), await openOnPostgres(t)];
  const both = async (name: WriteName, input: unknown) => {
    for (const db of [sqlite, postgres]) await db.write(name, input as never);
  };
  for (const name of ["a", "b", "c", "first"]) await both("createUser", aUser(name));
  for (const [owner, name] of ["ab", "ba", "ca"]) {
    await both("createContact", { ...contact(owner!, 1), usernameKey: name });
  }
  const invited = ["b", "c"].map((name) => ({ memberId: `mem_${name}`, username: name, usernameKey: name }));
  await both("createGroup", {
    ...{
      id: "grp",
      conversationId: GROUP,
      memberId: "mem_a",
      messageId: messageId(1),
      userId: "a",
      name: "x",
    },
    ...{ description: null, avatarUrl: null, history: "joined", invited, maxMembers: 9, entry: anEntry() },
  });
  for (const [number, userId] of ["b", "c"].entries()) {
    const joining = { groupId: "grp", userId, messageId: messageId(2 + number), limit: 9, entry: anEntry() };
    await both("joinGroup", joining);
  }
  const person = fc.constantFrom("a", "b", "c");
  const sent = fc.record({
    who: person,
    to: fc.constantFrom(SHARED, GROUP, GROUP, null),
    hasFile: fc.nat(40).map((n) => n === 0),
    place: fc.nat(),
  });
  const block = fc.record({ owner: person, name: person, on: fc.boolean() });
  const sendings = fc.array(sent, { minLength: 2, maxLength: 40, size: "max" });
  let last = 3;
  await holds(
    fc.asyncProperty(fc.array(block, { maxLength: 4 }), sendings, async (blocks, all) => {
      for (const { owner, name, on } of blocks) {
        const blocked = { ownerId: owner, usernameKey: name, username: name, now: ++last };
        await both("setBlock", { ...blocked, blockedAt: on ? 1_800_000_000_000 + last : null });
      }
      const before = await count(postgres, "(SELECT DISTINCT xmin::text FROM messages) AS x");
      // A message with a file is a separate statement, between the messages before and after it.
      const isInOrder = all.some(({ hasFile }) => hasFile);
      const writes = all.map(({ who, to, hasFile, place }) => {
        const number = ++last;
        const { file } = attachment(who, number, {}, { bytes: new Uint8Array([number % 256]), fileSize: 1 });
        const files = hasFile ? [file] : [];
        const target = isInOrder || (who === "c" && to === SHARED) ? GROUP : to;
        return { place, input: message(who, number, target as string, { files }) };
      });
      for (const { input } of writes) await sqlite.write("createMessage", input);
      if (!isInOrder) writes.sort((a, b) => a.place - b.place);
      const first = contact("first", ++last);
      await sqlite.write("createContact", first);
      await Promise.all([
        postgres.write("createContact", first),
        ...writes.map(({ input }) => postgres.write("createMessage", input)),
      ]);
      const [left, expected] = [await dump(postgres), await dump(sqlite)];
      for (const [name, rows] of Object.entries(left)) assert.deepEqual(rows, expected[name], name);
      const transactions =
        (await count(postgres, "(SELECT DISTINCT xmin::text FROM messages) AS x")) - before;
      assert.equal(transactions, 1);
    }),
    40,
  );
});

test("a write that the database refuses fails alone, and others in its transaction succeed", async (t) => {
  const db = await openOnPostgres(t);
  await addUser(db, "a");
  await db.write("createContact", contact("a", 1));
  const sameId = { ...contact("a", 1), usernameKey: "another" };
  const noText = { ...contact("a", 3), body: "\0" };
  const [refused, wrong, ...others] = await together(db, [
    () => db.write("createContact", sameId),
    () => db.write("createContact", noText),
    ...creates(db, "a", [4, 5, 6]),
  ]);
  assert.equal((refused as { code: string }).code, "unavailable");
  assert.ok(wrong instanceof Error);
  assert.ok(others.every((each) => !(each instanceof Error)));
  assert.equal(await count(db, "contacts WHERE owner_id = 'a'"), 4);
});

test("a write that waits for a lock does not delay others", async (t) => {
  const url = await testDatabase(t);
  const db = await openPostgres(url);
  t.after(() => db.close());
  await meet(db);
  await db.write("createMessage", message("a", 1, SHARED));
  const client = new pg.Client(url);
  // The database is dropped before this client ends.
  client.on("error", () => {});
  await client.connect();
  t.after(() => client.end());
  await client.query("BEGIN; UPDATE conversations SET last_id = last_id");
  let isSent = false;
  const sending = db.write("createMessage", message("a", 2, SHARED)).then(() => {
    isSent = true;
  });
  await Promise.all(creates(db, "a", [2, 3, 4]).map((write) => write()));
  assert.equal(isSent, false);
  await client.query("ROLLBACK");
  await sending;
  assert.deepEqual(await seenBy(db, "b"), [1, 2]);
});

test("two nodes that create contacts of one owner at once lose none and create none twice", async (t) => {
  const nodes = await openTwiceOnPostgres(t);
  await addUser(nodes[0], "a");
  await Promise.all(
    upTo(120).map((number) => nodes[number % 2]!.write("createContact", contact("a", number))),
  );
  assert.equal(await count(nodes[0], "contacts"), 120);
  assert.equal(await count(nodes[0], "outbox WHERE recipient_id = 'a'"), 120);
});

test("a send waits for another node's lock on its conversation, sends to other conversations do not", async (t) => {
  const url = await testDatabase(t);
  const db = await openPostgres(url);
  t.after(() => db.close());
  await meet(db);
  const other = new pg.Client(url);
  // The database is dropped before this client ends.
  other.on("error", () => {});
  await other.connect();
  t.after(() => other.end());
  await other.query("SELECT pg_advisory_lock(1, hashtext($1))", [SHARED]);
  const sending = db.write("createMessage", message("a", 1, SHARED));
  const waiting = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted";
  while ((await other.query(waiting)).rowCount === 0) await sleep(10);
  await db.write("createContact", contact("a", 2));
  assert.equal(await count(db, "messages"), 0);
  await other.query("SELECT pg_advisory_unlock_all()");
  await sending;
  assert.deepEqual(await seenBy(db, "b"), [1]);
});

test("concurrent sends from two nodes to one conversation are all answered", async (t) => {
  const nodes = await openTwiceOnPostgres(t);
  await meet(nodes[0]);
  await Promise.all(
    upTo(20).map(async (caller) => {
      for (let i = 0; i < 5; i++) await send(nodes[caller % 2]!, "a", caller * 5 + i);
    }),
  );
  assert.equal(await count(nodes[0], `messages WHERE conversation_id = '${SHARED}'`), 100);
});

test("a write that waited five seconds for a frozen database is refused and not executed", async (t) => {
  const proxy = await startProxy(t, await testDatabase(t));
  const db = await openPostgres(proxy.url);
  t.after(() => db.close());
  for (const name of ["a", "first"]) await addUser(db, name);
  proxy.stall(true);
  const first = db.write("createContact", contact("first", 1));
  const others = creates(db, "a", [1, 2, 3]).map((write) => write());
  const refused = Promise.all(others.map((each) => assert.rejects(each, { code: "unavailable" })));
  await sleep(5200);
  proxy.stall(false);
  await Promise.all([first, refused]);
  assert.equal(await count(db, "contacts WHERE owner_id = 'a'"), 0);
  // Later writes succeed.
  await add(db, "a", "later");
});

test("when the reply to a shared COMMIT is lost, each write gets its actual outcome", async (t) => {
  const proxy = await startProxy(t, await testDatabase(t));
  const db = await openPostgres(proxy.url);
  t.after(() => db.close());
  await meet(db);
  await addUser(db, "first");
  for (const [cut, isDone] of [
    ["after", true],
    ["at", true],
    ["before", false],
  ] as const) {
    const numbers = upTo(20).map((number) => number + 20 * cut.length);
    const first = db.write("createContact", contact("first", numbers[0]!));
    const others = numbers.map((number) => {
      const input = contact("a", number);
      if (number % 2 === 0) return db.write("createContact", input);
      const keyHash = new Uint8Array(32).fill(number % 256);
      const request = { userId: "a", keyHash, fingerprint: keyHash, now: 1, until: 2, replayOnly: false };
      return db.write("runIdempotent", { name: "createContact", input, request } as never);
    });
    await first;
    proxy.onCommit = () => {
      proxy.onCommit = () => undefined;
      return cut;
    };
    const settled = await Promise.allSettled(others);
    const made = await count(
      db,
      `contacts WHERE owner_id = 'a' AND id IN ('${numbers.map((n) => contact("a", n).id).join("','")}')`,
    );
    assert.equal(made, isDone ? 20 : 0, cut);
    for (const each of settled) {
      if (isDone) {
        assert.equal(each.status, "fulfilled", cut);
        assert.ok(!(each.value as { replayed?: boolean }).replayed, cut);
      } else assert.equal((each as PromiseRejectedResult).reason.code, "unavailable", cut);
    }
    // Later writes succeed.
    await add(db, "b", `later ${cut}`);
  }
});
