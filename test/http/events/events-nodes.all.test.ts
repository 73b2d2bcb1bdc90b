// Streams that are closed and resumed at random, on one node and on two nodes that write.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { allTokens, revokeToken } from "../../../src/core/people/tokens.ts";
import { updateUser } from "../../../src/core/people/users.ts";
import { startOn, type TestApp, testConfig } from "../../support/app.ts";
import { commandLine, tokenOf } from "../../support/command.ts";
import { testDatabase } from "../../support/engines/postgres.ts";
import { allEvents, listen, type TestEvent } from "../../support/event-stream.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { add, fieldsOf, give, type Person, type Place, person, read, send } from "../../support/people.ts";
import { type Chance, seededChance } from "../../support/scale.ts";

const SECRET = "s".repeat(32);
const RESUMES = 20;

async function startNode(t: TestContext, databaseUrl: string): Promise<TestApp> {
  return startOn(t, { ...(await testConfig(t)), databaseUrl, secrets: [SECRET] });
}

async function startNodes(t: TestContext): Promise<[TestApp, TestApp]> {
  const url = await testDatabase(t);
  return [await startNode(t, url), await startNode(t, url)];
}

/** Leaves out what depends on the node and the time of the read: the payload is rendered for each read. */
function plain({ payload: { id }, notify: _, ...event }: TestEvent): unknown {
  return { ...event, payload: { id } };
}

/** Writes random changes on a server until it is stopped. */
function write(place: Place, who: Person, conversation: string, name: string, chance: Chance) {
  let stopped = false;
  const run = async () => {
    for (let i = 0; !stopped; i++) {
      const id = await give(place, who, conversation, `${name} ${i}`);
      if (chance() < 0.5)
        await read(send(place, who, "PUT", `/v1/attachments/${id}`, { filename: `${name} ${i} again` }), 200);
      if (chance() < 0.5)
        assert.equal((await send(place, who, "DELETE", `/v1/attachments/${id}`)).status, 204);
      await add(place, who, `${name} ${i}`);
    }
  };
  const ended = run();
  return {
    async stop() {
      stopped = true;
      await ended;
    },
  };
}

/** Two users write to their conversation on all servers, and the stream of one of them is closed again and again. */
async function resume(t: TestContext, servers: TestApp[]): Promise<void> {
  const chance = seededChance(t);
  const any = () => servers[Math.floor(chance() * servers.length)]!;
  const [ann, bob] = [await person(servers[0]!, "ann"), await person(servers[0]!, "bob")];
  let stream = await listen(t, any(), bob);
  const { conversation_id } = await add(servers[0]!, ann, "bob");
  await add(servers[0]!, bob, "ann");
  // On different nodes, because a user's files are counted one after another.
  const writers = [
    write(servers[0]!, ann, conversation_id, "ann", chance),
    write(servers.at(-1)!, bob, conversation_id, "bob", chance),
  ];
  const heard: TestEvent[] = [];
  for (let resumes = 0; resumes < RESUMES; resumes++) {
    await stream.wait(1 + Math.floor(chance() * 10));
    stream.close();
    await stream.ended;
    heard.push(...stream.events);
    stream = await listen(t, any(), bob, { after: heard.at(-1)!.id });
  }
  await Promise.all(writers.map((writer) => writer.stop()));
  await add(any(), bob, "the last");
  const isLast = (event: TestEvent | undefined) => event?.payload.username === "the last";
  assert.ok(await eventually(async () => isLast(stream.events.at(-1))), "all is heard");
  heard.push(...stream.events);
  const all = await allEvents(any(), bob);
  assert.deepEqual(heard.map(plain), all.map(plain));
  t.diagnostic(`${heard.length} events, ${RESUMES} resumes`);
}

test("a stream that is resumed on either of two writing nodes has no gap and repeats nothing", async (t) => {
  await resume(t, await startNodes(t));
});

test("revoking a token on one node ends its streams on the other", async (t) => {
  const [one, other] = await startNodes(t);
  const ann = await person(one, "ann");
  const stream = await listen(t, other, ann);
  const [token] = await allTokens(one.app.core);
  await revokeToken(one.app.core, null, token!.id);
  await stream.ended;
});

test("pausing a user on one node ends their streams on the other, which refuses them", async (t) => {
  const [one, other] = await startNodes(t);
  const ann = await person(one, "ann");
  const stream = await listen(t, other, ann);
  await updateUser(one.app.core, null, ann.id, { paused: true }, null);
  await stream.ended;
  const status = async () => (await fetch(`${other.url}/v1/me`, { headers: ann.headers })).status;
  assert.equal(await status(), 403);
  await updateUser(one.app.core, null, ann.id, { paused: false }, null);
  assert.ok(await eventually(async () => (await status()) === 200));
});

test("another node continues the numbers of events if the numbering node is killed", async (t) => {
  const databaseUrl = await testDatabase(t);
  const command = await commandLine(t, { PARLEY_DATABASE_URL: databaseUrl, PARLEY_SECRET: SECRET });
  const doomed = await command.serve();
  const token = tokenOf(doomed);
  const admin: Person = { id: "", name: "admin", token, headers: { authorization: `Bearer ${token}` } };
  await add(command, admin, "the first");
  const other = await startNode(t, databaseUrl);
  assert.ok(await eventually(async () => (await allEvents(other, admin)).length === 1));
  assert.equal(await other.app.core.db.claim("events"), false, "the first node has it");
  const stream = await listen(t, other, admin);
  const acknowledged: string[] = [];
  const load = async (place: Place, name: string) => {
    for (let i = 0; acknowledged.length < 500; i++) {
      const answering = send(place, admin, "POST", "/v1/contacts", fieldsOf(`${name} ${i}`));
      const answer = await answering.catch(() => undefined);
      if (!answer) return;
      acknowledged.push((await read<{ id: string }>(Promise.resolve(answer), 201)).id);
    }
  };
  const loads = [load(command, "doomed"), load(other, "other")];
  await sleep(300);
  doomed.process.kill("SIGKILL");
  await Promise.all(loads);
  assert.ok(await eventually(() => other.app.core.db.claim("events")), "it is taken over");
  await add(other, admin, "the last");
  assert.ok(await eventually(async () => stream.events.at(-1)?.payload.username === "the last"));
  const all = await allEvents(other, admin);
  assert.deepEqual(stream.events, all.slice(1));
  const heard = new Set(stream.events.map(({ payload }) => payload.id));
  assert.deepEqual(
    acknowledged.filter((id) => !heard.has(id)),
    [],
  );
  assert.equal(heard.size, stream.events.length, "each comes once");
  t.diagnostic(`${acknowledged.length} acknowledged, ${stream.events.length} events`);
});
