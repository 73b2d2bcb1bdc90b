// How long an event is on its way to those who listen, and what they cost.
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { median, percentile } from "./load.ts";
import { Arrivals, addPeople, openStream, type Person, postTo } from "./people.ts";
import { randomContact } from "./requests.ts";
import { memory, startParley } from "./servers.ts";

const MB = 1_000_000;
const USERS = 50;
const LISTENERS_OF_A_USER = 20;
const CHANGES_PER_SECOND = 100;
const ROUND_MS = 4000;
const ROUNDS = 3;
/** How long the last events of a round are waited for. */
const LATE_MS = 10_000;

/** A thousand streams, and changes at a fixed rate: from the arrival of the 201 to that of the event. */
export async function eventDelivery(folder: string): Promise<Record<string, number>> {
  await using servers = new AsyncDisposableStack();
  const dataFolder = join(folder, "events");
  const { port, pid } = await startParley(servers, dataFolder);
  const names = Array.from({ length: USERS }, (_, i) => `user ${i}`);
  const users = await addPeople(port, dataFolder, names);
  const before = memory(pid).now / MB;
  const arrivals = new Arrivals();
  for (const user of users) {
    const opening = Array.from({ length: LISTENERS_OF_A_USER }, () =>
      openStream(port, user.headers, "contact.created", arrivals),
    );
    for (const socket of await Promise.all(opening)) servers.defer(() => void socket.destroy());
  }
  const taken = { p50: [] as number[], p99: [] as number[] };
  for (let round = -1; round < ROUNDS; round++) {
    const delays = (await changeAndListen(port, users, arrivals)).sort((a, b) => a - b);
    if (round < 0) continue;
    taken.p50.push(percentile(delays, 50));
    taken.p99.push(percentile(delays, 99));
  }
  return {
    eventMedian: median(taken.p50),
    event: median(taken.p99),
    listened: memory(pid).now / MB,
    unlistened: before,
  };
}

/** Milliseconds; an event that came before its 201 took none. */
async function changeAndListen(port: number, users: Person[], arrivals: Arrivals): Promise<number[]> {
  arrivals.forget();
  const answered = new Map<string, number>();
  const changes: Promise<void>[] = [];
  const begun = performance.now();
  const count = (ROUND_MS * CHANGES_PER_SECOND) / 1000;
  for (let i = 0; i < count; i++) {
    await sleep(Math.max(0, begun + (i * 1000) / CHANGES_PER_SECOND - performance.now()));
    const { headers } = users[i % USERS]!;
    const change = postTo<{ id: string }>(port, "/v1/contacts", headers, randomContact());
    changes.push(change.then(({ id }) => void answered.set(id, performance.now())));
  }
  await Promise.all(changes);
  const all = count * LISTENERS_OF_A_USER;
  for (const deadline = performance.now() + LATE_MS; arrivals.count < all; await sleep(10)) {
    if (performance.now() > deadline) throw new Error(`${arrivals.count} of ${all} events came.`);
  }
  return [...answered].flatMap(([id, at]) => arrivals.times.get(id)!.map((time) => Math.max(0, time - at)));
}
