// Two nodes on one PostgreSQL: a change on one applies to the other.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createApp } from "../../../src/app.ts";
import { allTokens, revokeToken } from "../../../src/core/people/tokens.ts";
import { allUsers, createFirstUser, deleteUser } from "../../../src/core/people/users.ts";
import { startOn, type TestApp, type TestUser, testConfig, upload } from "../../support/app.ts";
import { commandLine } from "../../support/command.ts";
import { administer, emptyDatabase, LOCKS, testDatabase } from "../../support/engines/postgres.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { scaled } from "../../support/scale.ts";

const SECRET = "s".repeat(32);

async function startNode(t: TestContext, databaseUrl: string): Promise<TestApp> {
  return startOn(t, { ...(await testConfig(t)), databaseUrl, secrets: [SECRET] });
}

async function startNodes(t: TestContext): Promise<{ url: string; nodes: [TestApp, TestApp] }> {
  const url = await testDatabase(t);
  return { url, nodes: [await startNode(t, url), await startNode(t, url)] };
}

function send(
  node: TestApp,
  user: TestUser,
  method: string,
  path: string,
  fields?: object,
): Promise<Response> {
  const body = fields === undefined ? null : JSON.stringify(fields);
  const headers = { ...user.headers, ...(body === null ? {} : { "content-type": "application/json" }) };
  return fetch(node.url + path, { method, headers, body });
}

async function json<T>(response: Promise<Response>, status: number): Promise<T> {
  const answer = await response;
  assert.equal(answer.status, status);
  return (await answer.json()) as T;
}

test("the other node serves at once what one node acknowledged", async (t) => {
  const { nodes } = await startNodes(t);
  const user = await nodes[0].user();
  for (let i = 0; i < scaled(50, 300); i++) {
    const [here, there] = i % 2 ? nodes : [nodes[1], nodes[0]];
    const name = `name ${i}`;
    const fields = { username: name, phone_number: "555" };
    const { id } = await json<{ id: string }>(send(here, user, "POST", "/v1/contacts", fields), 201);
    const path = `/v1/contacts/${id}`;
    assert.equal((await json<{ username: string }>(send(there, user, "GET", path), 200)).username, name);
    await json(send(there, user, "PUT", path, { display_name: name }), 200);
    const { data } = await json<{ data: { display_name: string }[] }>(
      send(here, user, "GET", "/v1/contacts?limit=1"),
      200,
    );
    assert.equal(data[0]!.display_name, name);
    const bytes = randomBytes(1 + (i % 2000));
    const file = await json<{ id: string }>(upload(here.url, user, new File([bytes], name)), 201);
    const { file_url } = await json<{ file_url: string }>(
      send(there, user, "GET", `/v1/attachments/${file.id}`),
      200,
    );
    assert.ok(file_url.startsWith(there.url));
    assert.deepEqual(Buffer.from(await (await fetch(file_url)).arrayBuffer()), bytes);
    for (const gone of [path, `/v1/attachments/${file.id}`]) {
      assert.equal((await send(there, user, "DELETE", gone)).status, 204);
      assert.equal((await send(here, user, "GET", gone)).status, 404);
    }
    // A link that another node signed works here, too.
    assert.equal((await fetch(file_url.replace(there.url, here.url))).status, 404);
  }
});

/** How long another node may accept a revoked token. */
const REVOKED_AFTER_MS = 1000;

async function status(node: TestApp, user: TestUser): Promise<number> {
  return (await send(node, user, "GET", "/v1/contacts?limit=1")).status;
}

test("a revoked token is refused at once on its node, and within a second on the other", async (t) => {
  const { url, nodes } = await startNodes(t);
  const command = await commandLine(t, { PARLEY_DATABASE_URL: url, PARLEY_SECRET: SECRET });
  for (let i = 0; i < scaled(3, 6); i++) {
    const user = await nodes[0].user();
    for (const node of nodes) assert.equal(await status(node, user), 200);
    const [newest] = await allTokens(nodes[0].app.core);
    if (i % 3 === 0) assert.equal((await command.run("token", "revoke", newest!.id)).code, 0);
    else {
      await revokeToken(nodes[i % 2]!.app.core, null, newest!.id);
      assert.equal(await status(nodes[i % 2]!, user), 401, "where it was revoked");
    }
    await sleep(REVOKED_AFTER_MS);
    for (const node of nodes) assert.equal(await status(node, user), 401);
  }
});

const SESSIONS = `SELECT pid FROM pg_stat_activity WHERE datname = current_database()
  AND pid <> pg_backend_pid() AND query ~ 'FROM revocations|advisory_lock|LISTEN'`;

/** The session that has the eraser's lock. */
const HOLDER = `SELECT pid ${LOCKS}
  AND objid::bigint = hashtext('parley eraser')::bigint & 4294967295 LIMIT 1`;

test("a node without its database session trusts no cached token, and loses its claims", async (t) => {
  const { url, nodes } = await startNodes(t);
  const [one, other] = nodes.map((node) => node.app.core.db);
  // The jobs of the first node started first.
  assert.ok(await one!.claim("eraser"));
  assert.equal(await other!.claim("eraser"), false);
  const locked = `SELECT pid ${LOCKS} AND mode = 'ExclusiveLock'`;
  const [pid] = await administer(url, locked);
  await administer(url, `SELECT pg_terminate_backend(${pid})`);
  assert.ok(await eventually(() => other!.claim("eraser")), "the other node takes over");
  // Several claims wait for the lost session at once.
  await Promise.all(["a", "b", "c"].map((work) => one!.claim(work).catch(() => false)));
  const [again] = await administer(url, `${locked} AND pid <> (${HOLDER})`);
  if (again !== undefined) await administer(url, `SELECT pg_terminate_backend(${again})`);
  await eventually(async () => one!.revocations() === null);
  await Promise.all(["a", "b", "c"].map((work) => one!.claim(work).catch(() => false)));
  // PostgreSQL may end the session later.
  let isHeld: boolean | undefined;
  const isAnswered = async () => {
    isHeld = await one!.claim("eraser").catch(() => undefined);
    return isHeld !== undefined;
  };
  assert.ok(await eventually(isAnswered), "the first node has a session again");
  assert.equal(isHeld, false);
  assert.ok(await eventually(async () => one!.revocations() !== null), "the session is opened again");
  const isOneEach = async () => (await administer(url, SESSIONS)).length === 2;
  assert.ok(await eventually(isOneEach), "each node has one session, none is left over");
});

test("nodes that start at once on an empty database create one schema and one first user", async (t) => {
  for (let round = 0; round < scaled(2, 5); round++) {
    const url = await emptyDatabase(t);
    const nodes = await Promise.all([startNode(t, url), startNode(t, url), startNode(t, url)]);
    const tokens = await Promise.all(nodes.map((node) => createFirstUser(node.app.core)));
    assert.equal(tokens.filter((token) => token !== null).length, 1);
    assert.equal((await allUsers(nodes[0]!.app.core)).length, 1);
    assert.equal((await administer(url, "SELECT version FROM schema_version")).length, 1);
    for (const node of nodes) await node.app.stop();
  }
});

test("a newer schema is refused and left unchanged", async (t) => {
  const url = await testDatabase(t);
  await (await startNode(t, url)).app.stop();
  await administer(url, "UPDATE schema_version SET version = 9999, oldest = 9999");
  const config = { ...(await testConfig(t)), databaseUrl: url, secrets: [SECRET] };
  // If it starts, it must be stopped, or the test would not end.
  const started = createApp(config).then((app) => app.stop());
  await assert.rejects(started, /schema version 9999/);
  assert.deepEqual(await administer(url, "SELECT version FROM schema_version"), [9999]);
});

test("one of 50 equal concurrent creates on two nodes is 201, the others are 409", async (t) => {
  const { nodes } = await startNodes(t);
  const user = await nodes[0].user();
  for (let round = 0; round < 3; round++) {
    const fields = { username: `same ${round}`, phone_number: "555" };
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) => send(nodes[i % 2]!, user, "POST", "/v1/contacts", fields)),
    );
    const statuses = answers.map((answer) => answer.status).sort();
    assert.deepEqual(statuses, [201, ...Array(49).fill(409)]);
  }
});

const OWNED: Record<string, string> = {
  users: "id",
  tokens: "user_id",
  members: "user_id",
  contacts: "owner_id",
  messages: "sender_id",
  attachments: "uploader_id",
  grants: "user_id",
};

test("erasing a user on one node leaves nothing of concurrent creates and uploads on the other", async (t) => {
  const { url, nodes } = await startNodes(t);
  for (let round = 0; round < scaled(3, 8); round++) {
    const user = await nodes[0].user();
    let ended = false;
    const write = async (i: number) => {
      for (let n = 0; !ended; n++) {
        const answer = await (n % 2
          ? upload(nodes[1].url, user, new File(["x"], "x"))
          : send(nodes[1], user, "POST", "/v1/contacts", { username: `${i} ${n}`, phone_number: "555" }));
        if (answer.status !== 201) assert.ok([401, 503].includes(answer.status), String(answer.status));
        await answer.body?.cancel();
      }
    };
    const writing = Array.from({ length: 6 }, (_, i) => write(i));
    await sleep(50 + 20 * round);
    await remove(nodes[0], user.id);
    ended = true;
    await Promise.all(writing);
    for (const [table, column] of Object.entries(OWNED)) {
      const rows = await administer(url, `SELECT 1 FROM ${table} WHERE ${column} = '${user.id}'`);
      assert.deepEqual(rows, [], table);
    }
    const loose = "SELECT 1 FROM small_files WHERE attachment_id NOT IN (SELECT id FROM attachments)";
    assert.deepEqual(await administer(url, loose), []);
  }
});

/** Under load by the same user an erasure may conflict too often and fail. */
async function remove(node: TestApp, id: string): Promise<void> {
  const removed = await eventually(() =>
    deleteUser(node.app.core, null, id).then(
      () => true,
      (error) => {
        if (error.code !== "unavailable") throw error;
        return false;
      },
    ),
  );
  assert.ok(removed);
}
