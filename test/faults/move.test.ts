// A move to other engines and back, killed repeatedly.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "../support/client.ts";
import { type CommandLine, commandLine, tokenOf } from "../support/command.ts";
import { emptyDatabase } from "../support/engines/postgres.ts";
import { credentials, noS3, storeUrl, testBucket } from "../support/engines/s3.ts";
import { fillGroups, type Grouped, groupsOf } from "../support/groups.ts";
import { AckRecord } from "../support/record.ts";
import { type Chance, isLong, scaled, seededChance } from "../support/scale.ts";
import { meet, newSending, noteMessage, sendMessage, type Talkers } from "../support/sending.ts";

const CONTACTS = scaled(250, 100_000);
const FILES = scaled(30, 10_000);
const MESSAGES = scaled(40, 3000);
const KILLS = scaled(2, 5);
const AT_ONCE = 32;
/** Some files stay in the database, some do not. `LARGE_BYTES` has several parts in S3. */
const SIZES = [100, 33_000, 40_000, 70_000];
const LARGE_BYTES = 20 * 2 ** 20;
const SECRET = "the secret of the new engines and it is long enough";

interface Attachment {
  id: string;
  filename: string;
  file_size: number;
  file_url: string;
}

interface State {
  contacts: unknown[];
  attachments: Attachment[];
  /** SHA-256 of the files, in the order of the attachments. */
  digests: string[];
  /** What each of two users sees in their conversations. */
  talks: string[];
  groups: unknown;
}

async function inParallel<T>(count: number, work: (number: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  const one = async () => {
    for (let number = next++; number < count; number = next++) results[number] = await work(number);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
  return results;
}

async function fill(client: Client, chance: Chance): Promise<void> {
  await inParallel(CONTACTS, async (number) => {
    const fields = {
      username: `Näme ${number} 😀`,
      phone_number: `+1555${number}`,
      display_name: `?'${number}"`,
    };
    assert.equal((await client.sendFields("POST", "/v1/contacts", fields)).status, 201);
  });
  await inParallel(FILES, async (number) => {
    const size = number === 0 ? LARGE_BYTES : SIZES[number % SIZES.length]!;
    const bytes = Buffer.alloc(size, `${number} ${chance()}`);
    assert.equal((await client.upload(`file ${number}.bin`, bytes)).status, 201);
  });
}

/** Sends messages one after another, with ids that continue the earlier ones. */
async function talk(talkers: Talkers, record: AckRecord, chance: Chance, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const sending = newSending(talkers, record, chance);
    const answer = await sendMessage(talkers, sending);
    assert.equal(answer.status, 201, String(answer.body));
    noteMessage(record, sending, answer);
  }
}

/**
 * Sends messages, deletes some and edits some. The other user has read the first ones, and a block withholds the last
 * ones.
 */
async function converse(talkers: Talkers, record: AckRecord, chance: Chance): Promise<void> {
  const { client, peer, shared } = talkers;
  await talk(talkers, record, chance, MESSAGES / 2);
  const read = await peer.sendFields("PUT", `/v1/conversations/${shared}/read`, {
    message_id: [...record.items.values()].find(({ message }) => message?.conversationId === shared)!.id,
  });
  assert.equal(read.status, 204, String(read.body));
  await talk(talkers, record, chance, MESSAGES / 4);
  let number = 0;
  for (const { id, message } of record.items.values()) {
    const sender = message!.isPeers ? peer : client;
    const path = `/v1/messages/${id}`;
    if (number % 5 === 0) assert.equal((await sender.send("DELETE", path)).status, 204);
    if (number % 5 === 1)
      assert.equal((await sender.sendFields("PUT", path, { text: `edited ${number}` })).status, 200);
    number++;
  }
  assert.equal((await peer.send("PUT", "/v1/blocks/admin")).status, 204);
  await talk(talkers, record, chance, MESSAGES / 4);
}

/** Returns each user's inbox, unread counts, blocks and visible messages, without links, which are signed anew. */
function talksOf({ client, peer, shared, notes }: Talkers): Promise<string[]> {
  return Promise.all(
    [client, peer].map(async (user) => {
      const { unread_conversations } = await user.get<{ unread_conversations: number }>("/v1/me");
      const paths = ["/v1/conversations", "/v1/blocks", `/v1/messages?conversation_id=${shared}`];
      if (user === client) paths.push(`/v1/messages?conversation_id=${notes}`);
      const lists = await Promise.all(paths.map((path) => all<{ id: string }>(user, path)));
      return JSON.stringify({ unread_conversations, lists }, (name, value) =>
        name === "file_url" ? undefined : value,
      );
    }),
  );
}

async function all<T extends { id: string }>(client: Client, path: string): Promise<T[]> {
  const items: T[] = [];
  for (let after = ""; ; after = `&starting_after=${items.at(-1)!.id}`) {
    const query = path.includes("?") ? "&" : "?";
    const page = await client.get<{ has_more: boolean; data: T[] }>(`${path}${query}limit=100${after}`);
    items.push(...page.data);
    if (!page.has_more) return items;
  }
}

async function bytesOf(url: string): Promise<string> {
  const response = await fetch(url);
  assert.equal(response.status, 200, url);
  const hash = createHash("sha256");
  for await (const chunk of response.body!) hash.update(chunk);
  return hash.digest("hex");
}

async function stateOf(command: CommandLine, talkers: Talkers, grouped: Grouped): Promise<State> {
  const { client } = talkers;
  const contacts = await all<{ id: string }>(client, "/v1/contacts");
  const attachments = await all<Attachment>(client, "/v1/attachments");
  const digests = await inParallel(attachments.length, (number) => bytesOf(attachments[number]!.file_url));
  const groups = await groupsOf(command, grouped);
  return { contacts, attachments, digests, talks: await talksOf(talkers), groups };
}

/** Asserts that rows and files are unchanged, except for links, which are signed anew. */
function assertSame(now: State, before: State): void {
  const unlinked = (state: State) => ({
    ...state,
    attachments: state.attachments.map(({ file_url: _, ...others }) => others),
  });
  assert.deepEqual(unlinked(now), unlinked(before));
}

/** Moves to `scratch` at once to measure the time, and to `target` with kills. */
async function moveWithKills(
  t: TestContext,
  command: CommandLine,
  chance: Chance,
  scratch: string[],
  target: string[],
): Promise<void> {
  const timed = async (...args: string[]) => {
    const begun = performance.now();
    const { code, stderr } = await command.run(...args);
    assert.equal(code, 0, stderr);
    return performance.now() - begun;
  };
  const startMs = await timed("--version");
  const ms = await timed("move", ...scratch);
  let killed = 0;
  for (;;) {
    const child = command.start("move", ...target);
    let said = "";
    child.stderr!.on("data", (chunk) => {
      said += chunk;
    });
    const ended = once(child, "exit");
    if (killed < KILLS) {
      // Kills early each time, so that the next process still has work to do.
      await Promise.race([sleep(startMs + (ms - startMs) * (0.1 + 0.1 * chance())), ended]);
      if (child.exitCode === null) killed++;
      child.kill("SIGKILL");
    }
    const [code] = await ended;
    if (code !== null) {
      // The previous process may have been killed when it was just done.
      if (code !== 0) assert.match(said, /already has rows/);
      break;
    }
  }
  t.diagnostic(`${Math.round(ms)} ms in one go; killed ${killed} times on the way`);
  assert.ok(killed > 0);
}

/** Moves the data of a first server to other engines and back, and checks everything after each move. */
async function thereAndBack(t: TestContext, engines: () => Promise<Record<string, string>>): Promise<void> {
  const chance = seededChance(t);
  const command = await commandLine(t, credentials());
  const first = await command.serve();
  const token = tokenOf(first);
  const client = new Client(command.url, token);
  const talkers = await meet(client, (token) => new Client(command.url, token));
  t.after(() => {
    client.close();
    talkers.peer.close();
  });
  const record = new AckRecord();
  await fill(client, chance);
  await converse(talkers, record, chance);
  const grouped = await fillGroups(command, { id: "", token, headers: { authorization: `Bearer ${token}` } });
  const before = await stateOf(command, talkers, grouped);
  const link = before.attachments[0]!.file_url;
  assert.equal(await first.stop(), 0);

  const settings = await engines();
  await moveWithKills(t, command, chance, optionsOf(await engines()), optionsOf(settings));
  Object.assign(command.env, settings, { PARLEY_SECRET: SECRET });
  const second = await command.serve();
  assertSame(await stateOf(command, talkers, grouped), before);
  assert.equal(await bytesOf(link), before.digests[0]);
  const made = await client.sendFields("POST", "/v1/contacts", { username: "later", phone_number: "555" });
  assert.equal(made.status, 201);
  assert.equal((await client.upload("later.bin", Buffer.alloc(50_000, 7))).status, 201);
  await talk(talkers, record, chance, 10);
  const after = await stateOf(command, talkers, grouped);
  assert.equal(await second.stop(), 0);
  assert.equal((await command.run("check")).code, 0);

  const folder = join(command.env.HOME!, "back");
  const into = (path: string) => ["--to-database", path, "--to-store", path];
  await moveWithKills(t, command, chance, into(join(command.env.HOME!, "scratch")), into(folder));
  for (const name of [...Object.keys(settings), "PARLEY_SECRET"]) delete command.env[name];
  command.env.PARLEY_DATA = folder;
  const third = await command.serve();
  assertSame(await stateOf(command, talkers, grouped), after);
  assert.equal(await bytesOf(link), before.digests[0], "a link that was out before both moves");
  assert.equal(await bytesOf(after.attachments[0]!.file_url), after.digests[0]);
  await talk(talkers, record, chance, 10);
  assert.equal(await third.stop(), 0);
  assert.equal((await command.run("check")).code, 0);
}

function optionsOf(settings: Record<string, string>): string[] {
  return [
    ...(settings.PARLEY_DATABASE_URL ? ["--to-database", settings.PARLEY_DATABASE_URL] : []),
    ...(settings.PARLEY_STORE ? ["--to-store", settings.PARLEY_STORE] : []),
  ];
}

const timeout = isLong ? 3_600_000 : 300_000;

test("rows move to PostgreSQL and back, although the move is killed repeatedly", { timeout }, (t) =>
  thereAndBack(t, async () => ({ PARLEY_DATABASE_URL: await emptyDatabase(t) })),
);

test(
  "rows and files move to PostgreSQL and S3 and back, although the move is killed repeatedly",
  { timeout, skip: noS3 },
  (t) =>
    thereAndBack(t, async () => ({
      PARLEY_DATABASE_URL: await emptyDatabase(t),
      PARLEY_STORE: storeUrl(testBucket(t)),
    })),
);
