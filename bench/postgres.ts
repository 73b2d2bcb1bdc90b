// Work on PostgreSQL: on the core of its node, with a network between, on a separate core, and with two nodes.
import { cpus } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { administer, type PostgresSource, startPostgres } from "../test/support/engines/postgres.ts";
import { warmUp } from "./cost.ts";
import type { Requests } from "./load.ts";
import { addPeople, introduce, type Person, postTo } from "./people.ts";
import { startRelay } from "./relay.ts";
import { below, CONNECTIONS, get, JSON_TYPE, PAGE, post, randomContact } from "./requests.ts";
import type { Place, Rate } from "./results.ts";
import { LOAD_CORE, onCores, PARLEY, SERVER_CORE, startParley } from "./servers.ts";
import { FEW } from "./subject.ts";
import { measure } from "./works.ts";

interface Layout {
  source: PostgresSource;
  /** Milliseconds that the network delays bytes by, each way. */
  delay: number;
  /** The core of each node. */
  nodes: readonly string[];
  database: string;
  /** Whether the load shares its core with any of them. */
  sharesLoadCore: boolean;
}

const OWNERS = 64;
const AT_ONCE = 50;
/** How long the connections of a node that has ended are waited for. */
const LATE_MS = 60_000;
const ONE_CORE: Layout = {
  source: "bundled",
  delay: 0,
  nodes: [SERVER_CORE],
  database: SERVER_CORE,
  sharesLoadCore: false,
};

function layoutOf(place: Place): Layout {
  const sharesLoadCore = cpus().length < 4;
  const [databaseCore, secondCore] = sharesLoadCore ? [LOAD_CORE, LOAD_CORE] : ["2", "3"];
  const bothCores = `${SERVER_CORE},${LOAD_CORE}`;
  const layouts: Record<Place, Layout> = {
    near: ONE_CORE,
    debian: { ...ONE_CORE, source: "debian" },
    half: { ...ONE_CORE, delay: 0.5 },
    far: { ...ONE_CORE, delay: 2 },
    ownCore: { ...ONE_CORE, database: databaseCore!, sharesLoadCore },
    twoNodes: {
      ...ONE_CORE,
      nodes: [SERVER_CORE, secondCore!],
      database: sharesLoadCore ? bothCores : databaseCore!,
      sharesLoadCore,
    },
  };
  return layouts[place];
}

/** Who sends requests, and what was filled in. */
interface Population {
  owner: Person;
  /** The ids of the owner's contacts, oldest first. */
  ids: string[];
  /** With one other person. */
  conversation: string;
  owners: Person[];
}

/** A PostgreSQL that was filled. */
interface Database {
  url: string;
  version: string;
  /** Starts the nodes and returns the requests for each work. */
  start(stack: AsyncDisposableStack): Promise<Record<string, Requests>>;
}

export async function fillPostgres(
  stack: AsyncDisposableStack,
  folder: string,
  layout: Layout = ONE_CORE,
  command: string = PARLEY,
): Promise<Database> {
  const postgres = await startPostgres({ source: layout.source, under: onCores(layout.database) });
  stack.defer(() => postgres.remove());
  const { url } = postgres;
  const database = await postgresPid(url);
  const [version] = await administer(url, "SHOW server_version");
  const folders = layout.nodes.map((_, i) => join(folder, `postgres-${database}-${i}`));
  const population = await populate(folders[0]!, settingsOn(url), command);
  return {
    url,
    version: String(version).split(" ")[0]!,
    async start(stack) {
      const settings = settingsOn(await relayed(stack, url, layout.delay));
      const servers = [];
      for (const [i, cores] of layout.nodes.entries())
        servers.push(await startParley(stack, folders[i]!, { settings, command, cores }));
      const common = { servers, database, connections: CONNECTIONS, sleeps: layout.sharesLoadCore };
      return requestsFor(common, population);
    },
  };
}

async function relayed(stack: AsyncDisposableStack, target: string, delay: number): Promise<string> {
  if (delay === 0) return target;
  const url = new URL(target);
  url.port = String(await startRelay(stack, Number(url.port), delay));
  return url.href;
}

/** The process that all others of PostgreSQL are children of. */
async function postgresPid(url: string): Promise<number> {
  const [lines] = await administer(url, "SELECT pg_read_file('postmaster.pid')");
  return Number.parseInt(String(lines), 10);
}

function settingsOn(url: string): Record<string, string> {
  return {
    PARLEY_DATABASE_URL: url,
    PARLEY_SECRET: "a secret that is only there to be measured",
    PARLEY_MESSAGE_LIMIT: "0",
  };
}

async function populate(
  dataFolder: string,
  settings: Record<string, string>,
  command: string,
): Promise<Population> {
  await using stack = new AsyncDisposableStack();
  const { port } = await startParley(stack, dataFolder, { settings, command });
  const names = ["owner", "other", ...Array.from({ length: OWNERS }, (_, i) => `owner ${i}`)];
  const people = await addPeople(port, dataFolder, names, settings, command);
  const [owner, other, ...owners] = people as [Person, Person, ...Person[]];
  const create = () => postTo<{ id: string }>(port, "/v1/contacts", owner.headers, randomContact());
  const ids: string[] = [];
  while (ids.length < FEW) {
    const made = await Promise.all(Array.from({ length: AT_ONCE }, create));
    ids.push(...made.map(({ id }) => id));
  }
  return { owner, ids: ids.sort(), conversation: await introduce(port, owner, other), owners };
}

function requestsFor(
  common: Omit<Requests, "status" | "next">,
  { owner, ids, conversation, owners }: Population,
): Record<string, Requests> {
  const pick = (from: number) => ids[from + below(FEW - from)]!;
  const create = (by: Person) => post("/v1/contacts", { ...by.headers, ...JSON_TYPE }, randomContact());
  const text = "This is a message like any other.";
  const message = Buffer.from(JSON.stringify({ conversation_id: conversation, text }));
  const reads = { ...common, status: 200 };
  const writes = { ...common, status: 201 };
  let created = 0;
  return {
    retrieve: { ...reads, next: () => get(`/v1/contacts/${pick(0)}`, owner.headers) },
    list: { ...reads, next: () => get(`/v1/contacts?starting_after=${pick(PAGE)}`, owner.headers) },
    create: { ...writes, next: () => create(owner) },
    createOwners: { ...writes, next: () => create(owners[created++ % OWNERS]!) },
    send: { ...writes, next: () => post("/v1/messages", { ...owner.headers, ...JSON_TYPE }, message) },
  };
}

/** The measurements of one place. */
export interface Measured {
  version: string;
  rate: Rate;
  /** How often a transaction was rolled back for each request. */
  rollbacks: number;
}

/** Measures each work in all of these places, in rounds that alternate. */
export async function postgresRates(
  places: readonly Place[],
  folder: string,
  rounds: number,
  ms: number,
  report: (row: string, measured: ReadonlyMap<Place, Measured>) => void,
): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const databases = new Map<Place, Database>();
  for (const place of places) databases.set(place, await fillPostgres(stack, folder, layoutOf(place)));
  for (const row of ["retrieve", "list", "create", "createOwners", "send"])
    report(row, await measureRow(databases, row, folder, rounds, ms));
}

async function measureRow(
  databases: ReadonlyMap<Place, Database>,
  row: string,
  folder: string,
  rounds: number,
  ms: number,
): Promise<Map<Place, Measured>> {
  const before = new Map<Place, number>();
  for (const [place, { url }] of databases) before.set(place, await rollbacks(url));
  const { rates, sent } = await ratesOf(databases, row, folder, rounds, ms);
  const measured = new Map<Place, Measured>();
  for (const [place, { url, version }] of databases) {
    const rolledBack = (await rollbacks(url)) - before.get(place)!;
    measured.set(place, { version, rate: rates[place]!, rollbacks: rolledBack / sent.get(place)! });
  }
  return measured;
}

/** The nodes end after it: only then PostgreSQL has counted all that their connections did. */
async function ratesOf(
  databases: ReadonlyMap<Place, Database>,
  row: string,
  folder: string,
  rounds: number,
  ms: number,
) {
  await using stack = new AsyncDisposableStack();
  const sent = new Map<Place, number>();
  const contenders: Record<string, Requests> = {};
  for (const [place, database] of databases) {
    const { next, ...others } = (await database.start(stack))[row]!;
    const counted = () => {
      sent.set(place, (sent.get(place) ?? 0) + 1);
      return next();
    };
    contenders[place] = { ...others, next: counted };
  }
  await warmUp(
    Object.values(contenders).map((requests) => ({ requests })),
    folder,
  );
  return { rates: await measure({ contenders, ratios: [] }, folder, rounds, ms), sent };
}

async function rollbacks(url: string): Promise<number> {
  const counted = "SELECT xact_rollback FROM pg_stat_database WHERE datname = current_database()";
  for (const deadline = performance.now() + LATE_MS; performance.now() < deadline; await sleep(50)) {
    const [count] = await administer(url, `${counted} AND numbackends = 1`);
    if (count !== undefined) return Number(count);
  }
  throw new Error("Connections to PostgreSQL are still open.");
}
