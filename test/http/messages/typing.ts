// Who types and who listens, on SQLite, and on two nodes of PostgreSQL: there all type on one of them and listen on the other.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { hasUnnumbered } from "../../../src/db/queries/events/events.ts";
import type { Clock } from "../../../src/util/clock.ts";
import { startApp, startOn, type TestApp, testConfig } from "../../support/app.ts";
import type { Json } from "../../support/asker.ts";
import { testDatabase } from "../../support/engines/postgres.ts";
import type { Stream, TestEvent } from "../../support/event-stream.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { LIMITS } from "../../support/hooks.ts";
import { add, type Person, type Place, person, read, say, send } from "../../support/people.ts";

export const PAUSE_MS = 3000;
const SECRET = "s".repeat(32);

/** Where everybody types, and where everybody listens. */
export type Places = [typing: TestApp, listening: TestApp];

export function onEachEngine(
  name: string,
  run: (t: TestContext, places: Places, time: Time) => Promise<void>,
): void {
  test(`${name} (SQLite)`, async (t) => {
    const time = new Time();
    const server = await startApp(t, LIMITS, { clock: time.clock });
    await run(t, [server, server], time);
  });
  test(`${name} (PostgreSQL, two nodes)`, async (t) => {
    const time = new Time();
    const databaseUrl = await testDatabase(t);
    const node = async () =>
      startOn(t, { ...(await testConfig(t, LIMITS)), databaseUrl, secrets: [SECRET] }, { clock: time.clock });
    await run(t, [await node(), await node()], time);
  });
}

/** A clock that stands still until it is moved. */
export class Time {
  now = Date.UTC(2030, 0, 1);
  readonly clock: Clock = () => this.now;
}

/** Waits until no stream that is opened now is told of what was before. */
async function numbered({ app: { core } }: TestApp): Promise<void> {
  assert.ok(await eventually(async () => !(await hasUnnumbered(core.db))));
}

/** Ann and Bob have each other as contacts. */
export async function pair(server: TestApp) {
  const [ann, bob] = [await person(server, "ann"), await person(server, "bob")];
  const { conversation_id: conversation, id: contact } = await add(server, ann, "bob");
  const back = await add(server, bob, "ann");
  await numbered(server);
  return { ann, bob, conversation, contact, back: back.id };
}

/** Ann, Bob and Cat in a group of Ann's. */
export async function trio(server: TestApp) {
  const [ann, bob, cat] = [
    await person(server, "ann"),
    await person(server, "bob"),
    await person(server, "cat"),
  ];
  for (const who of [bob, cat]) await add(server, who, "ann");
  const fields = { name: "Climbing", members: ["bob", "cat"] };
  const group = await read<Json>(send(server, ann, "POST", "/v1/groups", fields), 201);
  for (const who of [bob, cat]) await read(send(server, who, "POST", `/v1/groups/${group.id}/join`), 200);
  await numbered(server);
  return { ann, bob, cat, conversation: String(group.conversation_id), group: `/v1/groups/${group.id}` };
}

export const post = (server: Place, who: Person, conversation: string, headers = {}) =>
  send(server, who, "POST", `/v1/conversations/${conversation}/typing`, undefined, headers);

export async function type(server: TestApp, who: Person, conversation: string): Promise<void> {
  const answer = await post(server, who, conversation);
  assert.deepEqual([answer.status, await answer.text()], [204, ""]);
}

/** Who was shown to be typing. */
export const typists = (events: readonly TestEvent[], ...people: Person[]) =>
  events
    .filter(({ type }) => type === "typing")
    .map(({ payload }) => people.find(({ id }) => id === payload.user_id)?.name);

/** Waits until all these have got a message: all that was broadcast before has come by then. */
export async function settle(server: TestApp, sender: Person, conversation: string, streams: Stream[]) {
  const id = await say(server, sender, conversation, "the last");
  const has = ({ events }: Stream) => events.some(({ payload }) => payload.id === id);
  assert.ok(await eventually(async () => streams.every(has)), "all have got it");
}
