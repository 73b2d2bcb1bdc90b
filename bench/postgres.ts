// The same work with the rows in PostgreSQL, which shares the servers' core: near the node, and with a network between.
import { join } from "node:path";
import { administer, startPostgres } from "../test/support/engines/postgres.ts";
import type { Requests } from "./load.ts";
import { addPeople, introduce, type Person, postTo } from "./people.ts";
import { startRelay } from "./relay.ts";
import { below, CONNECTIONS, get, JSON_TYPE, PAGE, post, randomContact } from "./requests.ts";
import type { Place, Rate } from "./results.ts";
import { onServerCore, startParley } from "./servers.ts";
import { FEW } from "./subject.ts";
import { measure } from "./works.ts";

/** Milliseconds that the network delays bytes by, each way. */
const DELAYS: Partial<Record<Place, number>> = { near: 0, half: 0.5, far: 2 };

/** Who sends requests, and what was filled in. */
interface Population {
  owner: Person;
  /** The ids of the owner's contacts, oldest first. */
  ids: string[];
  /** With one other person. */
  conversation: string;
}

/** Requests per second of each work, wherever the database is. */
export async function postgresRates(
  folder: string,
  rounds: number,
  ms: number,
  report: (place: Place, row: string, rate: Rate) => void,
): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const postgres = await startPostgres(onServerCore);
  stack.defer(() => postgres.remove());
  const database = await postgresPid(postgres.url);
  const dataFolder = join(folder, "postgres");
  let population: Population | undefined;
  for (const [place, delay] of Object.entries(DELAYS) as [Place, number][]) {
    await using servers = new AsyncDisposableStack();
    const url = new URL(postgres.url);
    if (delay > 0) url.port = String(await startRelay(servers, Number(url.port), delay));
    const settings = settingsOn(url);
    const node = await startParley(servers, dataFolder, { settings });
    population ??= await populate(node.port, dataFolder, settings);
    for (const [row, each] of Object.entries(requestsFor(population))) {
      const requests = { ...each, servers: [node], database };
      const rates = await measure({ contenders: { requests }, ratios: [] }, folder, rounds, ms);
      report(place, row, rates.requests!);
    }
  }
}

/** The process that all others of PostgreSQL are children of. */
async function postgresPid(url: string): Promise<number> {
  const [lines] = await administer(url, "SELECT pg_read_file('postmaster.pid')");
  return Number.parseInt(String(lines), 10);
}

function settingsOn(url: URL): Record<string, string> {
  return {
    PARLEY_DATABASE_URL: url.href,
    PARLEY_SECRET: "a secret that is only there to be measured",
    PARLEY_MESSAGE_LIMIT: "0",
  };
}

async function populate(
  port: number,
  dataFolder: string,
  settings: Record<string, string>,
): Promise<Population> {
  const [owner, other] = (await addPeople(port, dataFolder, ["owner", "other"], settings)) as [
    Person,
    Person,
  ];
  const ids: string[] = [];
  while (ids.length < FEW) {
    const { id } = await postTo<{ id: string }>(port, "/v1/contacts", owner.headers, randomContact());
    ids.push(id);
  }
  return { owner, ids, conversation: await introduce(port, owner, other) };
}

function requestsFor({ owner, ids, conversation }: Population): Record<string, Omit<Requests, "servers">> {
  const pick = (from: number) => ids[from + below(FEW - from)]!;
  const headers = { ...owner.headers, ...JSON_TYPE };
  const message = Buffer.from(
    JSON.stringify({ conversation_id: conversation, text: "This is a message like any other." }),
  );
  const reads = { connections: CONNECTIONS, status: 200 };
  const writes = { connections: CONNECTIONS, status: 201 };
  return {
    retrieve: { ...reads, next: () => get(`/v1/contacts/${pick(0)}`, owner.headers) },
    list: { ...reads, next: () => get(`/v1/contacts?starting_after=${pick(PAGE)}`, owner.headers) },
    create: { ...writes, next: () => post("/v1/contacts", headers, randomContact()) },
    send: { ...writes, next: () => post("/v1/messages", headers, message) },
  };
}
