// Typing tests on SQLite, and on two nodes of PostgreSQL: users type on one node and listen on the other.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Clock } from "../../../src/util/clock.ts";
import { startApp, startOn, type TestApp, testConfig } from "../../support/app.ts";
import { testDatabase } from "../../support/engines/postgres.ts";
import type { Stream, TestEvent } from "../../support/event-stream.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { LIMITS } from "../../support/hooks.ts";
import { SECRETS } from "../../support/on-engines.ts";
import { type Person, type Place, say, send } from "../../support/people.ts";

export const PAUSE_MS = 3000;

/** The node to type on, and the node to listen on. */
export type Places = [typing: TestApp, listening: TestApp];

export function onNodes(
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
      startOn(t, { ...(await testConfig(t, LIMITS)), databaseUrl, secrets: SECRETS }, { clock: time.clock });
    await run(t, [await node(), await node()], time);
  });
}

/** A clock that stands still until the test sets it. */
export class Time {
  now = Date.UTC(2030, 0, 1);
  readonly clock: Clock = () => this.now;
}

export const post = (server: Place, who: Person, conversation: string, headers = {}) =>
  send(server, who, "POST", `/v1/conversations/${conversation}/typing`, undefined, headers);

export async function type(server: TestApp, who: Person, conversation: string): Promise<void> {
  const answer = await post(server, who, conversation);
  assert.deepEqual([answer.status, await answer.text()], [204, ""]);
}

/** Returns the first three letters of the names of typists. */
export const typists = (events: readonly TestEvent[], ...known: Person[]) =>
  events
    .filter(({ type }) => type === "typing")
    .map(({ payload }) => known.find(({ id }) => id === payload.user_id)?.name.slice(0, 3));

/** Sends a message and waits until all streams have it, and thus all earlier broadcasts. */
export async function settle(server: TestApp, sender: Person, conversation: string, streams: Stream[]) {
  const id = await say(server, sender, conversation, "the last");
  const has = ({ events }: Stream) => events.some(({ payload }) => payload.id === id);
  assert.ok(await eventually(async () => streams.every(has)), "all have got it");
}
