// Counts the files and functions of src/ that run for one request, after a hundred of the same kind.
// usage: runtime/node bench/functions.ts [WORK]   With a work it lists their names, and how often each ran.
import { mkdtemp, rm } from "node:fs/promises";
import { Session } from "node:inspector/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createApp } from "../src/app.ts";
import { readConfig } from "../src/config/settings.ts";
import { createToken } from "../src/core/people/tokens.ts";
import { createUser } from "../src/core/people/users.ts";
import { JSON_TYPE, KIB } from "./requests.ts";

const WARM_UP = 100;
/** The request with the fewest functions counts, because background timers run during some of them. */
const MEASURED = 5;
/** How long to wait for what runs after an answer. */
const SETTLE_MS = 30;
const SRC = new URL("../src/", import.meta.url).href;

/** How many files and functions a request should run at most. */
const GOALS: Record<string, [files: number, functions: number]> = {
  list: [23, 60],
  create: [34, 90],
  upload: [40, 120],
};

interface Ran {
  file: string;
  name: string;
  count: number;
}

const folder = await mkdtemp(join(tmpdir(), "parley-functions-"));
const app = await createApp(
  readConfig({
    PARLEY_DATA: join(folder, "data"),
    PARLEY_PORT: "0",
    PARLEY_RATE_LIMIT: "0",
    PARLEY_LOG_LEVEL: "silent",
  }),
);
await app.start();
const session = new Session();
session.connect();
try {
  const names = process.argv[2] === undefined ? Object.keys(GOALS) : [process.argv[2]];
  const works = await makeWorks();
  console.log("| work | files | functions | goal |\n|---|---|---|---|");
  for (const name of names) {
    const ran = await measure(works[name]!);
    const [files, functions] = GOALS[name]!;
    console.log(`| ${name} | ${fileNames(ran).size} | ${ran.length} | ${files} / ${functions} |`);
    if (names.length === 1) for (const { file, name, count } of ran) console.log(`${file} ${name} ${count}`);
  }
} finally {
  session.disconnect();
  await app.stop();
  await rm(folder, { recursive: true, force: true });
}

async function makeWorks(): Promise<Record<string, () => Promise<Response>>> {
  const { id } = await createUser(app.core, null, { username: "bench" });
  const { token } = await createToken(app.core, null, id, {});
  const headers = { authorization: `Bearer ${token}` };
  const url = `${app.core.origin()}/v1`;
  let contacts = 0;
  const create = () => {
    const body = JSON.stringify({ username: `contact-${++contacts}`, phone_number: "+1 555 0100" });
    return fetch(`${url}/contacts`, { method: "POST", headers: { ...headers, ...JSON_TYPE }, body });
  };
  for (let i = 0; i < 20; i++) await finish(create);
  const upload = () => {
    const body = new FormData();
    body.set("file", new File([new Uint8Array(4 * KIB)], "notes.bin"));
    return fetch(`${url}/attachments`, { method: "POST", headers, body });
  };
  return { list: () => fetch(`${url}/contacts`, { headers }), create, upload };
}

async function finish(ask: () => Promise<Response>): Promise<void> {
  const response = await ask();
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status} ${text}`);
}

/** The functions that run for one request, without those of the request before. */
async function measure(ask: () => Promise<Response>): Promise<Ran[]> {
  for (let i = 0; i < WARM_UP; i++) await finish(ask);
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  const samples: Ran[][] = [];
  for (let i = 0; i < MEASURED; i++) {
    await sleep(SETTLE_MS);
    await session.post("Profiler.takePreciseCoverage");
    await finish(ask);
    await sleep(SETTLE_MS);
    const { result } = await session.post("Profiler.takePreciseCoverage");
    samples.push(
      result.flatMap(({ url, functions }) =>
        functions
          .map(({ functionName, ranges }) => ({
            file: url.slice(SRC.length),
            name: functionName || `(at ${ranges[0]!.startOffset})`,
            count: ranges[0]!.count,
          }))
          .filter(({ count }) => url.startsWith(SRC) && count > 0),
      ),
    );
  }
  await session.post("Profiler.stopPreciseCoverage");
  return samples.reduce((fewest, each) => (each.length < fewest.length ? each : fewest));
}

function fileNames(ran: readonly Ran[]): Set<string> {
  return new Set(ran.map(({ file }) => file));
}
