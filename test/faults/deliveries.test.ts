// F1 during deliveries: the server is killed while it sends events to a receiver that sometimes fails.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../support/client.ts";
import { type Received, receiver } from "../support/receiver.ts";
import { scaled } from "../support/scale.ts";
import { sqliteTables } from "./oracle.ts";
import { Subject } from "./subject.ts";

const SETTLE_MS = 60_000;
const POLL_MS = 100;
const EVENTS_PER_KILL = 10;

interface Told {
  id: string;
  type: string;
}

test("F1 kill -9 during deliveries: each event reaches the receiver, and those of a conversation in order", async (t) => {
  const cycles = scaled(4, 100);
  const subject = await Subject.start(t, { PARLEY_WEBHOOKS_ALLOW_PRIVATE: "true" });
  const taken: Received[] = [];
  const failed = new Set<string>();
  const to = await receiver(t, (response, received) => {
    const id = String(received.headers["webhook-id"]);
    const mood = subject.chance();
    // Each event fails at most once, because a second retry would take longer than this test.
    if (mood < 0.02 && !failed.has(id)) {
      failed.add(id);
      if (mood < 0.01) response.destroy();
      else response.writeHead(500).end();
      return;
    }
    taken.push(received);
  });
  const before = (await allEvents(subject.client)).length;
  const made = await subject.client.sendFields("POST", "/v1/webhooks", { url: to.url });
  assert.equal(made.status, 201, String(made.body));
  let kills = 0;
  // On a busy machine little is written before each kill, so more kills are needed.
  for (; kills < cycles || subject.record.total() < cycles * EVENTS_PER_KILL; kills++) {
    const writers = subject.write({ mixed: 4 });
    await sleep(5 + subject.chance() * 495);
    subject.server.process.kill("SIGKILL");
    await writers.ended;
    await subject.end("SIGKILL");
    assert.deepEqual(await subject.begin(), [], `cycle ${kills}`);
  }
  const events = (await allEvents(subject.client)).slice(before);
  assert.ok(events.length >= cycles * EVENTS_PER_KILL, `${events.length} events are too few`);
  await settled(subject, events.length);
  const ids = taken.map(({ headers }) => String(headers["webhook-id"]));
  const reached = new Set(ids);
  assert.deepEqual(
    events.filter(({ id }) => !reached.has(id)),
    [],
    "events that did not arrive",
  );
  const kept = new Set(events.map(({ id }) => id));
  assert.deepEqual(
    ids.filter((id) => !kept.has(id)),
    [],
    "what arrived and is no event",
  );
  checkRepeats(taken);
  checkOrder(taken, events);
  t.diagnostic(
    `${kills} kills, ${events.length} events, ${taken.length - reached.size} came again, lost = 0`,
  );
});

/** Returns all events, in the order in which they happened. */
async function allEvents(client: Client): Promise<Told[]> {
  const events: Told[] = [];
  for (let after = ""; ; ) {
    const page = await client.get<{ data: Told[]; has_more: boolean }>(`/v1/events?limit=100${after}`);
    events.push(...page.data);
    if (!page.has_more) return events.reverse();
    after = `&starting_after=${page.data.at(-1)!.id}`;
  }
}

/** Resolves once all events were delivered. */
async function settled(subject: Subject, count: number): Promise<void> {
  const tables = sqliteTables(subject.data);
  const deadline = performance.now() + SETTLE_MS;
  for (;;) {
    const [delivered] = await tables("SELECT COUNT(*) FROM deliveries WHERE state = 'delivered'");
    if (delivered === count) return;
    if (performance.now() > deadline) assert.fail(`${delivered} of ${count} are delivered`);
    await sleep(POLL_MS);
  }
}

/** Asserts that repeated deliveries are equal, except for later changes of the file. */
function checkRepeats(taken: readonly Received[]): void {
  for (const [id, same] of Map.groupBy(taken, ({ headers }) => headers["webhook-id"])) {
    const bodies = same.map(({ event: { payload, ...head } }) =>
      JSON.stringify({ ...head, payload: (payload as { id: string }).id }),
    );
    assert.equal(new Set(bodies).size, 1, `${id} came with different bodies`);
  }
}

/** Asserts that the first deliveries of each conversation are in the order of the events. */
function checkOrder(taken: readonly Received[], events: readonly Told[]): void {
  const place = new Map(events.map(({ id }, i) => [id, i]));
  const last = new Map<string, number>();
  const seen = new Set<string>();
  for (const { headers, event } of taken) {
    const id = String(headers["webhook-id"]);
    if (seen.has(id)) continue;
    seen.add(id);
    const conversation = String(event.conversation_id);
    assert.ok(place.get(id)! > (last.get(conversation) ?? -1), `${id} came too early`);
    last.set(conversation, place.get(id)!);
  }
}
