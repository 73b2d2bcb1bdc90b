// How PostgreSQL executes every statement of a server, in tables without statistics.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import pg from "pg";
import { SCOPES } from "../../src/core/people/tokens.ts";
import type { Database } from "../../src/db/database.ts";
import { writes } from "../../src/db/writes.ts";
import { runAcceptance } from "../support/acceptance.ts";
import { startOn, testConfig } from "../support/app.ts";
import { type Explained, type PlanNode, startExplained } from "../support/engines/explained-postgres.ts";
import { noPostgres, type PostgresSource } from "../support/engines/postgres.ts";
import { hook, LIMITS } from "../support/hooks.ts";
import { receiver } from "../support/receiver.ts";
import { aDeletion, anEntry, aUser } from "../support/rows.ts";
import { isLong } from "../support/scale.ts";
import { fill, ROWS } from "./many-rows.ts";

/** Tables with at most one row, or one for each running backup or each secret of a move. */
const SMALL = new Set([
  ...["event_positions", "revocations", "schema_version", "reindexing", "holds", "carried_secrets"],
]);
/** How many rows one node of a plan may read. */
const MAX_READ = ROWS / 10;

function nodesOf(plan: PlanNode): PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}

function readBy(node: PlanNode): number {
  const removed = [
    "Rows Removed by Filter",
    "Rows Removed by Join Filter",
    "Rows Removed by Index Recheck",
  ] as const;
  const rows = removed.reduce((sum, name) => sum + (node[name] ?? 0), node["Actual Rows"]);
  return rows * node["Actual Loops"];
}

function checkPlan({ Plan, JIT, ...query }: Explained): void {
  const told = () => `${query["Query Text"]}\n${JSON.stringify(Plan, null, 1)}`;
  assert.equal(JIT, undefined, told());
  for (const node of nodesOf(Plan)) {
    if (node["Node Type"] === "Seq Scan") assert.ok(SMALL.has(node["Relation Name"]!), told());
    assert.ok(readBy(node) < MAX_READ, told());
  }
}

/** Records the names of the writes that run from now on. */
function noteWrites(t: TestContext): Set<string> {
  const done = new Set<string>();
  const all: Record<string, (input: never) => unknown> = writes;
  const before = { ...all };
  t.after(() => Object.assign(all, before));
  for (const [name, write] of Object.entries(before)) {
    const noted = (input: never) => {
      done.add(name);
      if (name === "runIdempotent") done.add((input as { name: string }).name);
      return write(input);
    };
    all[name] = Object.assign(noted, write);
  }
  return done;
}

/** Runs the writes of timers that no test waits for, and rare writes of other commands. */
async function doRareWrites(db: Database, userId: string): Promise<void> {
  const [now, limit] = [2, 250];
  const hold = { name: "hold", now, until: 9 };
  const intent = { blobKey: "blob", until: 9 };
  await db.write("placeHold", hold);
  await db.write("renewHold", hold);
  await db.write("dropHold", hold);
  await db.write("createIntent", intent);
  await db.write("renewIntent", intent);
  await db.write("dropIntent", intent);
  await db.write("lapseIntents", { now });
  await db.write("lapseReservations", { now });
  await db.write("forgetDeliveries", { before: now, limit });
  await db.write("forgetEntries", { before: "aud_00000500", limit });
  await db.write("forgetEvents", { recipientId: userId, before: now, limit });
  await db.write("forgetExpiredTokens", { before: now, limit });
  await db.write("forgetKeys", { now, limit });
  await db.write("forgetClientIds", { now, limit });
  await db.write("forgetSecrets", { now });
  await db.write("releaseStorage", { userId, id: "res" });
  const identity = { issuer: "a", subject: "b" };
  await db.write("createIdentity", { identity, user: aUser("usr_new"), linksUsernames: true });
  const claims = { display_name: "A", avatar_url: undefined, phone_number: undefined };
  await db.write("takeProfile", { userId: "usr_new", claims, entry: anEntry() });
  const update = { id: "usr_new", changes: {}, picturesUrl: "", expected: null };
  for (const [other, isPaused] of [[{ issuer: "a", subject: "c" }, true] as const, [null, false] as const])
    await db.write("updateAccount", {
      ...{ ...update, entry: anEntry() },
      ...{ identity: other, linkEntry: anEntry(), isPaused, pauseEntry: anEntry() },
    });
  const linked = { identity, linkEntry: anEntry() };
  await db.write("createLinkedUser", { ...aUser("usr_linked"), ...linked });
  await db.write("deleteIdentities", { userId: "usr_new" });
  await db.write("clearUnscanned", { id: "att_00000001" });
  await db.write("setPlaceholder", { id: "att_00000001", placeholder: "a" });
}

const SOURCES: PostgresSource[] = isLong ? ["bundled", "debian"] : ["debian"];

for (const source of SOURCES) {
  test(`postgres, ${source}: nothing that a server asks is compiled, scans a table or reads many rows in vain`, {
    skip: noPostgres[source],
    timeout: 600_000,
  }, async (t) => {
    const { url, explained } = await startExplained(t, source);
    const done = noteWrites(t);
    const settings = { databaseUrl: url, secrets: ["s".repeat(32)] };
    // The first of two nodes sends webhooks, also to this machine, which the acceptance suite's node may not.
    const sender = await startOn(t, { ...(await testConfig(t, LIMITS)), ...settings });
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await fill(client, "no statistics");
    await client.end();
    const server = await startOn(t, { ...(await testConfig(t)), ...settings });
    // Those of filling the tables.
    await explained();
    const [user, second, third] = [
      // The acceptance suite expects that its token acts as nobody else.
      await sender.user({ scopes: SCOPES.filter((scope) => scope !== "act_as") }),
      await sender.user(),
      await sender.user(),
    ];
    const to = await receiver(t);
    for (const each of [user, third]) await hook(sender, each, to);
    await runAcceptance(t, {
      PARLEY_TEST_URL: server.url,
      PARLEY_TEST_TOKEN: user.token,
      PARLEY_TEST_TOKEN_2: second.token,
    });
    const gone = aDeletion(third.id, { deletedAt: Date.now() });
    await server.app.core.db.write("deleteUser", gone);
    await doRareWrites(server.app.core.db, user.id);
    await Promise.all([sender, server].map(({ app }) => app.stop()));
    const all = await explained();
    for (const each of all) checkPlan(each);
    assert.ok(done.size > 60, `only ${done.size} kinds of writes`);
    t.diagnostic(`${all.length} statements, ${done.size} kinds of writes`);
  });
}
