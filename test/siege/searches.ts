// Expensive searches of one user, as many at once as a client can send, and how long others wait meanwhile.
import assert from "node:assert/strict";
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { isLong } from "../support/scale.ts";
import type { Asked, FloodData } from "./flood.ts";
import type { Resource, Target } from "./target.ts";
import { isBearable, p99 } from "./waits.ts";

const NOTES = 60;
const LENGTH = 10_000;
/**
 * The end of each note. "b" occurs in every note but begins no word, so a search for it compares all words of all
 * notes.
 */
const END = " ab";
const SETUP_AT_ONCE = 20;

interface User {
  headers: Record<string, string>;
  /** Notes to self. */
  conversation_id: string;
}

async function call<T>(
  target: Target,
  user: Pick<User, "headers">,
  { method, path, body }: Asked,
): Promise<T> {
  const headers = { ...user.headers, "content-type": "application/json" };
  const answer = await fetch(target.url + path, { method, headers, body: body ?? null });
  const text = await answer.text();
  assert.ok(answer.ok, text);
  return JSON.parse(text) as T;
}

const post = (path: string, body: object): Asked => ({ method: "POST", path, body: JSON.stringify(body) });
const get = (path: string): Asked => ({ method: "GET", path });

let users = 0;

async function newUser(target: Target): Promise<User> {
  const username = `searcher-${process.pid}-${++users}`;
  const { id } = await call<{ id: string }>(target, target, post("/v1/users", { username }));
  const scopes = ["contacts:read", "contacts:write", "messages:read", "messages:write"];
  const made = {
    user_id: id,
    scopes: [...scopes, "attachments:read", "attachments:write", "events:read", "groups:read"],
  };
  const { token } = await call<{ token: string }>(target, target, post("/v1/tokens", made));
  const headers = { authorization: `Bearer ${token}` };
  return { headers, ...(await call<{ conversation_id: string }>(target, { headers }, get("/v1/me"))) };
}

async function many(count: number, one: (i: number) => Promise<unknown>): Promise<void> {
  for (let i = 0; i < count; i += SETUP_AT_ONCE)
    await Promise.all(Array.from({ length: Math.min(SETUP_AT_ONCE, count - i) }, (_, j) => one(i + j)));
}

const write = (target: Target, { headers, conversation_id }: User, text: string) =>
  call<{ id: string }>(target, { headers }, post("/v1/messages", { conversation_id, text }));

async function upload(target: Target, { headers, conversation_id }: User, name: string): Promise<string> {
  const form = new FormData();
  form.set("conversation_id", conversation_id);
  form.set("file", new File([name], name));
  const answer = await fetch(`${target.url}/v1/attachments`, { method: "POST", headers, body: form });
  assert.equal(answer.status, 201);
  return ((await answer.json()) as { id: string }).id;
}

/** Adds an honest user with data that their requests find. */
async function honest(target: Target): Promise<{ user: User; requests: Record<string, Asked> }> {
  const user = await newUser(target);
  await many(200, (i) => write(target, user, `note ${i} of the garden`));
  await many(20, (i) => upload(target, user, `${i}.txt`));
  const { conversation_id } = user;
  const requests = {
    search: get("/v1/messages?q=garden"),
    archive: post("/v1/archives", { conversation_id }),
    list: get(`/v1/messages?conversation_id=${conversation_id}`),
  };
  return { user, requests };
}

/** Sends the requests one after another, and returns the p99 of each in milliseconds. */
async function measure(
  target: Target,
  user: User,
  requests: Record<string, Asked>,
  rounds: number,
): Promise<Record<string, number>> {
  const taken = Object.keys(requests).map((name) => [name, [] as number[]] as const);
  for (let i = 0; i < rounds; i++) {
    for (const [name, times] of taken) {
      const begun = performance.now();
      await call(target, user, requests[name]!);
      times.push(performance.now() - begun);
    }
  }
  return Object.fromEntries(taken.map(([name, times]) => [name, p99(times)]));
}

/**
 * Floods the server with these requests of one user while another user sends requests, and asserts the limits for both.
 */
function besides(prepare: (target: Target, attacker: User) => Promise<Asked[]>, most: number): Resource {
  return async (target, scaled) => {
    const rounds = scaled(5, 300);
    const { user, requests } = await honest(target);
    const attacker = await newUser(target);
    const asked = await prepare(target, attacker);
    await measure(target, user, requests, rounds);
    const alone = await measure(target, user, requests, rounds);
    const { authorization } = attacker.headers;
    const workerData: FloodData = { url: target.url, authorization: authorization!, asked, atOnce: most };
    const flood = new Worker(new URL("./flood.ts", import.meta.url), { workerData });
    await once(flood, "message");
    const beside = await measure(target, user, requests, rounds);
    const counts: Record<number, number> = {};
    flood.on("message", (each) => Object.assign(counts, each === "sent" ? {} : each)).postMessage("stop");
    await once(flood, "exit");
    const { 429: refused = 0, 200: found = 0, 201: created = 0, ...others } = counts;
    const answered = found + created;
    for (const [name, ms] of Object.entries(beside)) {
      const before = alone[name]!;
      target.say(`p99 of another's ${name}: ${ms.toFixed(1)} ms, alone ${before.toFixed(1)} ms`);
      if (isLong) assert.ok(isBearable(ms, before), `p99 of another's ${name}: ${ms.toFixed(0)} ms`);
    }
    assert.deepEqual(others, {});
    assert.ok(answered > 0 && refused > 0, `${answered} answered, ${refused} refused`);
    return answered + refused;
  };
}

const notesOf = (word: string, query: string) => async (target: Target, attacker: User) => {
  const text = word.repeat((LENGTH - END.length - 2) / [...word].length);
  await many(NOTES, (i) => write(target, attacker, text + END + i));
  return [get(`/v1/messages?limit=100&q=${encodeURIComponent(query)}`)];
};

const manyFiles = async (target: Target, attacker: User) => {
  const { conversation_id } = attacker;
  const ids: string[] = [];
  await many(isLong ? 1000 : 300, async (i) => ids.push(await upload(target, attacker, `${i}`)));
  return [
    post("/v1/archives", { conversation_id }),
    post("/v1/archives", { attachment_ids: ids.slice(0, 250) }),
  ];
};

/** Contacts and conversations that match no filter. */
const manyContacts = async (target: Target, attacker: User) => {
  await many(isLong ? 3000 : 300, async (i) => {
    const fields = { username: `nobody-${i}`, phone_number: `555${i}` };
    const { conversation_id } = await call<User>(target, attacker, post("/v1/contacts", fields));
    if (i < 300) await write(target, { ...attacker, conversation_id }, "hello");
  });
  return [
    get("/v1/contacts?q=absent"),
    get("/v1/conversations?unread=false&pinned=false&archived=false&kind=group"),
    get("/v1/events?types=group.updated"),
  ];
};

export const SEARCHES: Record<string, Resource> = {
  "searches of notes of 10,000 emoji": besides(notesOf("😀", "😀 b"), 150),
  "searches that find notes of 10,000 emoji": besides(notesOf("😀", "😀"), 150),
  "searches of notes of 10,000 letters": besides(notesOf("ax ", "ax b"), 150),
  "archives asked at once": besides(manyFiles, 500),
  "lists with filters that nothing matches": besides(manyContacts, 150),
};
