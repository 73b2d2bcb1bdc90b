// Compares the two engines: for any text they return the same pages, cursors, orders and errors.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import type { Database } from "../../src/db/database.ts";
import { openPostgres } from "../../src/db/engines/postgres/postgres.ts";
import { openSqlite } from "../../src/db/engines/sqlite/sqlite.ts";
import { NEWEST } from "../../src/db/page.ts";
import { findAttachment, listAttachments } from "../../src/db/queries/files/attachments.ts";
import {
  type ContactFilter,
  findContactAfter,
  listContacts,
  searchContacts,
} from "../../src/db/queries/people/contact-lists.ts";
import { findContact } from "../../src/db/queries/people/contact-rows.ts";
import { allUsers, findUserByName } from "../../src/db/queries/people/users.ts";
import { findSmallFile } from "../../src/db/queries/storage/small-files.ts";
import { createFuse } from "../../src/util/fuse.ts";
import { phoneDigits, searchKey, usernameKey } from "../../src/util/text.ts";
import { testDatabase } from "../support/engines/postgres.ts";
import { holds } from "../support/property.ts";
import { anEntry, attachment, aUser } from "../support/rows.ts";

async function openBoth(t: TestContext): Promise<[Database, Database]> {
  const folder = await mkdtemp(join(tmpdir(), "parley-engines-"));
  const both: [Database, Database] = [
    openSqlite(join(folder, "parley.db"), createFuse(assert.ifError)),
    await openPostgres(await testDatabase(t)),
  ];
  t.after(async () => {
    for (const db of both) await db.close();
    await rm(folder, { recursive: true, force: true });
  });
  return both;
}

/** Characters that are special in SQL, LIKE, a driver or a collation. */
const ODD = [
  ..."?%_'\"\\$:;,.-~{}[]()aAbBzZ019 ",
  ..."äÄßẞİıſKéÅøÿжΩς",
  ...[
    "e\u0301",
    "😀",
    "👩‍👩‍👧",
    "\u{10ffff}",
    "\ufffd",
    "\u202e",
    "$1",
    "??",
    "--",
    "/*",
    "\\'",
    "::text",
    "%%",
  ],
];
const text = fc.array(fc.constantFrom(...ODD), { minLength: 1, maxLength: 8 }).map((parts) => parts.join(""));
const phone = fc.string({ unit: fc.constantFrom(..."0123456789+-() "), minLength: 3, maxLength: 8 });
const people = fc.array(fc.record({ username: text, display: text, phone }), { minLength: 1, maxLength: 12 });

/** Returns what both databases return, which must be equal: a value, or the code and the members of an error. */
async function same<T>(both: readonly Database[], ask: (db: Database) => Promise<T>): Promise<T> {
  const [here, there] = await Promise.all(
    both.map((db) =>
      ask(db).then(
        (value) => ({ value }),
        ({ code, param, members }) => ({ code, param, members }),
      ),
    ),
  );
  assert.deepEqual(there, here);
  return (here as { value: T }).value;
}

function filters(person: { username: string; display: string; phone: string }): ContactFilter[] {
  const key = searchKey(person.username, person.display);
  const search = key === "" ? undefined : { parts: [key.slice(0, 3), key.slice(1, 2)], digits: ["01", " 0"] };
  return [
    {},
    { usernameKey: usernameKey(person.username) },
    { phoneDigits: phoneDigits(person.phone) },
    { blocked: false, search },
    { blocked: true },
    { blocked: true, search, phoneDigits: phoneDigits(person.phone) },
  ];
}

let owners = 0;

/** Returns ids whose order is not the order of creation. */
const idOf = (kind: string, owner: string, i: number) =>
  `${kind}_${owner}_${String((i * 7) % 100).padStart(3, "0")}`;

test("both engines return the same pages, cursors, orders and errors for contacts with odd names", async (t) => {
  const both = await openBoth(t);
  const property = fc.asyncProperty(
    people,
    fc.boolean(),
    fc.integer({ min: 1, max: 4 }),
    async (list, newer, limit) => {
      const owner = `usr_${++owners}`;
      const user = aUser(owner, { usernameKey: `${owner}?` });
      await same(both, (db) => db.write("createUser", user));
      for (const [i, { username, display, phone }] of list.entries()) {
        const contact = { id: idOf("con", owner, i), ownerId: owner, conversationId: `cnv_${owner}_${i}` };
        const keys = { usernameKey: usernameKey(username), phoneDigits: phoneDigits(phone) };
        const body = JSON.stringify({ username, display_name: display });
        const input = {
          ...contact,
          ...keys,
          searchKey: searchKey(username, display),
          body,
          createdAt: i,
          blocked: false,
          positionId: contact.conversationId,
          limit: 250,
          maxContacts: 0,
        };
        await same(both, (db) =>
          db.write("createContact", { ...input, actId: anEntry().id, tokenId: null, actedById: null }),
        );
        await same(both, (db) => findContact(db, owner, contact.id));
        const update = {
          ownerId: owner,
          id: contact.id,
          displayName: `${display}?`,
          expected: null,
          entry: anEntry(),
        };
        if (i % 3 === 0) await same(both, (db) => db.write("updateContact", update));
        const block = { ownerId: owner, id: contact.id, blockedAt: 1, now: 1 };
        if (i % 2 === 0) await same(both, (db) => db.write("blockContact", block));
      }
      for (const filter of filters(list[0]!)) {
        for (const cursor of [NEWEST, "", idOf("con", owner, 0), idOf("con", owner, list.length)]) {
          const page = { cursor, newer, limit };
          const rows = await same(both, (db) => listContacts(db, owner, filter, page));
          assert.ok(rows.length <= limit + 1);
          const until = await same(both, async (db) => ({
            id: await findContactAfter(db, owner, filter, page, 2),
          }));
          await same(both, (db) => searchContacts(db, owner, filter, page, until.id));
        }
      }
    },
  );
  await holds(property, 60);
});

test("both engines return the same for files with odd names and bytes, and for users with odd names", async (t) => {
  const both = await openBoth(t);
  const bytes = fc.uint8Array({ maxLength: 300 });
  const property = fc.asyncProperty(text, text, bytes, async (name, filename, content) => {
    const owner = `usr_${++owners}`;
    const names = { username: name, usernameKey: usernameKey(name), phoneNumber: filename };
    const user = aUser(owner, { ...names, displayName: filename, avatarUrl: name });
    const findIds = async (db: Database) => (await findUserByName(db, user.usernameKey))?.id;
    const isTaken = (await same(both, findIds)) !== undefined;
    await same(both, (db) => db.write("createUser", user));
    if (isTaken) return;
    const id = `att_${owner}`;
    const fields = {
      ...{ id, filename, fileType: "a/b?", fileSize: content.length, sha256: content, blobKey: id },
      ...{ crc32: 2 ** 32 - 1, bytes: content },
    };
    const newMessageId = `msg_${owner}`;
    const upload = () => ({ ...attachment(owner, 0, {}, fields), newMessageId });
    const plain = ({ sha256, ...rest }: { sha256: Uint8Array }) => ({
      ...rest,
      sha256: Buffer.from(sha256).toString("hex"),
    });
    await same(both, (db) => db.write("createAttachment", upload()));
    await same(both, async (db) => plain((await findAttachment(db, owner, id))!));
    const kept = await same(both, async (db) => Buffer.from((await findSmallFile(db, id))!));
    assert.deepEqual(kept, Buffer.from(content));
    const rename = { userId: owner, id, filename: `${filename}?$1`, expected: null, entry: anEntry() };
    const { filename: renamed } = await same(both, (db) => db.write("renameAttachment", rename));
    assert.equal(renamed, rename.filename);
    const page = { cursor: NEWEST, newer: false, limit: 5 };
    await same(both, async (db) => (await listAttachments(db, owner, undefined, page)).map(plain));
  });
  await holds(property, 100);
  await same(both, async (db) => (await allUsers(db)).map((row) => ({ ...row })));
});
