// The work that is measured against the yardstick, in rounds that alternate.
import { costed, medianRate, toRate } from "./cost.ts";
import { closedLoop, type Requests } from "./load.ts";
import {
  ascendingContact,
  below,
  CONNECTIONS,
  FORM_TYPE,
  form,
  get,
  JSON_TYPE,
  KIB,
  MIB,
  PAGE,
  post,
  randomContact,
  twentyWords,
} from "./requests.ts";
import type { Rate } from "./results.ts";
import { filledId } from "./rows.ts";
import { clearUploads, FEW, MANY, replay, replayFile, type Subject, settle } from "./subject.ts";

const LARGE_CONNECTIONS = 2;
const WARM_UP_MS = 700;

export interface Work {
  /** By who does the work. */
  contenders: Record<string, Requests>;
  /** Rows of the results, each the rate of one contender over that of another. */
  ratios: { row: string; of: string; to: string }[];
  /** What to do after each round, beside the time. */
  tidy?: () => Promise<void>;
}

/** Medians over the rounds. */
export async function measure(
  work: Work,
  folder: string,
  rounds: number,
  ms: number,
): Promise<Record<string, Rate>> {
  const taken = new Map<string, Rate[]>();
  for (let round = -1; round < rounds; round++) {
    for (const [name, requests] of Object.entries(work.contenders)) {
      const lasting = round < 0 ? WARM_UP_MS : ms;
      const each = toRate(await costed(requests, () => closedLoop(requests, lasting)));
      if (round >= 0) taken.set(name, [...(taken.get(name) ?? []), each]);
      await work.tidy?.();
      settle(folder);
    }
  }
  return Object.fromEntries([...taken].map(([name, rates]) => [name, medianRate(rates)]));
}

async function reads(subject: Subject): Promise<Record<string, Work>> {
  const { few, many } = subject.users;
  await replay(subject, "/retrieve", `/v1/contacts/${filledId(few.first)}`, { headers: few.headers });
  await replay(subject, "/list", "/v1/contacts", { headers: few.headers });
  const common = { connections: CONNECTIONS, status: 200 };
  const parley = { ...common, servers: [subject.parley] };
  const bare = { ...common, servers: [subject.bare] };
  const pageOf = ({ headers, first }: typeof few, contacts: number) => {
    const from = filledId(first + PAGE + below(contacts - PAGE));
    return get(`/v1/contacts?starting_after=${from}`, headers);
  };
  return {
    retrieve: {
      contenders: {
        bare: { ...bare, next: () => get("/retrieve", few.headers) },
        parley: {
          ...parley,
          next: () => get(`/v1/contacts/${filledId(few.first + below(FEW))}`, few.headers),
        },
      },
      ratios: [{ row: "retrieve", of: "parley", to: "bare" }],
    },
    list: {
      contenders: {
        bare: { ...bare, next: () => get("/list", few.headers) },
        few: { ...parley, next: () => pageOf(few, FEW) },
        many: { ...parley, next: () => pageOf(many, MANY) },
      },
      ratios: [
        { row: "list", of: "few", to: "bare" },
        { row: "listMany", of: "many", to: "bare" },
        { row: "pages", of: "few", to: "many" },
      ],
    },
  };
}

async function creates(subject: Subject): Promise<Record<string, Work>> {
  const { writer, many } = subject.users;
  const to = (user: typeof writer) => ({ ...user.headers, ...JSON_TYPE });
  const init = { method: "POST", headers: to(writer), body: new Uint8Array(randomContact()) };
  await replay(subject, "/create", "/v1/contacts", init);
  const common = { connections: CONNECTIONS, status: 201 };
  const parley = { ...common, servers: [subject.parley] };
  return {
    create: {
      contenders: {
        bare: {
          ...common,
          servers: [subject.bare],
          next: () => post("/create", to(writer), randomContact()),
        },
        ascending: { ...parley, next: () => post("/v1/contacts", to(writer), ascendingContact()) },
        random: { ...parley, next: () => post("/v1/contacts", to(writer), randomContact()) },
        many: { ...parley, next: () => post("/v1/contacts", to(many), randomContact()) },
      },
      ratios: [
        { row: "create", of: "ascending", to: "bare" },
        { row: "createRandom", of: "random", to: "bare" },
        { row: "createMany", of: "many", to: "bare" },
      ],
    },
  };
}

/** A message of twenty words, as people send them, in the user's own notes. */
async function sends(subject: Subject): Promise<Record<string, Work>> {
  const { port } = subject.parley;
  const headers = { ...subject.users.writer.headers, ...JSON_TYPE };
  const me = await fetch(`http://127.0.0.1:${port}/v1/me`, { headers });
  const { conversation_id } = (await me.json()) as { conversation_id: string };
  const message = () => Buffer.from(JSON.stringify({ conversation_id, text: twentyWords() }));
  const init = { method: "POST", headers, body: new Uint8Array(message()) };
  await replay(subject, "/send", "/v1/messages", init);
  const common = { connections: CONNECTIONS, status: 201 };
  return {
    send: {
      contenders: {
        bare: { ...common, servers: [subject.bare], next: () => post("/send", headers, message()) },
        parley: {
          ...common,
          servers: [subject.parley],
          next: () => post("/v1/messages", headers, message()),
        },
      },
      ratios: [{ row: "sendWords", of: "parley", to: "bare" }],
    },
  };
}

async function files(subject: Subject): Promise<Record<string, Work>> {
  const headers = { ...subject.users.writer.headers, ...FORM_TYPE };
  const made: Record<string, Work> = {};
  let kept = "";
  for (const [name, size, connections] of [
    ["4k", 4 * KIB, CONNECTIONS],
    ["64m", 64 * MIB, LARGE_CONNECTIONS],
  ] as const) {
    const body = form(size);
    const init = { method: "POST", headers, body: new Uint8Array(body) };
    const dropped = `/drop-${name}`;
    const uploaded = `/upload-${name}`;
    const downloaded = `/download-${name}`;
    await replay(subject, dropped, "/v1/attachments", init, "drop");
    const { id, file_url } = JSON.parse(await replay(subject, uploaded, "/v1/attachments", init, "file"));
    kept = id;
    const { pathname, search } = new URL(file_url);
    await replayFile(subject, downloaded, pathname + search);
    const parley = { servers: [subject.parley], connections };
    const bare = { servers: [subject.bare], connections };
    made[`upload${name}`] = {
      contenders: {
        bare: { ...bare, status: 201, next: () => post(uploaded, headers, body) },
        parley: { ...parley, status: 201, next: () => post("/v1/attachments", headers, body) },
        drop: { ...bare, status: 201, next: () => post(dropped, headers, body) },
      },
      ratios: [
        { row: `upload${name}`, of: "parley", to: "bare" },
        { row: `upload${name}Drop`, of: "parley", to: "drop" },
      ],
      tidy: () => clearUploads(subject, kept),
    };
    made[`download${name}`] = {
      contenders: {
        bare: { ...bare, status: 200, next: () => get(downloaded, {}) },
        parley: { ...parley, status: 200, next: () => get(pathname + search, {}) },
      },
      ratios: [{ row: `download${name}`, of: "parley", to: "bare" }],
    };
  }
  await clearUploads(subject, kept);
  return made;
}

/** All the work, by name. */
export async function allWorks(subject: Subject): Promise<Record<string, Work>> {
  return {
    ...(await reads(subject)),
    ...(await creates(subject)),
    ...(await sends(subject)),
    ...(await files(subject)),
  };
}
