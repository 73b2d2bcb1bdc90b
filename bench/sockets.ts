// What 20,000 WebSockets on one node cost at rest, and how long a message to 1,000 of them is on its way.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { gather } from "./groups.ts";
import { percentile } from "./load.ts";
import { Arrivals, addPeople, openWebSocket, type Person, postTo } from "./people.ts";
import { cpuTime, firstWord, LOAD_CORE, memory, startParley, startPinned } from "./servers.ts";

const ALL = 20_000;
const LISTENING = 1000;
const MEMBERS = 250;
/** As many as a user may have. */
const OF_A_USER = 20;
/** Descriptors of the server that are no WebSockets. */
const OTHERS = 300;
const REST_MS = 60_000;
const MESSAGES = 100;
/** Sent before what is measured. */
const WARM_UP = 10;
const PAUSE_MS = 200;
/** How long the last events are waited for. */
const LATE_MS = 10_000;

export async function manySockets(folder: string): Promise<Record<string, number>> {
  await using stack = new AsyncDisposableStack();
  const dataFolder = join(folder, "sockets");
  const { port, pid } = await startParley(stack, dataFolder);
  const names = Array.from({ length: ALL / OF_A_USER }, (_, i) => `user ${i}`);
  const people = await addPeople(port, dataFolder, names);
  const members = people.slice(0, MEMBERS);
  const conversation = await gather(port, members);
  const before = memory(pid).now;
  const held = Math.min(ALL, filesOf(pid) - OTHERS) - LISTENING;
  // The members have the rest of theirs later.
  const idle = people.flatMap((each, i) =>
    Array<Person>(i < MEMBERS ? OF_A_USER - LISTENING / MEMBERS : OF_A_USER).fill(each),
  );
  await hold(stack, port, idle.slice(-held));
  const after = memory(pid).now;
  const began = cpuTime(pid);
  await sleep(REST_MS);
  const atRest = (cpuTime(pid) - began) / 1000 / REST_MS;
  const arrivals = new Arrivals();
  for (const { headers } of members)
    for (let i = 0; i < LISTENING / MEMBERS; i++) {
      const socket = await openWebSocket(port, headers, "message.created", arrivals);
      stack.defer(() => socket.destroy());
    }
  const delays = await sendToAll(port, members, conversation, arrivals);
  return {
    sockets: held + LISTENING,
    socketsMemory: (after - before) / held / 1000,
    socketsRest: atRest * 100,
    socketsMedian: percentile(delays, 50),
    socketsMessage: percentile(delays, 99),
  };
}

/** How many files a process may have open. */
function filesOf(pid: number): number {
  return Number(/Max open files\s+(\d+)/.exec(readFileSync(`/proc/${pid}/limits`, "utf8"))![1]);
}

async function hold(stack: AsyncDisposableStack, port: number, owners: readonly Person[]): Promise<void> {
  const holder = fileURLToPath(new URL("hold-sockets.ts", import.meta.url));
  const child = startPinned(stack, [process.execPath, holder, String(port)], {
    stdio: ["pipe", "pipe", "inherit"],
    cores: LOAD_CORE,
  });
  const tokens = owners.map(({ headers }) => headers.authorization!.slice("Bearer ".length));
  child.stdin!.write(`${JSON.stringify(tokens)}\n`);
  await firstWord(child, once(child.stdout!, "data"));
}

/** Milliseconds from the arrival of each 201 to that of each event, sorted; an event that came before its 201 took none. */
async function sendToAll(
  port: number,
  members: readonly Person[],
  conversation: string,
  arrivals: Arrivals,
): Promise<number[]> {
  const answered = new Map<string, number>();
  for (let i = -WARM_UP; i < MESSAGES; i++) {
    const { headers } = members[Math.abs(i) % MEMBERS]!;
    const message = { conversation_id: conversation, text: `This is message ${i} of them all.` };
    const { id } = await postTo<{ id: string }>(port, "/v1/messages", headers, message);
    if (i >= 0) answered.set(id, performance.now());
    await sleep(PAUSE_MS);
  }
  const all = (MESSAGES + WARM_UP) * LISTENING;
  for (const deadline = performance.now() + LATE_MS; arrivals.count < all; await sleep(10))
    if (performance.now() > deadline) throw new Error(`${arrivals.count} of ${all} events came.`);
  const delays = [...answered].flatMap(([id, at]) =>
    arrivals.times.get(id)!.map((time) => Math.max(0, time - at)),
  );
  return delays.sort((a, b) => a - b);
}
