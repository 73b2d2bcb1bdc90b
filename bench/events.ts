// How long an event is on its way to those who listen, and what they cost.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { median, percentile } from "./load.ts";
import { JSON_TYPE, randomContact } from "./requests.ts";
import { memory, parley, startParley } from "./servers.ts";

const MB = 1_000_000;
const USERS = 50;
const LISTENERS_OF_A_USER = 20;
const CHANGES_PER_SECOND = 100;
const ROUND_MS = 4000;
const ROUNDS = 3;
/** How long the last events of a round are waited for. */
const LATE_MS = 10_000;

type Headers = Record<string, string>;

/** A thousand streams, and changes at a fixed rate: from the arrival of the 201 to that of the event. */
export async function eventDelivery(folder: string): Promise<Record<string, number>> {
  await using servers = new AsyncDisposableStack();
  const dataFolder = join(folder, "events");
  const { port, pid } = await startParley(servers, dataFolder);
  const users = await addUsers(port, dataFolder);
  const before = memory(pid).now / MB;
  const arrivals = new Arrivals();
  for (const user of users) {
    const opening = Array.from({ length: LISTENERS_OF_A_USER }, () => openStream(port, user, arrivals));
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

/** The headers of each user's requests. */
async function addUsers(port: number, dataFolder: string): Promise<Headers[]> {
  parley(dataFolder, ["user", "add", "operator"]);
  const operator = parley(dataFolder, ["token", "create", "operator", "--scope", "admin"]).trim();
  const users: Headers[] = [];
  for (let i = 0; i < USERS; i++) {
    const user = await post<{ id: string }>(port, "/v1/users", headersOf(operator), {
      username: `user ${i}`,
    });
    const token = await post<{ token: string }>(port, "/v1/tokens", headersOf(operator), {
      user_id: user.id,
    });
    users.push(headersOf(token.token));
  }
  return users;
}

function headersOf(token: string): Headers {
  return { authorization: `Bearer ${token}` };
}

async function post<T>(port: number, path: string, headers: Headers, body: object | Buffer): Promise<T> {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: "POST",
    headers: { ...headers, ...JSON_TYPE },
    body: body instanceof Buffer ? new Uint8Array(body) : JSON.stringify(body),
  });
  if (answer.status !== 201) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as T;
}

/** When each event came to each listener. */
class Arrivals {
  count = 0;
  /** By the id of what was made. */
  readonly times = new Map<string, number[]>();

  add(id: string): void {
    const times = this.times.get(id);
    if (times) times.push(performance.now());
    else this.times.set(id, [performance.now()]);
    this.count++;
  }
}

async function openStream(port: number, headers: Headers, arrivals: Arrivals): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  socket.setEncoding("latin1");
  const accept = `authorization: ${headers.authorization}\r\naccept: text/event-stream`;
  socket.write(`GET /v1/events HTTP/1.1\r\nhost: bench\r\n${accept}\r\n\r\n`);
  const [head] = (await once(socket, "data")) as [string];
  if (!head.startsWith("HTTP/1.1 200 ")) throw new Error(head);
  let rest = "";
  socket.on("data", (text: string) => {
    const frames = (rest + text).split("\n\n");
    rest = frames.pop()!;
    for (const frame of frames) {
      const id = /"payload":\{"id":"(\w+)"/.exec(frame)?.[1];
      if (id !== undefined) arrivals.add(id);
    }
  });
  return socket;
}

/** Milliseconds; an event that came before its 201 took none. */
async function changeAndListen(port: number, users: Headers[], arrivals: Arrivals): Promise<number[]> {
  arrivals.times.clear();
  arrivals.count = 0;
  const answered = new Map<string, number>();
  const changes: Promise<void>[] = [];
  const begun = performance.now();
  const count = (ROUND_MS * CHANGES_PER_SECOND) / 1000;
  for (let i = 0; i < count; i++) {
    await sleep(Math.max(0, begun + (i * 1000) / CHANGES_PER_SECOND - performance.now()));
    const change = post<{ id: string }>(port, "/v1/contacts", users[i % USERS]!, randomContact());
    changes.push(change.then(({ id }) => void answered.set(id, performance.now())));
  }
  await Promise.all(changes);
  const all = count * LISTENERS_OF_A_USER;
  for (const deadline = performance.now() + LATE_MS; arrivals.count < all; await sleep(10)) {
    if (performance.now() > deadline) throw new Error(`${arrivals.count} of ${all} events came.`);
  }
  return [...answered].flatMap(([id, at]) => arrivals.times.get(id)!.map((time) => Math.max(0, time - at)));
}
