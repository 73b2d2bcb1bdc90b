// Measures Parley on one core, beside bare node:http that returns the same bytes. bench/README.md has the rest.
// usage: npm run bench [-- OPTIONS]
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { cpus, release, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { noPostgres } from "../test/support/engines/postgres.ts";
import { holdAgainst } from "./against.ts";
import { costsOf, warmUp } from "./cost.ts";
import { eventDelivery } from "./events.ts";
import { filterRequests, readsBesideSearches, startFilters } from "./filters.ts";
import { groupCosts, groupCostsOnNodes } from "./groups.ts";
import { installs } from "./install.ts";
import { costOfDelivery, costsOfMany, messageDelivery, messageWorks, startMessages } from "./messages.ts";
import { measureMessengers } from "./messengers.ts";
import { writePages } from "./page.ts";
import { installPeers, measurePeers } from "./peers.ts";
import { picturePreviews } from "./pictures.ts";
import { postgresRates } from "./postgres.ts";
import {
  loadResults,
  OTHERS,
  PLACES,
  type Place,
  POSTGRES,
  promise,
  RATIOS,
  type Rate,
  type Result,
  type Results,
  saveResults,
  shown,
  shownCpu,
  timesDebian,
  verdict,
} from "./results.ts";
import { resumableUploads } from "./resumable.ts";
import { searches, searchesOnPostgres } from "./search.ts";
import { pinLoad } from "./servers.ts";
import { manySockets } from "./sockets.ts";
import { fillSubject, startSubject } from "./subject.ts";
import { typingCosts, typingCostsOnPostgres } from "./typing.ts";
import { fillTable, fullLoad, readsBesideCreates, starts } from "./whole.ts";
import { allWorks, measure, type Work } from "./works.ts";

const QUICK = [
  "start",
  "events",
  "filters",
  "messages",
  "groups",
  "typing",
  "postgres",
  "retrieve",
  "list",
  "create",
  "send",
  "upload4k",
  "download4k",
  "upload64m",
  "download64m",
  "beside",
  "load",
];
const PARTS = [
  ...QUICK,
  "nodes",
  "sockets",
  "search",
  "pictures",
  "resumable",
  "install",
  "long",
  "peers",
  "messengers",
];
/** Parts with a separate server. */
const BESIDE = [
  "start",
  "events",
  "filters",
  "messages",
  "groups",
  "typing",
  "postgres",
  "nodes",
  "sockets",
  "search",
  "pictures",
  "resumable",
  "install",
  "peers",
  "messengers",
];
const HELP = `npm run bench -- [--only PART,PART] [--rounds N] [--ms N] [--long [--minutes N]] [--peers] [--page] [--against DIR]
  --only     parts of ${PARTS.join(", ")}
  --rounds   how often each server is measured (3; with --against 7)
  --ms       how long each time (1500)
  --long     also a long full load, the list in a table of 10,000,000 rows, and PostgreSQL on two cores
  --minutes  how long the long load lasts (10)
  --against  a folder with another checkout: CPU time per request of this one over that of the other
  --peers    also json-server and parse-server, brought from the registry into a scratch folder, and messages on
             parse-server, ejabberd and Prosody
  --page     measures nothing, and brings the last results into docs/performance.md and bench/README.md`;

const { values: options } = parseArgs({
  options: {
    only: { type: "string" },
    rounds: { type: "string" },
    ms: { type: "string", default: "1500" },
    long: { type: "boolean" },
    minutes: { type: "string", default: "10" },
    peers: { type: "boolean" },
    page: { type: "boolean" },
    against: { type: "string" },
    help: { type: "boolean" },
  },
});
const rounds = Number(options.rounds ?? (options.against ? 7 : 3));
const ms = Number(options.ms);
const parts = options.only?.split(",") ?? [
  ...QUICK,
  ...(options.long ? ["nodes", "long"] : []),
  ...(options.peers ? ["peers", "messengers"] : []),
];
/** The full load of the quick run. */
const QUICK_MINUTES = 1 / 6;

function about(folder: string): Record<string, string> {
  const fileSystem = execFileSync("findmnt", ["-no", "FSTYPE", "-T", folder], { encoding: "utf8" }).trim();
  if (fileSystem === "tmpfs") console.error("Syncs cost nothing on tmpfs: set TMPDIR to a folder on a disk.");
  return {
    Parley: JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")).version,
    Node: process.versions.node,
    SQLite: process.versions.sqlite!,
    CPU: cpus()[0]!.model.trim(),
    kernel: `${release().split("-")[0]}`,
    "file system": fileSystem,
  };
}

function report(results: Results, values: Record<string, number | Omit<Result, "date">>): void {
  for (const [name, value] of Object.entries(values)) {
    const result = { ...(typeof value === "number" ? { value } : value), date: today() };
    results.rows[name] = result;
    const row = RATIOS[name] ?? OTHERS[name]!;
    const { of, to } = result.compared ?? {};
    const rates = of && to ? `${of.rate.toFixed(0)}/s against ${to.rate.toFixed(0)}/s` : "";
    const times = of ? timesOf(of) : "";
    const cells = [shown(row, result.value).padStart(8), promise(row).padEnd(9), verdict(row, result.value)];
    console.log(`${row.title.padEnd(52)} ${cells.join(" ").padEnd(27)} ${rates} ${times}`.trimEnd());
  }
  saveResults(results);
}

function timesOf(rate: Rate): string {
  return `p50 ${rate.p50.toFixed(2)} p99 ${rate.p99.toFixed(2)} ms, ${shownCpu(rate)} us of CPU`;
}

function today(): string {
  return new Date().toISOString().slice(0, 10);
}

async function measureParley(stack: AsyncDisposableStack, folder: string, results: Results): Promise<void> {
  const subject = await startSubject(stack, folder, await fillSubject(folder));
  const works = await allWorks(subject);
  const asked = Object.keys(works).filter((name) => parts.includes(name));
  for (const name of asked) await measureWork(works[name]!, folder, results);
  if (parts.includes("beside")) report(results, await readsBesideCreates(works, folder));
  if (parts.includes("load")) report(results, await fullLoad(subject, works, QUICK_MINUTES));
  if (parts.includes("long")) {
    report(results, await fullLoad(subject, works, Number(options.minutes)));
    fillTable(subject);
    const { few, many } = await measure(works.list!, folder, rounds, ms);
    report(results, { pages10m: compare(few!, many!) });
  }
}

async function measureFilters(folder: string, results: Results): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const subject = await startFilters(stack, folder);
  for (const [row, ...owners] of filterRequests(subject)) {
    await warmUp(owners, folder);
    const [few, many] = (await costsOf(owners, folder, rounds * ms)) as [number, number];
    report(results, { [row]: many / few });
    console.log(`  ${many.toFixed(1)} us of CPU a request against ${few.toFixed(1)} us`);
  }
  report(results, await readsBesideSearches(subject));
}

async function measureMessages(folder: string, results: Results): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const subject = await startMessages(stack, folder);
  for (const work of await messageWorks(subject)) await measureWork(work, folder, results);
  report(results, await costOfDelivery(subject, rounds * ms));
  report(results, await costsOfMany(subject, rounds * ms));
  report(results, await messageDelivery(folder));
}

/** Measures works on PostgreSQL in all of these places at once, in turns. */
async function measurePostgres(places: readonly Place[], folder: string, results: Results): Promise<void> {
  const rolledBack: Record<string, number> = {};
  for (const place of places) results.postgres[place] = { date: today(), version: "", rates: {} };
  await postgresRates(places, folder, rounds, ms, (row, measured) => {
    for (const [place, { version, rate, rollbacks }] of measured) {
      const { rates } = results.postgres[place]!;
      results.postgres[place] = { date: today(), version, rates: { ...rates, [row]: rate } };
      const title = `PostgreSQL ${version}, ${PLACES[place]}: ${POSTGRES[row]}`.padEnd(84);
      console.log(`${title} ${rate.rate.toFixed(0)}/s ${timesOf(rate)}, ${rollbacks.toFixed(2)} rollbacks`);
      if (place === "near") rolledBack[row] = rollbacks;
    }
    const [near, debian] = [measured.get("near"), measured.get("debian")];
    if (near && debian) report(results, { [timesDebian(row)]: compare(near.rate, debian.rate) });
  });
  saveResults(results);
  if (!places.includes("near")) return;
  const { rates } = results.postgres.near!;
  report(results, {
    sendPostgres: compare(rates.send!, rates.create!),
    rollbacks: rolledBack.create!,
    rollbacksOwners: rolledBack.createOwners!,
  });
}

/** Parley on the PostgreSQL that npm brings, beside it on Debian's, and with a network between. */
async function measurePostgresPlaces(folder: string, results: Results): Promise<void> {
  if (noPostgres.debian) console.error("Debian's PostgreSQL is left out: apt-get install postgresql");
  await measurePostgres(noPostgres.debian ? ["near"] : ["near", "debian"], folder, results);
  for (const place of ["half", "far"] as const) await measurePostgres([place], folder, results);
}

async function measureWork(work: Work, folder: string, results: Results): Promise<void> {
  const rates = await measure(work, folder, rounds, ms);
  for (const { row, of, to } of work.ratios) report(results, { [row]: compare(rates[of]!, rates[to]!) });
}

function compare(of: Rate, to: Rate): Omit<Result, "date"> {
  return { value: of.rate / to.rate, compared: { of, to } };
}

/** Settles once an interrupted run has ended all that it started. */
let ending: Promise<void> | undefined;

/** Ends what the run started, also where it fails or is interrupted. */
async function run(): Promise<void> {
  await using stack = new AsyncDisposableStack();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => {
      ending = stack.disposeAsync().finally(() => process.exit(1));
    });
  }
  const folder = mkdtempSync(join(tmpdir(), "parley-bench-"));
  stack.defer(() => rmSync(folder, { recursive: true, force: true }));
  pinLoad();
  if (options.against) {
    await holdAgainst(folder, options.against, rounds, ms, parts);
    return;
  }
  const results = loadResults();
  Object.assign(results.about, about(folder));
  if (parts.includes("start")) report(results, await starts(folder));
  if (parts.includes("events")) report(results, await eventDelivery(folder));
  if (parts.includes("filters")) await measureFilters(folder, results);
  if (parts.includes("messages")) await measureMessages(folder, results);
  if (parts.includes("groups")) {
    report(results, await groupCosts(folder));
    report(results, await groupCostsOnNodes(folder));
  }
  if (parts.includes("typing")) {
    report(results, await typingCosts(folder));
    report(results, await typingCostsOnPostgres(folder));
  }
  if (parts.includes("postgres")) await measurePostgresPlaces(folder, results);
  for (const place of parts.includes("nodes") ? (["ownCore", "twoNodes"] as const) : [])
    await measurePostgres([place], folder, results);
  if (parts.includes("sockets")) report(results, await manySockets(folder));
  if (parts.includes("search")) {
    report(results, await searches(folder, rounds * ms));
    report(results, await searchesOnPostgres(folder, rounds * ms));
  }
  if (parts.includes("pictures")) report(results, await picturePreviews(folder));
  if (parts.includes("resumable")) report(results, await resumableUploads(folder));
  if (parts.includes("install")) report(results, await installs(folder));
  if (parts.some((part) => !BESIDE.includes(part))) {
    await measureParley(stack, folder, results);
  }
  if (parts.includes("peers") || parts.includes("messengers")) {
    const modules = installPeers(folder);
    if (parts.includes("peers")) await measurePeers(stack, folder, modules, results.peers, rounds, ms);
    if (parts.includes("messengers"))
      await measureMessengers(stack, folder, modules, results.messengers, rounds, ms);
    saveResults(results);
  }
  console.log("Bring the results into the docs with: npm run bench -- --page");
}

const unknown = parts.filter((part) => !PARTS.includes(part));
if (unknown.length > 0)
  throw new Error(`There is no part ${unknown.join(", ")}; they are ${PARTS.join(", ")}.`);
if (options.help) console.log(HELP);
else if (options.page) writePages(loadResults());
else {
  try {
    await run();
  } catch (error) {
    // Running requests fail when their server ends.
    await ending;
    throw error;
  }
}
