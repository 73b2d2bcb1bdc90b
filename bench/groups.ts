// What a message to a large group costs, stored and delivered, and how long it holds up others.
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { median, openLoop, percentile } from "./load.ts";
import { Arrivals, addPeople, introduce, openStream, type Person, postTo } from "./people.ts";
import { CONNECTIONS, get } from "./requests.ts";
import { cpuTime, type ParleyServer, startParley } from "./servers.ts";

const MEMBERS = 256;
const MESSAGES = 200;
/** Sent before what is measured. */
const WARM_UP = 50;
const ROUNDS = 3;
/** How long the last events of a round are waited for. */
const LATE_MS = 30_000;
const MESSAGES_PER_SECOND = 20;
const DELAYED_MS = 4000;
const READS_PER_SECOND = 500;
const UNLIMITED = { PARLEY_MESSAGE_LIMIT: "0" };

interface Group {
  parley: ParleyServer;
  members: Person[];
  conversation: string;
}

/** Milliseconds: of CPU for each message, without and with all members listening; and of others' requests. */
export async function groupCosts(folder: string): Promise<Record<string, number>> {
  await using stack = new AsyncDisposableStack();
  const dataFolder = join(folder, "groups");
  const parley = await startParley(stack, dataFolder, { settings: UNLIMITED });
  const names = Array.from({ length: MEMBERS }, (_, i) => `member ${i}`);
  const members = await addPeople(parley.port, dataFolder, names);
  const conversation = await gather(parley.port, members);
  const group = { parley, members, conversation };
  const stored = await costOfMessages(group, async () => {});
  const arrivals = new Arrivals();
  for (const { headers } of members) {
    const socket = await openStream(parley.port, headers, "message.created", arrivals);
    stack.defer(() => void socket.destroy());
  }
  const delivered = await costOfMessages(group, (sent) => arrivedAll(arrivals, sent * MEMBERS));
  return { groupStored: stored, groupDelivered: delivered, ...(await delayOfOthers(group)) };
}

/** Makes a group of all of them and returns its conversation. */
async function gather(port: number, members: Person[]): Promise<string> {
  const [owner, ...others] = members as [Person, ...Person[]];
  for (const other of others) await introduce(port, owner, other);
  const made = await postTo<{ id: string; conversation_id: string }>(port, "/v1/groups", owner.headers, {
    name: "All",
    members: others.map(({ username }) => username),
  });
  for (const { headers } of others) await postTo(port, `/v1/groups/${made.id}/join`, headers, {}, 200);
  return made.conversation_id;
}

async function costOfMessages(
  { parley, members, conversation }: Group,
  settle: (sent: number) => Promise<void>,
): Promise<number> {
  const costs: number[] = [];
  let sent = 0;
  const send = async (count: number) => {
    const each = () => {
      const { headers } = members[sent++ % MEMBERS]!;
      const message = { conversation_id: conversation, text: `This is message ${sent} of them all.` };
      return postTo(parley.port, "/v1/messages", headers, message);
    };
    // Some at a time, as people write.
    for (let i = 0; i < count; i += 4) await Promise.all(Array.from({ length: 4 }, each));
    await settle(sent);
  };
  await send(WARM_UP + 2);
  for (let round = 0; round < ROUNDS; round++) {
    const before = cpuTime(parley.pid);
    await send(MESSAGES);
    costs.push((cpuTime(parley.pid) - before) / 1000 / MESSAGES);
  }
  return median(costs);
}

async function arrivedAll(arrivals: Arrivals, wanted: number): Promise<void> {
  for (const deadline = performance.now() + LATE_MS; arrivals.count < wanted; await sleep(10))
    if (performance.now() > deadline) throw new Error(`${arrivals.count} of ${wanted} events came.`);
}

/** The p99 of retrieves at a fixed rate while messages to the group are sent at another, less that without. */
async function delayOfOthers({ parley, members, conversation }: Group): Promise<Record<string, number>> {
  const [owner] = members as [Person, ...Person[]];
  const { headers } = owner;
  const reads = {
    ...{ port: parley.port, connections: CONNECTIONS, status: 200 },
    next: () => get("/v1/contacts?limit=1", headers),
  };
  const p99 = async () =>
    percentile(
      (await openLoop(reads, READS_PER_SECOND, DELAYED_MS)).sort((a, b) => a - b),
      99,
    );
  const alone = await p99();
  let isSending = true;
  const sending = (async () => {
    for (let sent = 0; isSending; sent++) {
      const message = { conversation_id: conversation, text: `This is message ${sent} beside others.` };
      const next = sleep(1000 / MESSAGES_PER_SECOND);
      await postTo(parley.port, "/v1/messages", members[sent % MEMBERS]!.headers, message);
      await next;
    }
  })();
  const beside = await p99();
  isSending = false;
  await sending;
  return { groupDelay: beside - alone };
}
