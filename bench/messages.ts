// What messages cost: sending, delivery to streams, pages in short and long conversations, and the inbox.
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Costed, costsOf, warmUp } from "./cost.ts";
import { median, percentile, type Requests, type Server } from "./load.ts";
import { Arrivals, addPeople, type Headers, introduce, openStream, type Person, postTo } from "./people.ts";
import { CONNECTIONS, get, JSON_TYPE, PAGE, post, randomContact } from "./requests.ts";
import { fillContacts, fillConversations, fillMessages } from "./rows.ts";
import { type BareServer, type ParleyServer, startBare, startParley } from "./servers.ts";
import { FEW, MANY, replay, settle } from "./subject.ts";
import type { Work } from "./works.ts";

const MESSAGES_OF_A_PAGE = 20;
const TALKERS = 1000;
const MESSAGES_PER_SECOND = 500;
const ROUND_MS = 4000;
const ROUNDS = 3;
/** How long the last events of a round are waited for. */
const LATE_MS = 10_000;
const UNLIMITED = { PARLEY_MESSAGE_LIMIT: "0" };

/** A server whose people talk in pairs: the reader of each pair has got messages from the other. */
export interface MessageSubject {
  folder: string;
  parley: ParleyServer;
  bare: BareServer;
  writer: Person;
  few: Talk;
  many: Talk;
  /** The reader had blocked the sender before the last `MANY` of the messages. */
  flooded: Talk;
  /** Has `FEW` conversations. */
  busy: Person;
}

interface Talk {
  sender: Person;
  reader: Person;
  conversation: string;
}

export async function startMessages(stack: AsyncDisposableStack, folder: string): Promise<MessageSubject> {
  const dataFolder = join(folder, "messages");
  const parley = await startParley(stack, dataFolder, { settings: UNLIMITED });
  const bare = await startBare(stack, join(folder, "messages-bare"));
  const names = ["writer", "busy", "few 1", "few 2", "many 1", "many 2", "flooded 1", "flooded 2"];
  const people = await addPeople(parley.port, dataFolder, names);
  const [writer, busy] = people as [Person, Person];
  fillContacts(dataFolder, writer.id, 0, FEW);
  let filled = 0;
  const talk = async (of: number, count: number, withheld = 0): Promise<Talk> => {
    const [sender, reader] = people.slice(of, of + 2) as [Person, Person];
    const conversation = await introduce(parley.port, sender, reader);
    const ids = { conversationId: conversation, senderId: sender.id, readerId: reader.id };
    fillMessages(dataFolder, [{ ...ids, first: filled, count, withheld }]);
    filled += count;
    return { sender, reader, conversation };
  };
  const few = await talk(2, FEW);
  const many = await talk(4, MANY);
  const flooded = await talk(6, FEW + MANY, MANY);
  fillContacts(dataFolder, busy.id, FEW, FEW);
  const conversations = fillConversations(dataFolder, busy.id, writer.id, FEW, FEW);
  const ids = { senderId: writer.id, readerId: busy.id };
  const talks = conversations.map((conversationId, i) => ({
    ...ids,
    conversationId,
    first: filled + i,
    count: 1,
  }));
  fillMessages(dataFolder, talks);
  settle(folder);
  return { folder, parley, bare, writer, few, many, flooded, busy };
}

let sent = 0;

function newMessage(conversation_id: string): Buffer {
  return Buffer.from(JSON.stringify({ conversation_id, text: `This is message ${++sent} of them all.` }));
}

const sends = (server: Server, { sender, conversation }: Talk): Requests => ({
  servers: [server],
  connections: CONNECTIONS,
  status: 201,
  next: () => post("/v1/messages", { ...sender.headers, ...JSON_TYPE }, newMessage(conversation)),
});

/** The work that is measured by its rate. */
export async function messageWorks(subject: MessageSubject): Promise<Work[]> {
  const { parley, bare, writer, few, busy } = subject;
  const page = pageOf(few);
  const inbox = `/v1/conversations?limit=${PAGE}`;
  await replay(subject, "/page", page, { headers: few.reader.headers });
  await replay(subject, "/inbox", inbox, { headers: busy.headers });
  const against = (row: string, path: string, headers: Headers): Work => {
    const common = { connections: CONNECTIONS, status: 200 };
    return {
      contenders: {
        bare: { ...common, servers: [bare], next: () => get(`/${row}`, headers) },
        parley: { ...common, servers: [parley], next: () => get(path, headers) },
      },
      ratios: [{ row, of: "parley", to: "bare" }],
    };
  };
  const create = {
    ...{ servers: [parley], connections: CONNECTIONS, status: 201 },
    next: () => post("/v1/contacts", { ...writer.headers, ...JSON_TYPE }, randomContact()),
  };
  return [
    against("page", page, few.reader.headers),
    against("inbox", inbox, busy.headers),
    {
      contenders: { create, send: sends(parley, few) },
      ratios: [{ row: "send", of: "send", to: "create" }],
    },
  ];
}

function pageOf({ conversation }: Talk): string {
  return `/v1/messages?conversation_id=${conversation}&limit=${MESSAGES_OF_A_PAGE}`;
}

/** CPU time of lists of many messages, times that of few. */
export async function costsOfMany(subject: MessageSubject, ms: number): Promise<Record<string, number>> {
  const { parley, folder, few, many, flooded } = subject;
  const reads = (path: string, headers: Headers): Costed => ({
    requests: { servers: [parley], connections: CONNECTIONS, status: 200, next: () => get(path, headers) },
  });
  const ratio = async (path: (talk: Talk) => string, of: Talk): Promise<number> => {
    const contenders = [few, of].map((talk) => reads(path(talk), talk.reader.headers));
    await warmUp(contenders, folder);
    const [base, cost] = (await costsOf(contenders, folder, ms)) as [number, number];
    console.log(`  ${cost.toFixed(1)} us of CPU a request against ${base.toFixed(1)} us`);
    return cost / base;
  };
  return {
    newestPage: await ratio(pageOf, many),
    withheldPage: await ratio(pageOf, flooded),
    withheldInbox: await ratio(() => "/v1/conversations", flooded),
    withheldUnread: await ratio(() => "/v1/me", flooded),
  };
}

/** CPU time of a message that is sent, stored and delivered to one open stream, in microseconds. */
export async function costOfDelivery(
  { parley, folder, few }: MessageSubject,
  ms: number,
): Promise<Record<string, number>> {
  const arrivals = new Arrivals();
  const stream = await openStream(parley.port, few.reader.headers, "message.created", arrivals);
  const before = sent;
  const contender = { requests: sends(parley, few) };
  await warmUp([contender], folder);
  const [cost] = await costsOf([contender], folder, ms);
  await came(arrivals, sent - before);
  stream.destroy();
  return { delivered: cost! };
}

async function came(arrivals: Arrivals, all: number): Promise<void> {
  for (const deadline = performance.now() + LATE_MS; arrivals.count < all; await sleep(10)) {
    if (performance.now() > deadline) throw new Error(`${arrivals.count} of ${all} messages came.`);
  }
}

/** A thousand people talk in pairs, each with a stream: from the arrival of a 201 to that of the message at the other. */
export async function messageDelivery(folder: string): Promise<Record<string, number>> {
  await using servers = new AsyncDisposableStack();
  const dataFolder = join(folder, "talkers");
  const { port } = await startParley(servers, dataFolder, { settings: UNLIMITED });
  const names = Array.from({ length: TALKERS }, (_, i) => `talker ${i}`);
  const people = await addPeople(port, dataFolder, names);
  const [theirs, own] = [new Arrivals(), new Arrivals()];
  const talks: Talk[] = [];
  for (let i = 0; i < TALKERS; i += 2) {
    const [sender, reader] = people.slice(i, i + 2) as [Person, Person];
    talks.push({ sender, reader, conversation: await introduce(port, sender, reader) });
    for (const [{ headers }, arrivals] of [
      [sender, own],
      [reader, theirs],
    ] as const) {
      const socket = await openStream(port, headers, "message.created", arrivals);
      servers.defer(() => void socket.destroy());
    }
  }
  const taken = { p50: [] as number[], p99: [] as number[] };
  for (let round = -1; round < ROUNDS; round++) {
    const delays = (await talkAndListen(port, talks, theirs)).sort((a, b) => a - b);
    if (round < 0) continue;
    taken.p50.push(percentile(delays, 50));
    taken.p99.push(percentile(delays, 99));
  }
  return { messageMedian: median(taken.p50), message: median(taken.p99) };
}

/** Milliseconds; a message that came before its 201 took none. */
async function talkAndListen(port: number, talks: Talk[], arrivals: Arrivals): Promise<number[]> {
  arrivals.forget();
  const answered = new Map<string, number>();
  const sending: Promise<void>[] = [];
  const begun = performance.now();
  const count = (ROUND_MS * MESSAGES_PER_SECOND) / 1000;
  for (let i = 0; i < count; i++) {
    await sleep(Math.max(0, begun + (i * 1000) / MESSAGES_PER_SECOND - performance.now()));
    const { sender, conversation } = talks[i % talks.length]!;
    const message = newMessage(conversation);
    const sent = postTo<{ id: string }>(port, "/v1/messages", sender.headers, message);
    sending.push(sent.then(({ id }) => void answered.set(id, performance.now())));
  }
  await Promise.all(sending);
  await came(arrivals, count);
  return [...answered].map(([id, at]) => Math.max(0, arrivals.times.get(id)![0]! - at));
}
