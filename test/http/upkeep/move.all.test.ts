import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { ClientBase } from "pg";
import { migratePostgres } from "../../../src/db/engines/postgres/migrate.ts";
import { openPostgres } from "../../../src/db/engines/postgres/postgres.ts";
import { type CommandLine, commandLine, pushKeyOf, tokenOf } from "../../support/command.ts";
import { administer, emptyDatabase, LOCKS } from "../../support/engines/postgres.ts";
import { allEvents, type TestEvent } from "../../support/event-stream.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { add, type Person, read, send } from "../../support/people.ts";
import { receiver } from "../../support/receiver.ts";

const SECRET = "the secret of the new engines and it is long enough";

/** The size of a file that is not in the database, in bytes. */
const LARGE = 50_000;

/** Returns a data folder with one contact and one file outside of the database, after its server has stopped. */
async function stopped(t: TestContext): Promise<CommandLine> {
  const command = await commandLine(t);
  const server = await command.serve();
  const headers = { authorization: `Bearer ${tokenOf(server)}` };
  const body = new URLSearchParams({ username: "bob", phone_number: "555" });
  assert.equal((await fetch(`${command.url}/v1/contacts`, { method: "POST", headers, body })).status, 201);
  const form = new FormData();
  form.set("file", new File(["x".repeat(LARGE)], "large.txt"));
  const uploaded = await fetch(`${command.url}/v1/attachments`, { method: "POST", headers, body: form });
  assert.equal(uploaded.status, 201);
  const started = await fetch(`${command.url}/v1/uploads?filename=a.txt`, {
    method: "POST",
    headers: { ...headers, "upload-complete": "?0", "content-type": "application/octet-stream" },
    body: "begun",
  });
  assert.equal(started.status, 201);
  assert.equal(await server.stop(), 0);
  return command;
}

async function refused(command: CommandLine, args: string[], reason: RegExp): Promise<void> {
  const { code, stderr } = await command.run("move", ...args);
  assert.equal(code, 2, stderr);
  assert.match(stderr, reason);
  assert.doesNotMatch(stderr, /\n {4}at /, "no stack for an error that a person can fix");
}

test("parley move explains wrong targets, and never splits a data folder", async (t) => {
  const command = await stopped(t);
  const other = join(command.env.HOME!, "other");
  await refused(command, [], /--to-database URL, --to-store URL, or both/);
  await refused(command, ["--to-database", "mysql://host/db"], /neither a complete PostgreSQL or S3 URL/);
  await refused(command, ["--to-database", "", "--to-store", ""], /neither a complete/);
  await refused(command, ["--to-database", "postgres://a:b#c@host/d"], /encode #/);
  await refused(command, ["--to-store", "s3://x?nonsense=1"], /neither a complete/);
  await refused(command, ["--to-database", other], /Move both/);
  await refused(command, ["--to-store", other], /Move both/);
  await refused(command, ["--to-database", other, "--to-store", `${other}2`], /the same path/);
  const here = command.env.PARLEY_DATA!;
  await refused(command, ["--to-database", here, "--to-store", here], /already there/);
  command.env.PARLEY_DATA = join(command.env.HOME!, "nothing");
  await refused(command, ["--to-database", other, "--to-store", other], /There is no Parley/);
});

test("a move locks its target even while a slow database creates the tables", async (t) => {
  const target = await emptyDatabase(t);
  const { promise: isSeen, resolve: go } = Promise.withResolvers<void>();
  const slowly = async (client: ClientBase) => {
    await isSeen;
    await migratePostgres(client);
  };
  const opening = openPostgres(target, slowly, true);
  t.after(() => opening.then((db) => db.close()));
  const locks = () => administer(target, `SELECT pid ${LOCKS} AND mode = 'ExclusiveLock'`);
  assert.ok(await eventually(async () => (await locks()).length === 1));
  go();
  assert.equal(await (await opening).claim("move"), true);
});

test("a move needs exclusive use of its source and target", async (t) => {
  const command = await stopped(t);
  const target = await emptyDatabase(t);
  const server = await command.serve();
  await refused(command, ["--to-database", target], /Another Parley serves this data folder/);
  assert.equal(await server.stop(), 0);
  const used = await openPostgres(target);
  t.after(() => used.close());
  await refused(command, ["--to-database", target], /Stop them all first/);
  await used.close();
  const alone = await openPostgres(target, undefined, true);
  t.after(() => alone.close());
  await assert.rejects(openPostgres(target), /A move of this database is running/);
  await administer(target, `SELECT pg_terminate_backend(pid) ${LOCKS} AND mode = 'ExclusiveLock'`);
  // A claim while the connection is lost may succeed or fail.
  const reason = () => alone.claim("move").then(() => "none", String);
  const told = async () => /others may have used it/.test(await reason());
  assert.ok(await eventually(told), await reason());
});

test("a database of an interrupted move serves nothing, and accepts no other move", async (t) => {
  const command = await stopped(t);
  const target = await emptyDatabase(t);
  const db = await openPostgres(target);
  t.after(() => db.close());
  await db.write("beginMove", { from: "elsewhere" });
  await db.close();
  await refused(command, ["--to-database", target], /Another move .* from elsewhere/);
  const env = { PARLEY_DATABASE_URL: target, PARLEY_SECRET: SECRET };
  Object.assign(command.env, env);
  await assert.rejects(command.serve(), /A move from elsewhere into this database did not end/);
  for (const other of [["user", "list"], ["check"]]) {
    const { code, stderr } = await command.run(...other);
    assert.equal(code, 2);
    assert.match(stderr, /did not end/);
  }
});

test("a move refuses a database with rows, and notices changed rows", async (t) => {
  const command = await stopped(t);
  const target = await emptyDatabase(t);
  assert.equal((await command.run("move", "--to-database", target)).code, 0);
  await refused(command, ["--to-database", target], /already has rows/);
  await administer(target, `INSERT INTO moves VALUES ('${command.env.PARLEY_DATA}')`);
  await administer(target, "UPDATE contacts SET version = 7");
  await refused(command, ["--to-database", target], /rows of contacts differ/);
});

test("a move reports a missing file and moves everything else", async (t) => {
  const command = await stopped(t);
  const blobs = join(command.env.PARLEY_DATA!, "blobs");
  const files = (await readdir(blobs, { recursive: true })).map((name) => join(blobs, name));
  // The unfinished upload has a file, too.
  await rm(files.find((path) => statSync(path).size === LARGE)!);
  const other = join(command.env.HOME!, "other");
  const { code, stdout, stderr } = await command.run("move", "--to-database", other, "--to-store", other);
  assert.equal(code, 1, stderr);
  assert.match(stderr, /"large\.txt" cannot be moved: its bytes are missing/);
  assert.match(stdout, /Moved and compared 0 files/);
  assert.match(stderr, /^Without 1 unfinished upload: /m);
  command.env.PARLEY_DATA = other;
  await command.serve();
});

test("a move does not complete without its store", async (t) => {
  const command = await stopped(t);
  Object.assign(command.env, {
    PARLEY_STORE: "s3://bucket?endpoint=http://127.0.0.1:9",
    AWS_ACCESS_KEY_ID: "x",
    AWS_SECRET_ACCESS_KEY: "x",
  });
  const other = join(command.env.HOME!, "other");
  const { code, stderr } = await command.run("move", "--to-database", other, "--to-store", other);
  assert.equal(code, 2, stderr);
  delete command.env.PARLEY_STORE;
  command.env.PARLEY_DATA = other;
  await assert.rejects(command.serve(), /did not end/);
});

/** Leaves out file links, which depend on the server. */
function plain(events: TestEvent[]): unknown[] {
  return JSON.parse(JSON.stringify(events), (key, value) => (key === "file_url" ? undefined : value));
}

test("webhooks and push subscriptions continue after a move, even if the last events were erased", async (t) => {
  const command = await stopped(t);
  Object.assign(command.env, { PARLEY_WEBHOOKS_ALLOW_PRIVATE: "true", PARLEY_SECRET: SECRET });
  const token = (
    await command.run(
      "token",
      "create",
      "admin",
      "--scope",
      "admin",
      "--scope",
      "contacts:read",
      "--scope",
      "contacts:write",
      "--scope",
      "events:read",
    )
  ).stdout.trim();
  const admin: Person = { id: "", name: "admin", token, headers: { authorization: `Bearer ${token}` } };
  assert.equal((await command.run("user", "add", "bob")).code, 0);
  const his = (await command.run("token", "create", "bob")).stdout.trim();
  const bob: Person = { id: "", name: "bob", token: his, headers: { authorization: `Bearer ${his}` } };
  const to = await receiver(t);
  let server = await command.serve();
  const hook = { url: to.url, all_users: true, events: ["contact.created"] };
  await read(send(command, admin, "POST", "/v1/webhooks", hook), 201);
  for (const name of ["a", "b", "c"]) await add(command, bob, name);
  await to.wait(3);
  const key = await pushKeyOf(command, admin.headers);
  await server.stop();
  assert.equal((await command.run("user", "remove", "bob")).code, 0);
  const folder = join(command.env.HOME!, "other");
  for (const target of [await emptyDatabase(t), folder]) {
    const args =
      target === folder ? ["--to-database", folder, "--to-store", folder] : ["--to-database", target];
    const { code, stderr } = await command.run("move", ...args);
    assert.equal(code, 0, stderr);
    delete command.env.PARLEY_DATABASE_URL;
    Object.assign(command.env, target === folder ? { PARLEY_DATA: folder } : { PARLEY_DATABASE_URL: target });
    const had = to.received.length;
    server = await command.serve();
    for (let i = 0; i < 4; i++) await add(command, admin, `${had} ${i}`);
    await to.wait(had + 4);
    assert.equal(await pushKeyOf(command, admin.headers), key);
    await server.stop();
  }
});

test("events move with their numbers, which continue, in both directions", async (t) => {
  const command = await stopped(t);
  const token = (await command.run("token", "create", "admin")).stdout.trim();
  const admin: Person = { id: "", name: "admin", token, headers: { authorization: `Bearer ${token}` } };
  let before: unknown[] = [];
  const serveOn = async (count: number) => {
    const server = await command.serve();
    const there = plain(await allEvents(command, admin));
    assert.deepEqual(there.slice(0, before.length), before);
    assert.equal(there.length, count);
    await add(command, admin, `friend ${count}`);
    const isTold = async () => (await allEvents(command, admin)).length === count + 1;
    assert.ok(await eventually(isTold), "the next event");
    before = plain(await allEvents(command, admin));
    assert.equal(new Set(before.map((event) => (event as TestEvent).id)).size, count + 1);
    assert.equal(await server.stop(), 0);
  };
  const [first, second] = [await emptyDatabase(t), await emptyDatabase(t)];
  const moveTo = async (...args: string[]) => {
    const { code, stderr } = await command.run("move", ...args);
    assert.equal(code, 0, stderr);
  };
  await serveOn(3);
  await moveTo("--to-database", first);
  Object.assign(command.env, { PARLEY_DATABASE_URL: first, PARLEY_SECRET: SECRET });
  await serveOn(4);
  // As after a server was killed right after a commit.
  await administer(
    first,
    `INSERT INTO outbox (recipient_id, type, conversation_id, created_at, payload)
     SELECT id, 'contact.updated', 'cnv_x', 1900000000000, '{"id":"con_late"}' FROM users`,
  );
  const folder = join(command.env.HOME!, "other");
  await moveTo("--to-database", folder, "--to-store", folder);
  delete command.env.PARLEY_DATABASE_URL;
  command.env.PARLEY_DATA = folder;
  await serveOn(6);
  assert.deepEqual((before[5] as TestEvent).payload, { id: "con_late" });
  await moveTo("--to-database", second);
  command.env.PARLEY_DATABASE_URL = second;
  await serveOn(7);
});
