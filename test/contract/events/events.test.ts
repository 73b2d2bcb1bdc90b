// The rules of events, on both engines.
import assert from "node:assert/strict";
import type { Database } from "../../../src/db/database.ts";
import {
  type EventRow,
  eventsAfter,
  firstNumber,
  hasUnnumbered,
  lastEvent,
  lastPosition,
  listEvents,
  oldestEvents,
} from "../../../src/db/queries/events/events.ts";
import { sql } from "../../../src/db/sql.ts";
import { aDeletion, addUser, anEntry, attachment, contact } from "../../support/rows.ts";
import { type Chance, seededChance } from "../../support/scale.ts";
import { onEachDatabase } from "../databases.ts";

const LAST = Number.MAX_SAFE_INTEGER;
/** More than the events of any test. */
const ALL = 1000;

async function numberAll(db: Database, limit = 200): Promise<void> {
  while (await hasUnnumbered(db)) await db.write("numberEvents", { limit });
}

function eventsOf(db: Database, recipientId: string): Promise<EventRow[]> {
  return listEvents(db, {
    recipientId,
    cursor: 0,
    newer: true,
    until: LAST,
    since: 0,
    limit: ALL,
    types: null,
  });
}

/** Creates contacts of the user, one millisecond apart. */
async function addContacts(db: Database, user: string, first: number, count: number): Promise<void> {
  for (let i = first; i < first + count; i++) await db.write("createContact", contact(user, i));
  await numberAll(db);
}

const timeOf = (number: number) => contact("x", number).createdAt;

/** Creates, changes and deletes contacts and files of one user. Returns these changes in order. */
async function live(db: Database, user: string, base: number, chance: Chance): Promise<string[]> {
  const done: string[] = [];
  const contacts: string[] = [];
  for (let i = 0; i < 30; i++) {
    const what = chance();
    const entry = anEntry();
    if (what < 0.5 || contacts.length === 0) {
      const made = contact(user, i);
      await db.write("createContact", made);
      contacts.push(made.id);
      done.push(`contact.created ${made.id}`);
    } else if (what < 0.7) {
      const id = contacts[Math.floor(chance() * contacts.length)]!;
      await db.write("updateContact", { ownerId: user, id, displayName: `${i}`, expected: null, entry });
      done.push(`contact.updated ${id}`);
    } else if (what < 0.85) {
      const [id] = contacts.splice(Math.floor(chance() * contacts.length), 1);
      await db.write("deleteContact", {
        ownerId: user,
        id: id!,
        deletedAt: 1,
        limit: 250,
        expected: null,
        entry,
      });
      done.push(`contact.deleted ${id}`);
    } else {
      const upload = attachment(user, base + i);
      const { id } = await db.write("createAttachment", upload);
      done.push(`message.created ${upload.newMessageId}`, `attachment.created ${id}`);
    }
  }
  return done;
}

onEachDatabase(
  "concurrent writes number each recipient's events without a gap, in the order of positions",
  async (db, t) => {
    const chance = seededChance(t);
    const users = ["a", "b", "c", "d"];
    for (const user of users) await addUser(db, user);
    let ended = false;
    // Two nodes number events at the same time.
    const numbering = [3, 50].map(async (limit) => {
      while (!ended) await db.write("numberEvents", { limit }).catch(onlyCrossed);
    });
    const living = Promise.all(users.map((user, i) => live(db, user, i * 1000, chance)));
    const done = await living.finally(() => {
      ended = true;
      return Promise.all(numbering);
    });
    await numberAll(db);
    for (const [i, user] of users.entries()) {
      const events = await eventsOf(db, user);
      assert.deepEqual(
        events.map(({ number }) => number),
        done[i]!.map((_, at) => at + 1),
      );
      assert.deepEqual(
        events.map(({ type, payload }) => `${type} ${JSON.parse(payload).id}`),
        done[i],
      );
      assert.equal((await lastEvent(db, user)).number, events.length);
    }
    await inOrderOfPositions(db, done.flat().length);
  },
);

onEachDatabase(
  "events are listed in both directions from any number, filtered by type if asked",
  async (db) => {
    for (const user of ["a", "b"]) {
      await addUser(db, user);
      await addContacts(db, user, 1, 9);
    }
    const numbers = async (cursor: number, newer: boolean, limit: number, since = 0, types?: string[]) =>
      (
        await listEvents(db, {
          recipientId: "a",
          cursor,
          newer,
          until: newer ? LAST : 0,
          since,
          limit,
          types: types ?? null,
        })
      ).map(({ number }) => number);
    assert.deepEqual(await numbers(LAST, false, 3), [9, 8, 7]);
    assert.deepEqual(await numbers(3, false, 9), [2, 1]);
    assert.deepEqual(await numbers(0, true, 3), [1, 2, 3]);
    assert.deepEqual(await numbers(7, true, 9), [8, 9]);
    assert.deepEqual(await numbers(9, true, 9), []);
    assert.deepEqual(await numbers(0, true, 9, timeOf(8)), [8, 9]);
    assert.deepEqual(await numbers(0, true, 2, 0, ["contact.created", "contact.deleted"]), [1, 2]);
    assert.deepEqual(await numbers(0, true, 9, 0, ["contact.deleted"]), []);
    assert.equal(await firstNumber(db, "a", timeOf(8)), 8);
    assert.equal(await firstNumber(db, "a", timeOf(10)), undefined);
    assert.equal(await firstNumber(db, "nobody", 0), undefined);
    assert.equal((await lastEvent(db, "nobody")).number, 0);
  },
);

onEachDatabase("erasing old events keeps the last number, and numbering continues", async (db) => {
  for (const user of ["a", "b", "c"]) {
    await addUser(db, user);
    await addContacts(db, user, 1, 6);
  }
  const forget = (before: number, limit = 100) =>
    db.write("forgetEvents", { recipientId: "a", before, limit });
  const numbers = async () => (await eventsOf(db, "a")).map(({ number }) => number);
  assert.equal(await forget(timeOf(1)), 0);
  assert.equal(await forget(timeOf(5), 3), 3);
  assert.equal(await forget(timeOf(5), 3), 1);
  assert.deepEqual(await numbers(), [5, 6]);
  assert.equal(await forget(timeOf(7)), 1);
  assert.deepEqual(await numbers(), []);
  assert.equal((await lastEvent(db, "a")).number, 6);
  const kept = await db.all(sql`SELECT payload FROM events WHERE recipient_id = 'a'`);
  assert.deepEqual(
    kept.map((row) => ({ ...(row as object) })),
    [{ payload: "" }],
  );
  await addContacts(db, "a", 7, 2);
  assert.deepEqual(await numbers(), [7, 8]);
  assert.equal(await forget(timeOf(7)), 1, "the one without a payload goes when it is not the last");
  assert.deepEqual(await numbers(), [7, 8]);
  assert.equal((await eventsOf(db, "b")).length, 6);
  // These are created while the clock is set back, so they only look old.
  for (const i of [9, 10]) await db.write("createContact", { ...contact("a", i), createdAt: timeOf(1) });
  await numberAll(db);
  assert.equal(await forget(timeOf(7)), 0);
  assert.equal(await forget(timeOf(8)), 1);
  const since = {
    recipientId: "a",
    cursor: 0,
    newer: true,
    until: LAST,
    since: timeOf(8),
    limit: ALL,
    types: null,
  };
  assert.deepEqual(
    (await listEvents(db, since)).map(({ number }) => number),
    [8, 9, 10],
  );
  assert.equal(await forget(timeOf(11)), 2);
  assert.deepEqual(await numbers(), []);
  assert.equal((await lastEvent(db, "a")).number, 10);
  await inOrderOfPositions(db, 13);
});

onEachDatabase("recipients with the oldest events are found one after the other", async (db) => {
  for (const [i, user] of ["a", "b", "c", "d"].entries()) {
    await addUser(db, user);
    await addContacts(db, user, 1 + i, 3);
  }
  await db.write("forgetEvents", { recipientId: "b", before: timeOf(99), limit: 100 });
  await db.write("forgetEvents", { recipientId: "c", before: timeOf(4), limit: 100 });
  const oldest = async (after: string, limit: number) =>
    (await oldestEvents(db, after, limit)).map((row) => [row.recipient_id, row.oldest]);
  const all = [
    ["a", timeOf(1)],
    ["b", null],
    ["c", timeOf(4)],
    ["d", timeOf(4)],
  ];
  assert.deepEqual(await oldest("", 100), all);
  assert.deepEqual(await oldest("", 3), all.slice(0, 3));
  assert.deepEqual(await oldest("b", 1), all.slice(2, 3));
  assert.deepEqual(await oldest("d", 9), []);
});

onEachDatabase("erasing a user erases their events, and positions of others continue", async (db) => {
  for (const user of ["a", "b"]) {
    await addUser(db, user);
    await addContacts(db, user, 1, 3);
  }
  const last = await lastPosition(db);
  await db.write("createContact", contact("b", 4));
  await db.write("deleteUser", aDeletion("b"));
  await addContacts(db, "a", 4, 1);
  assert.deepEqual(await eventsOf(db, "b"), []);
  assert.equal(await hasUnnumbered(db), false);
  const behind = await eventsAfter(db, last, 10);
  assert.deepEqual(
    behind.map((row) => row.recipient_id),
    ["a"],
  );
  assert.equal((await eventsOf(db, "a")).length, 4);
});

function onlyCrossed(error: unknown): void {
  assert.equal((error as { code?: string }).code, "unavailable");
}

/** Fails unless positions are unique and the numbers of each recipient rise with them. */
async function inOrderOfPositions(db: Database, count: number): Promise<void> {
  const rows = await eventsAfter(db, 0, ALL);
  assert.equal(rows.length, count);
  assert.equal(rows.at(-1)!.position, await lastPosition(db));
  for (const recipientId of new Set(rows.map((row) => row.recipient_id))) {
    const found = await db.all<{ number: number }>(
      sql`SELECT number FROM events WHERE recipient_id = ${recipientId} ORDER BY position`,
    );
    const numbers = found.map(({ number }) => number);
    assert.deepEqual(
      numbers,
      numbers.toSorted((a, b) => a - b),
    );
  }
}
