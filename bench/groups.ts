// What a message to a large group costs, stored and delivered, and how long it holds up others.
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startPostgres } from "../test/support/engines/postgres.ts";
import { median, openLoop, percentile } from "./load.ts";
import { Arrivals, addPeople, introduce, openStream, type Person, postTo } from "./people.ts";
import { CONNECTIONS, get } from "./requests.ts";
import { cpuTime, onServerCore, type ParleyServer, startParley } from "./servers.ts";

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
  /** Requests and streams go to them in turn. */
  nodes: readonly ParleyServer[];
  members: Person[];
  conversation: string;
}

/** Milliseconds: of CPU for each message, without and with all members listening; and of others' requests. */
export async function groupCosts(folder: string): Promise<Record<string, number>> {
  await using stack = new AsyncDisposableStack();
  const dataFolder = join(folder, "groups");
  const group = await fillGroup([await startParley(stack, dataFolder, { settings: UNLIMITED })], dataFolder);
  const stored = await costOfMessages(group, async () => {});
  const delivered = await costOfListening(stack, group);
  return { groupStored: stored, groupDelivered: delivered, ...(await delayOfOthers(group)) };
}

/** Milliseconds of CPU of two nodes together for each message, with half of the members listening at each. */
export async function groupCostsOnNodes(folder: string): Promise<Record<string, number>> {
  await using stack = new AsyncDisposableStack();
  const postgres = await startPostgres({ under: onServerCore });
  stack.defer(() => postgres.remove());
  const database = {
    PARLEY_DATABASE_URL: postgres.url,
    PARLEY_SECRET: "a secret that is only there to be measured",
  };
  const settings = { ...UNLIMITED, ...database };
  const dataFolders = ["one", "other"].map((name) => join(folder, `groups-${name}`));
  const nodes = [];
  for (const dataFolder of dataFolders) nodes.push(await startParley(stack, dataFolder, { settings }));
  const group = await fillGroup(nodes, dataFolders[0]!, database);
  const started = performance.now();
  const stored = await costOfMessages(group, async () => {});
  const rate = (WARM_UP + ROUNDS * MESSAGES) / ((performance.now() - started) / 1000);
  return { groupNodesRate: rate, groupNodesStored: stored, groupNodes: await costOfListening(stack, group) };
}

async function fillGroup(
  nodes: readonly ParleyServer[],
  dataFolder: string,
  settings: Record<string, string> = {},
): Promise<Group> {
  const { port } = nodes[0]!;
  const names = Array.from({ length: MEMBERS }, (_, i) => `member ${i}`);
  const members = await addPeople(port, dataFolder, names, settings);
  return { nodes, members, conversation: await gather(port, members) };
}

async function costOfListening(stack: AsyncDisposableStack, group: Group): Promise<number> {
  const { nodes, members } = group;
  const arrivals = new Arrivals();
  for (const [i, { headers }] of members.entries()) {
    const { port } = nodes[i % nodes.length]!;
    const socket = await openStream(port, headers, "message.created", arrivals);
    stack.defer(() => void socket.destroy());
  }
  return costOfMessages(group, (sent) => arrivedAll(arrivals, sent * MEMBERS));
}

/** Makes a group of all of them and returns its conversation. */
export async function gather(port: number, members: Person[]): Promise<string> {
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
  { nodes, members, conversation }: Group,
  settle: (sent: number) => Promise<void>,
): Promise<number> {
  const costs: number[] = [];
  let sent = 0;
  const send = async (count: number) => {
    const each = () => {
      const { headers } = members[sent++ % MEMBERS]!;
      const message = { conversation_id: conversation, text: `This is message ${sent} of them all.` };
      return postTo(nodes[sent % nodes.length]!.port, "/v1/messages", headers, message);
    };
    // Some at a time, as people write.
    for (let i = 0; i < count; i += 4) await Promise.all(Array.from({ length: 4 }, each));
    await settle(sent);
  };
  const cpu = () => nodes.reduce((sum, { pid }) => sum + cpuTime(pid), 0);
  await send(WARM_UP + 2);
  for (let round = 0; round < ROUNDS; round++) {
    const before = cpu();
    await send(MESSAGES);
    costs.push((cpu() - before) / 1000 / MESSAGES);
  }
  return median(costs);
}

async function arrivedAll(arrivals: Arrivals, wanted: number): Promise<void> {
  for (const deadline = performance.now() + LATE_MS; arrivals.count < wanted; await sleep(10))
    if (performance.now() > deadline) throw new Error(`${arrivals.count} of ${wanted} events came.`);
}

/** The p99 of retrieves at a fixed rate while messages to the group are sent at another, less that without. */
async function delayOfOthers({ nodes, members, conversation }: Group): Promise<Record<string, number>> {
  const [node] = nodes as [ParleyServer];
  const [owner] = members as [Person, ...Person[]];
  const { headers } = owner;
  const reads = {
    ...{ servers: [node], connections: CONNECTIONS, status: 200 },
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
      await postTo(node.port, "/v1/messages", members[sent % MEMBERS]!.headers, message);
      await next;
    }
  })();
  const beside = await p99();
  isSending = false;
  await sending;
  return { groupDelay: beside - alone };
}
