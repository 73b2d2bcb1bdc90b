// Two users, or one user many times, at the same moment: on SQLite, and on two nodes of one PostgreSQL.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Limits } from "../../../src/config/limits.ts";
import type { S3Settings } from "../../../src/config/parse.ts";
import { raw, sql } from "../../../src/db/sql.ts";
import { startOn, type TestApp, testConfig, upload } from "../../support/app.ts";
import { testDatabase } from "../../support/engines/postgres.ts";
import { eventually } from "../../support/files-on-disk.ts";
import {
  add,
  type Contact,
  fieldsOf,
  filesOf,
  give,
  type Person,
  person,
  read,
  send,
  used,
} from "../../support/people.ts";
import { scaled } from "../../support/scale.ts";

/** Each race has 200 rounds in the long version (PARLEY_FAULTS=long). */
const PAIR_ROUNDS = scaled(9, 200);
const CROWD_ROUNDS = scaled(2, 200);
const CROWD = 50;
const FILE_BYTES = 1000;

type Nodes = readonly [TestApp, TestApp];

const QUOTA = { userQuotaBytes: 3 * FILE_BYTES };

/** SQLite has one server, used as both nodes. On PostgreSQL, two nodes share a store only if one is given. */
async function start(
  t: TestContext,
  engine: string,
  limits: Partial<Limits> = {},
  store: S3Settings | null = null,
) {
  const config = { ...(await testConfig(t, limits)), store };
  if (engine === "sqlite") {
    const server = await startOn(t, config);
    return [server, server] as Nodes;
  }
  const shared = { databaseUrl: await testDatabase(t), secrets: ["s".repeat(32)] };
  const other = { ...(await testConfig(t, limits)), store };
  return [await startOn(t, { ...config, ...shared }), await startOn(t, { ...other, ...shared })] as Nodes;
}

let people = 0;

async function pair(nodes: Nodes): Promise<[Person, Person]> {
  const number = ++people;
  return [await person(nodes[0], `ann${number}`), await person(nodes[0], `bob${number}`)];
}

async function contactsOf(node: TestApp, who: Person): Promise<Contact[]> {
  return (await read<{ data: Contact[] }>(send(node, who, "GET", "/v1/contacts"), 200)).data;
}

/** Checks that each contact's owner is in its conversation and nobody else is, and that peers share one. */
async function areConsistent(node: TestApp, users: readonly Person[]): Promise<void> {
  const { db } = node.app.core;
  const conversations: string[] = [];
  for (const user of users) {
    const contacts = await contactsOf(node, user);
    const me = await read<{ conversation_id: string }>(send(node, user, "GET", "/v1/me"), 200);
    const rows = await db.all<{ id: string }>(
      sql`SELECT conversation_id AS id FROM members WHERE user_id = ${user.id}`,
    );
    const known = [me.conversation_id, ...contacts.map((contact) => contact.conversation_id)];
    assert.deepEqual(rows.map(({ id }) => id).sort(), known.sort(), `the conversations of ${user.name}`);
    conversations.push(...contacts.map((contact) => contact.conversation_id));
    await give(node, user, me.conversation_id, "x");
  }
  if (conversations.length === users.length) assert.equal(new Set(conversations).size, 1, "peers share one");
}

for (const engine of ["sqlite", "postgres"]) {
  test(`${engine}: two users who add each other at once share one conversation`, async (t) => {
    const nodes = await start(t, engine);
    for (let round = 0; round < PAIR_ROUNDS; round++) {
      const [ann, bob] = await pair(nodes);
      const [toBob, toAnn] = await Promise.all([add(nodes[0], ann, bob.name), add(nodes[1], bob, ann.name)]);
      assert.equal(toBob.conversation_id, toAnn.conversation_id);
      await areConsistent(nodes[0], [ann, bob]);
      await give(nodes[1], bob, toAnn.conversation_id, "to both");
      assert.equal((await filesOf(nodes[0], ann))[0]!.filename, "to both");
    }
  });

  test(`${engine}: one user adds the other, who deletes them at the same moment`, async (t) => {
    const nodes = await start(t, engine);
    const met = { joined: 0, begun: 0 };
    for (let round = 0; round < PAIR_ROUNDS; round++) {
      const [ann, bob] = await pair(nodes);
      const toAnn = await add(nodes[1], bob, ann.name);
      const file = await give(nodes[1], bob, toAnn.conversation_id, "from bob");
      const [toBob, gone] = await Promise.all([
        after(round % 3, () => add(nodes[0], ann, bob.name)),
        after(Math.floor(round / 3) % 3, () => send(nodes[1], bob, "DELETE", `/v1/contacts/${toAnn.id}`)),
      ]);
      assert.equal(gone.status, 204);
      // Either she was first and keeps what he had sent, or he had left and it was gone.
      const joined = toBob.conversation_id === toAnn.conversation_id;
      met[joined ? "joined" : "begun"]++;
      assert.deepEqual(
        (await filesOf(nodes[0], ann)).map(({ id }) => id),
        joined ? [file] : [],
      );
      assert.deepEqual(await filesOf(nodes[0], bob), []);
      await areConsistent(nodes[0], [ann, bob]);
      assert.equal((await add(nodes[1], bob, ann.name)).conversation_id, toBob.conversation_id);
      await areConsistent(nodes[1], [ann, bob]);
    }
    t.diagnostic(JSON.stringify(met));
  });

  test(`${engine}: of ${CROWD} concurrent uploads with room for three, three succeed`, async (t) => {
    const nodes = await start(t, engine, QUOTA);
    for (let round = 0; round < CROWD_ROUNDS; round++) {
      const [ann] = await pair(nodes);
      const upload = round % 2 ? announced : streamed;
      const answers = await crowd((i) => upload(nodes[i % 2]!, ann));
      const codes = answers
        .map(({ status, body }) => (status === 201 ? "201" : `${status} ${body.code}`))
        .sort();
      const refused = Array(CROWD - 3).fill("507 quota_exceeded");
      assert.deepEqual(codes, ["201", "201", "201", ...refused], upload.name);
      assert.equal((await filesOf(nodes[0], ann)).length, 3);
      assert.equal(await used(nodes[0], ann), QUOTA.userQuotaBytes);
      assert.ok(await eventually(async () => (await rows(nodes[0], "reservations")) === 0));
    }
  });

  test(`${engine}: ${CROWD} concurrent requests with the same key take effect once`, async (t) => {
    const nodes = await start(t, engine);
    const statuses: Record<string, number> = {};
    for (let round = 0; round < CROWD_ROUNDS; round++) {
      const [ann, bob] = await pair(nodes);
      const key = { "idempotency-key": "key" };
      const post = (node: TestApp) => send(node, ann, "POST", "/v1/contacts", fieldsOf(bob.name), key);
      const answers = await crowd((i) =>
        round % 2 ? announced(nodes[i % 2]!, ann, key) : post(nodes[i % 2]!),
      );
      const done = answers.filter(({ status }) => status === 201);
      assert.equal(new Set(done.map(({ body }) => body.id)).size, 1);
      assert.equal(done.filter(({ replayed }) => !replayed).length, 1);
      for (const { status, body } of answers) {
        if (status !== 201) assert.deepEqual([status, body.code], [409, "idempotency_in_progress"]);
        statuses[status] = (statuses[status] ?? 0) + 1;
      }
      assert.equal((await contactsOf(nodes[1], ann)).length, round % 2 ? 0 : 1);
      assert.equal((await filesOf(nodes[1], ann)).length, round % 2 ? 1 : 0);
      assert.equal(await used(nodes[1], ann), round % 2 ? FILE_BYTES : 0);
    }
    t.diagnostic(JSON.stringify(statuses));
  });
}

/** Alternates which of the two is first. */
function after<T>(ms: number, ask: () => Promise<T>): Promise<T> {
  return ms === 0 ? ask() : sleep(ms).then(ask);
}

interface Answer {
  status: number;
  replayed: boolean;
  body: { id?: string; code?: string };
}

function crowd(ask: (i: number) => Promise<Response>): Promise<Answer[]> {
  return Promise.all(
    Array.from({ length: CROWD }, async (_, i) => {
      const answer = await ask(i);
      const replayed = answer.headers.get("idempotent-replayed") === "true";
      return { status: answer.status, replayed, body: (await answer.json()) as Answer["body"] };
    }),
  );
}

function announced(node: TestApp, who: Person, headers: Record<string, string> = {}): Promise<Response> {
  const asked = { ...who, headers: { ...who.headers, ...headers } };
  return upload(node.url, asked, new File([Buffer.alloc(FILE_BYTES)], "a"));
}

/** Sends a body without Content-Length. */
async function streamed(node: TestApp, who: Person): Promise<Response> {
  const form = new FormData();
  form.set("file", new File([Buffer.alloc(FILE_BYTES)], "a"));
  const { body, headers } = new Response(form);
  return fetch(`${node.url}/v1/attachments`, {
    method: "POST",
    headers: { ...who.headers, "content-type": headers.get("content-type")! },
    body,
    duplex: "half",
  });
}

async function rows(node: TestApp, table: string): Promise<number> {
  const row = await node.app.core.db.get<{ count: number }>(sql`SELECT COUNT(*) AS count FROM ${raw(table)}`);
  return row!.count;
}
