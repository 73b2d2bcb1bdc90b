// What it costs that people type: all at once, each to a contact who listens, and in a large group.
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startPostgres } from "../test/support/engines/postgres.ts";
import { gather } from "./groups.ts";
import { median, openLoop } from "./load.ts";
import { Arrivals, addPeople, introduce, openStream, type Person } from "./people.ts";
import { CONNECTIONS, get, post } from "./requests.ts";
import { cpuTime, onServerCore, type ParleyServer, startParley } from "./servers.ts";

/** A thousand, and some more: nobody may type more often than every three seconds, also if a request is late. */
const TYPISTS = 1300;
const MEMBERS = 256;
/** As a thousand people do who type every three seconds. */
const PER_SECOND = 1000 / 3;
const PER_SECOND_IN_GROUP = 20;
const ROUND_MS = 9000;
/** Code is compiled meanwhile, which takes longer at such a rate. */
const WARM_UP_MS = 12_000;
const ROUNDS = 3;
/** Of those who type. A request that is late by a second on a busy machine makes the next one of its typist come too early. */
const LEAST_SHOWN = 0.9;
/** How long the last events of a round are waited for. */
const LATE_MS = 10_000;

/** People who type in turn, and what comes to those who listen. */
interface Typing {
  server: ParleyServer;
  typists: { path: string; person: Person }[];
  arrivals: Arrivals;
  /** Streams that each of the typists is shown in. */
  shownIn: number;
  /** How often one of them has typed. */
  typed: number;
}

/** Percent of a core for streams alone, with as many typists or retrieves; milliseconds of CPU for a typist in a group. */
export async function typingCosts(folder: string): Promise<Record<string, number>> {
  await using stack = new AsyncDisposableStack();
  const typing = await startPairs(stack, join(folder, "typing"));
  const idle = await shareOfCore(typing, () => sleep(ROUND_MS));
  const retrieve = () => load(typing, (person) => get("/v1/contacts?limit=1", person.headers), 200, ROUND_MS);
  const retrieved: number[] = [];
  const typed: number[] = [];
  await typeAway(typing, WARM_UP_MS);
  await retrieve();
  for (let round = 0; round < ROUNDS; round++) {
    retrieved.push(await shareOfCore(typing, retrieve));
    typed.push(await shareOfCore(typing, () => type(typing, ROUND_MS)));
  }
  return {
    typing: median(typed),
    typingRetrieve: median(retrieved),
    typingIdle: idle,
    typingGroup: await costInGroup(folder),
  };
}

/** Percent of a core, without what PostgreSQL takes. */
export async function typingCostsOnPostgres(folder: string): Promise<Record<string, number>> {
  await using stack = new AsyncDisposableStack();
  const postgres = await startPostgres({ under: onServerCore });
  stack.defer(() => postgres.remove());
  const typing = await startPairs(stack, join(folder, "typing-postgres"), {
    PARLEY_DATABASE_URL: postgres.url,
    PARLEY_SECRET: "a secret that is only there to be measured",
  });
  await typeAway(typing, WARM_UP_MS);
  const shares: number[] = [];
  for (let round = 0; round < ROUNDS; round++)
    shares.push(await shareOfCore(typing, () => type(typing, ROUND_MS)));
  return { typingPostgres: median(shares) };
}

/** Milliseconds of CPU. */
async function costInGroup(folder: string): Promise<number> {
  await using stack = new AsyncDisposableStack();
  const dataFolder = join(folder, "typing-group");
  const server = await startParley(stack, dataFolder);
  const people = await addPeople(server.port, dataFolder, names(MEMBERS));
  const path = pathOf(await gather(server.port, people));
  const arrivals = await listenAll(stack, server, people);
  const typists = people.map((person) => ({ path, person }));
  const typing = { server, typists, arrivals, shownIn: MEMBERS - 1, typed: 0 };
  await typeAway(typing, WARM_UP_MS, PER_SECOND_IN_GROUP);
  const before = cpuTime(server.pid);
  await type(typing, ROUND_MS, PER_SECOND_IN_GROUP);
  return (cpuTime(server.pid) - before) / PER_SECOND_IN_GROUP / ROUND_MS;
}

async function startPairs(
  stack: AsyncDisposableStack,
  dataFolder: string,
  settings: Record<string, string> = {},
): Promise<Typing> {
  const server = await startParley(stack, dataFolder, { settings });
  const people = await addPeople(server.port, dataFolder, names(TYPISTS), settings);
  const typists: Typing["typists"] = [];
  for (let i = 0; i < TYPISTS; i += 2) {
    const [one, other] = people.slice(i, i + 2) as [Person, Person];
    const path = pathOf(await introduce(server.port, one, other));
    typists.push({ path, person: one }, { path, person: other });
  }
  const arrivals = await listenAll(stack, server, people);
  return { server, typists, arrivals, shownIn: 1, typed: 0 };
}

const names = (count: number) => Array.from({ length: count }, (_, i) => `typist ${i}`);

const pathOf = (conversation: string) => `/v1/conversations/${conversation}/typing`;

async function listenAll(stack: AsyncDisposableStack, { port }: ParleyServer, people: readonly Person[]) {
  const arrivals = new Arrivals();
  for (const { headers } of people) {
    const socket = await openStream(port, headers, "typing", arrivals);
    stack.defer(() => void socket.destroy());
  }
  return arrivals;
}

async function shareOfCore({ server }: Typing, work: () => Promise<unknown>): Promise<number> {
  const [begun, before] = [performance.now(), cpuTime(server.pid)];
  await work();
  const ms = performance.now() - begun;
  return ((cpuTime(server.pid) - before) / 1000 / ms) * 100;
}

/** Ends when it has come to those who listen. */
async function type(typing: Typing, ms: number, perSecond = PER_SECOND): Promise<void> {
  typing.arrivals.forget();
  const wanted = (await typeAway(typing, ms, perSecond)) * typing.shownIn * LEAST_SHOWN;
  for (const deadline = performance.now() + LATE_MS; typing.arrivals.count < wanted; await sleep(10))
    if (performance.now() > deadline)
      throw new Error(`${typing.arrivals.count} of ${Math.ceil(wanted)} events came.`);
}

async function typeAway(typing: Typing, ms: number, perSecond = PER_SECOND): Promise<number> {
  const request = ({ headers }: Person, path: string) => post(path, headers, Buffer.alloc(0));
  const sent = await load(typing, request, 204, ms, perSecond);
  typing.typed += sent;
  return sent;
}

/** Each of them sends a request in turn, at a fixed rate. Returns how many were sent. */
async function load(
  { server, typists, typed }: Typing,
  toRequest: (person: Person, path: string) => Buffer[],
  status: number,
  ms: number,
  perSecond = PER_SECOND,
): Promise<number> {
  let sent = 0;
  const next = () => {
    const { person, path } = typists[(typed + sent++) % typists.length]!;
    return toRequest(person, path);
  };
  await openLoop({ servers: [server], connections: CONNECTIONS, status, next }, perSecond, ms);
  return sent;
}
