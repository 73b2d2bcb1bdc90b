// The statements of a snapshot on PostgreSQL, counted on the wire.
import assert from "node:assert/strict";
import { test } from "node:test";
import { startCounted } from "../../support/engines/counting.ts";
import type { Counts } from "../../support/engines/postgres-proxy.ts";
import { add, done, person, read, say, send } from "../../support/people.ts";

/** Other work on the wire adds counts, so the least counts. */
const ROUNDS = 8;

test("a snapshot takes as many statements for many conversations as for a few", async (t) => {
  const { server, count } = await startCounted(t);
  const ann = await person(server, "ann");
  const fill = async (first: number, count: number) => {
    for (let i = first; i < first + count; i++) {
      const { conversation_id } = await add(server, ann, `nobody ${i}`);
      await say(server, ann, conversation_id, "stays");
      const last = await say(server, ann, conversation_id, "is deleted");
      await done(send(server, ann, "DELETE", `/v1/messages/${last}`));
      await read(send(server, ann, "POST", "/v1/groups", { name: `Group ${i}`, members: ["nobody"] }), 201);
    }
  };
  const least: Record<string, Counts> = {};
  const ask = async (name: string) => {
    for (let round = 0; round < ROUNDS; round++)
      await count(least, name, () => read(send(server, ann, "GET", "/v1/snapshot?conversations=100"), 200));
  };
  await fill(0, 1);
  await ask("few");
  await fill(1, 10);
  await ask("many");
  assert.equal(least.many!.statements, least.few!.statements);
  t.diagnostic(`${least.few!.statements} statements`);
});
