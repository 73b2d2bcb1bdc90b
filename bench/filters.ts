// Lists of contacts by each filter, and of files by name, among few and among many; and what searches cost other requests.
import { join } from "node:path";
import type { Costed } from "./cost.ts";
import { closedLoop, median, openLoop, percentile, type Server } from "./load.ts";
import { below, CONNECTIONS, get } from "./requests.ts";
import { blockFilled, filledDigits, filledFileId, filledId, filledName, fillFiles } from "./rows.ts";
import { PARLEY, startParley } from "./servers.ts";
import { addFilledUser, FEW, settle } from "./subject.ts";

const MANY_FILTERED = 100_000;
/** One contact of so many is blocked. */
const BLOCKED_STEP = 50;
const SEARCHES = 4;
const READS_PER_SECOND = 2000;
const ROUNDS = 5;
const ROUND_MS = 3000;

interface Owner {
  headers: Record<string, string>;
  /** The number of its first contact. */
  first: number;
  contacts: number;
}

/** A server with one user who has `FEW` contacts and as many files, and one who has many. */
export interface FilterSubject {
  folder: string;
  server: Server;
  few: Owner;
  many: Owner;
}

export async function startFilters(stack: AsyncDisposableStack, folder: string): Promise<FilterSubject> {
  const dataFolder = join(folder, "filters");
  const server = await startParley(stack, dataFolder);
  const add = (name: string, first: number, contacts: number): Owner => ({
    headers: addFilledUser(dataFolder, name, first, contacts, PARLEY),
    first,
    contacts,
  });
  const few = add("few", 0, FEW);
  const many = add("many", FEW, MANY_FILTERED);
  blockFilled(dataFolder, BLOCKED_STEP);
  fillFiles(dataFolder, "few", few.first, few.contacts);
  fillFiles(dataFolder, "many", many.first, many.contacts);
  settle(folder);
  return { folder, server, few, many };
}

const FILTERS: Record<string, (number: number) => string> = {
  filterUsername: (number) => `/contacts?username=${encodeURIComponent(filledName(number))}`,
  filterPhone: (number) => `/contacts?phone_number=${filledDigits(number)}`,
  filterActive: (number) => `/contacts?active=true&starting_after=${filledId(number)}`,
  filterBlocked: (number) => `/contacts?active=false&ending_before=${filledId(number)}`,
  filterWords: (number) => `/contacts?q=name+us&starting_after=${filledId(number)}`,
  filterFiles: (number) => `/attachments?q=pdf+rep&starting_after=${filledFileId(number)}`,
};

/** For each filter, the requests of who has few contacts and of who has many; the filter is of any contact of theirs. */
export function filterRequests({ server, few, many }: FilterSubject): [row: string, Costed, Costed][] {
  const from = (query: (number: number) => string, { headers, first, contacts }: Owner) => ({
    requests: {
      servers: [server],
      connections: CONNECTIONS,
      status: 200,
      // The pages of both begin far from the ends of the list, so that they are full.
      next: () => get(`/v1${query(first + contacts / 4 + below(contacts / 4))}`, headers),
    },
  });
  return Object.entries(FILTERS).map(([row, query]) => [row, from(query, few), from(query, many)]);
}

/** Reads at a fixed rate, in rounds alone and beside clients that search all of many contacts and find nothing. */
export async function readsBesideSearches(subject: FilterSubject): Promise<Record<string, number>> {
  const { server, few, many, folder } = subject;
  const reads = {
    servers: [server],
    connections: CONNECTIONS,
    status: 200,
    next: () => get(`/v1/contacts/${filledId(few.first + below(FEW))}`, few.headers),
  };
  const searches = {
    servers: [server],
    connections: SEARCHES,
    status: 200,
    next: () => get("/v1/contacts?q=nobody", many.headers),
  };
  const taken = { alone: [] as number[], beside: [] as number[], searches: [] as number[] };
  for (let round = -1; round < ROUNDS; round++) {
    settle(folder);
    const alone = await openLoop(reads, READS_PER_SECOND, ROUND_MS);
    const [beside, found] = await Promise.all([
      openLoop(reads, READS_PER_SECOND, ROUND_MS),
      closedLoop(searches, ROUND_MS),
    ]);
    if (round < 0) continue;
    taken.alone.push(percentile(alone, 99));
    taken.beside.push(percentile(beside, 99));
    taken.searches.push(median(found.latencies));
  }
  const [searchAlone, searchBeside] = [median(taken.alone), median(taken.beside)];
  return {
    searchAlone,
    searchBeside,
    searchTimes: searchBeside / searchAlone,
    searchMedian: median(taken.searches),
  };
}
