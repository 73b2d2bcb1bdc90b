// How long an event is on its way to those who listen, and what they cost, beside bare node:http that sends as many.
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Answer } from "./bare.ts";
import { median, percentile } from "./load.ts";
import { Arrivals, addPeople, type Headers, openStream, openWebSocket, postTo } from "./people.ts";
import { JSON_TYPE, randomContact } from "./requests.ts";
import { cpuTime, memory, startBare, startParley } from "./servers.ts";

const MB = 1_000_000;
const KB = 1000;
const USERS = 50;
const LISTENERS_OF_A_USER = 20;
const CHANGES_PER_SECOND = 100;
const ROUND_MS = 4000;
const ROUNDS = 3;
/** How long the last events of a round are waited for. */
const LATE_MS = 10_000;

/** A server on which each user makes changes and listens to them. */
interface Place {
  port: number;
  pid: number;
  users: { headers: Headers; changes: string; types: string }[];
}

interface Listened {
  /** Sorted delays of each round, in milliseconds. */
  rounds: number[][];
  /** Bytes, before the listeners and after all rounds. */
  before: number;
  after: number;
  /** Microseconds of CPU for each event that came to a listener, with the change that it is about. */
  cpu: number;
}

export async function eventDelivery(folder: string): Promise<Record<string, number>> {
  const parley = await listenTo((servers) => placeOfParley(servers, join(folder, "events")));
  const sockets = await listenTo(
    (servers) => placeOfParley(servers, join(folder, "events-sockets")),
    openWebSocket,
  );
  const bare = await listenTo((servers) => placeOfBare(servers, join(folder, "events-bare")));
  const each = ({ before, after }: Listened) => (after - before) / (USERS * LISTENERS_OF_A_USER) / KB;
  return {
    eventMedian: median(parley.rounds.map((delays) => percentile(delays, 50))),
    event: median(parley.rounds.map((delays) => percentile(delays, 99))),
    listened: parley.after / MB,
    unlistened: parley.before / MB,
    listener: each(parley),
    listenerBare: each(bare),
    listenerCpu: parley.cpu,
    socketMedian: median(sockets.rounds.map((delays) => percentile(delays, 50))),
    socket: median(sockets.rounds.map((delays) => percentile(delays, 99))),
    socketMemory: each(sockets),
    socketCpu: sockets.cpu,
  };
}

async function placeOfParley(servers: AsyncDisposableStack, dataFolder: string): Promise<Place> {
  const { port, pid } = await startParley(servers, dataFolder);
  const names = Array.from({ length: USERS }, (_, i) => `user ${i}`);
  const people = await addPeople(port, dataFolder, names);
  const users = people.map(({ headers }) => ({ headers, changes: "/v1/contacts", types: "contact.created" }));
  return { port, pid, users };
}

/** Has a path for the changes of each user, and another for their streams. */
async function placeOfBare(servers: AsyncDisposableStack, folder: string): Promise<Place> {
  const { port, pid, set } = await startBare(servers, folder);
  const contact = { id: "con_01m7yvg7a8e078jd3v0s8t52bw", ...JSON.parse(String(randomContact())) };
  const data = { type: "contact.created", timestamp: 1_795_258_063, payload: contact };
  const text = `id: ${contact.id}\nevent: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
  const head = { "content-type": "text/event-stream" };
  const listening: Answer = { status: 200, headers: head, body: ": listening\n\n", stream: true };
  const users = Array.from({ length: USERS }, (_, i) => ({
    headers: { authorization: "Bearer none" },
    changes: `/changes/${i}`,
    types: String(i),
  }));
  for (const { changes, types } of users) {
    const path = `/v1/events?types=${types}`;
    await set(path, listening);
    const body = JSON.stringify(contact);
    await set(changes, { status: 201, headers: JSON_TYPE, body, event: { path, text } });
  }
  return { port, pid, users };
}

/** A thousand streams, and changes at a fixed rate, first without streams: from the arrival of the 201 to that of the event. */
async function listenTo(
  start: (servers: AsyncDisposableStack) => Promise<Place>,
  open: typeof openWebSocket = openStream,
): Promise<Listened> {
  await using servers = new AsyncDisposableStack();
  const place = await start(servers);
  const arrivals = new Arrivals();
  await changeAndListen(place, arrivals, 0);
  const before = memory(place.pid).now;
  for (const { headers, types } of place.users) {
    const opening = Array.from({ length: LISTENERS_OF_A_USER }, () =>
      open(place.port, headers, types, arrivals),
    );
    for (const socket of await Promise.all(opening)) servers.defer(() => void socket.destroy());
  }
  const rounds: number[][] = [];
  let cpu = 0;
  let delivered = 0;
  for (let round = -1; round < ROUNDS; round++) {
    const begun = cpuTime(place.pid);
    const delays = await changeAndListen(place, arrivals, LISTENERS_OF_A_USER);
    if (round < 0) continue;
    cpu += cpuTime(place.pid) - begun;
    delivered += delays.length;
    rounds.push(delays.sort((a, b) => a - b));
  }
  return { rounds, before, after: memory(place.pid).now, cpu: cpu / delivered };
}

/** Milliseconds; an event that came before its 201 took none. */
async function changeAndListen(place: Place, arrivals: Arrivals, listeners: number): Promise<number[]> {
  arrivals.forget();
  const answered = new Map<string, number>();
  const changes: Promise<void>[] = [];
  const begun = performance.now();
  const count = (ROUND_MS * CHANGES_PER_SECOND) / 1000;
  for (let i = 0; i < count; i++) {
    await sleep(Math.max(0, begun + (i * 1000) / CHANGES_PER_SECOND - performance.now()));
    const { headers, changes: path } = place.users[i % USERS]!;
    const change = postTo<{ id: string }>(place.port, path, headers, randomContact());
    changes.push(change.then(({ id }) => void answered.set(id, performance.now())));
  }
  await Promise.all(changes);
  const all = count * listeners;
  for (const deadline = performance.now() + LATE_MS; arrivals.count < all; await sleep(10)) {
    if (performance.now() > deadline) throw new Error(`${arrivals.count} of ${all} events came.`);
  }
  return [...answered].flatMap(([id, at]) =>
    (arrivals.times.get(id) ?? []).map((time) => Math.max(0, time - at)),
  );
}
