// Searches in 1,000,000 messages of one user in 400 conversations, and of somebody with ten messages.
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { startPostgres } from "../test/support/engines/postgres.ts";
import { costsOf, warmUp } from "./cost.ts";
import { closedLoop, median, openLoop, percentile, type Requests } from "./load.ts";
import { addPeople, type Headers, type Person, postTo } from "./people.ts";
import { below, CONNECTIONS, get } from "./requests.ts";
import { fillContacts, fillConversations, filledMessageId, fillMessages } from "./rows.ts";
import { onServerCore, type ParleyServer, startParley } from "./servers.ts";
import { MANY, settle } from "./subject.ts";

const CONVERSATIONS = 400;
const WORDS_OF_A_MESSAGE = 20;
const VOCABULARY = 50_000;
/** With words as frequent as in natural texts, words of this rank are in about 1,000 of the messages. */
const RANK_OF_A_THOUSAND = 2000;
const MOST_FREQUENT = 50;
const FEW_MESSAGES = 10;
/** As many as a user may have at once. */
const SEARCHERS = 4;
const READS_PER_SECOND = 500;
const ROUNDS = 5;
const ROUND_MS = 4000;
const UNLIMITED = { PARLEY_MESSAGE_LIMIT: "0" };

const SYLLABLES = [
  "ka",
  "lo",
  "mi",
  "ra",
  "tu",
  "se",
  "no",
  "vi",
  "pa",
  "du",
  "gel",
  "bor",
  "fin",
  "sta",
  "kri",
  "zum",
];

/** The word of this rank: three to five syllables in a fixed order that looks like none. */
function wordOf(rank: number): string {
  let rest = Math.imul(rank + 1, 0x9e3779b1) >>> 0;
  let word = "";
  for (let i = 0; i < 3 + (rank % 3); i++, rest = Math.imul(rest, 0x85ebca6b) >>> 0)
    word += SYLLABLES[rest >>> 28];
  return `${word}${rank.toString(36)}`;
}

const VOCABULARY_WORDS = Array.from({ length: VOCABULARY }, (_, rank) => wordOf(rank));

/** A rank below the limit; each is the less likely the higher it is (Zipf's law). */
function frequentRank(random: number): number {
  return Math.floor(VOCABULARY ** random) - 1;
}

function textOf(number: number): string {
  let state = Math.imul(number + 1, 0x9e3779b1) >>> 0;
  const words: string[] = [];
  for (let i = 0; i < WORDS_OF_A_MESSAGE; i++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    words.push(VOCABULARY_WORDS[frequentRank(state / 2 ** 32)]!);
  }
  return words.join(" ");
}

const anyWord = (from: number, to: number) => VOCABULARY_WORDS[from + below(to - from)]!;

const QUERIES = {
  searchWord: () => anyWord(RANK_OF_A_THOUSAND, VOCABULARY),
  searchPrefix: () => anyWord(0, VOCABULARY).slice(0, 3),
  searchFrequent: () => `${anyWord(0, MOST_FREQUENT)} ${anyWord(0, MOST_FREQUENT)}`,
};

/** A server with what is searched in it. */
interface SearchSubject {
  folder: string;
  parley: ParleyServer;
  many: Person;
  /** Has ten messages. */
  small: Person;
}

/** Milliseconds and ratios, on SQLite. */
export async function searches(folder: string, ms: number): Promise<Record<string, number>> {
  await using stack = new AsyncDisposableStack();
  const dataFolder = join(folder, "search");
  const parley = await startParley(stack, dataFolder, { settings: UNLIMITED });
  const [many, other, small] = (await addPeople(parley.port, dataFolder, ["many", "other", "small"])) as [
    Person,
    Person,
    Person,
  ];
  await say(parley, small);
  const alone = await costOfSmall(parley, small, folder, ms);
  fillContacts(dataFolder, many.id, 0, CONVERSATIONS);
  const conversations = fillConversations(dataFolder, many.id, other.id, 0, CONVERSATIONS);
  const each = { senderId: other.id, readerId: many.id, count: MANY / CONVERSATIONS, step: CONVERSATIONS };
  fillMessages(
    dataFolder,
    conversations.map((conversationId, first) => ({ ...each, conversationId, first })),
    textOf,
  );
  const subject = { folder, parley, many, small };
  return {
    ...(await measure(subject, ms)),
    searchSmall: (await costOfSmall(parley, small, folder, ms)) / alone,
  };
}

/** The same on PostgreSQL, on the server's core. */
export async function searchesOnPostgres(folder: string, ms: number): Promise<Record<string, number>> {
  await using stack = new AsyncDisposableStack();
  const postgres = await startPostgres({ under: onServerCore });
  stack.defer(() => postgres.remove());
  const settings = {
    ...UNLIMITED,
    PARLEY_DATABASE_URL: postgres.url,
    PARLEY_SECRET: "a secret that is only there to be measured",
  };
  const dataFolder = join(folder, "search-postgres");
  const parley = await startParley(stack, dataFolder, { settings });
  const names = ["many", "other", "small"];
  const [many, other, small] = (await addPeople(parley.port, dataFolder, names, settings)) as [
    Person,
    Person,
    Person,
  ];
  await say(parley, small);
  const alone = await costOfSmall(parley, small, folder, ms);
  await fillPostgres(postgres.url, many.id, other.id);
  const subject = { folder, parley, many, small };
  const measured = {
    ...(await measure(subject, ms)),
    searchSmall: (await costOfSmall(parley, small, folder, ms)) / alone,
  };
  return Object.fromEntries(Object.entries(measured).map(([row, value]) => [`${row}Postgres`, value]));
}

const ROWS_AT_ONCE = 10_000;

/** Adds the conversations and messages as sending would have left them. */
async function fillPostgres(url: string, userId: string, otherId: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const conversations = Array.from(
    { length: CONVERSATIONS },
    (_, i) => `cnv_0${String(i).padStart(25, "0")}`,
  );
  for (const user of [userId, otherId]) {
    await client.query(
      `INSERT INTO members (conversation_id, user_id, joined_at, since_id, contact_joined)
       SELECT id, $2, 1, '', 0 FROM unnest($1::text[]) AS c (id)`,
      [conversations, user],
    );
  }
  const last = conversations.map((_, i) => filledMessageId(MANY - CONVERSATIONS + i));
  await client.query("INSERT INTO conversations (id, last_id) SELECT * FROM unnest($1::text[], $2::text[])", [
    conversations,
    last,
  ]);
  await client.query(
    `INSERT INTO places (user_id, conversation_id, position, maybe_unread)
     SELECT u.id, c.id, substr(c.last_id, 5), 0 FROM unnest($1::text[]) AS u (id), conversations c WHERE c.id = ANY ($2)`,
    [[userId, otherId], conversations],
  );
  for (let first = 0; first < MANY; first += ROWS_AT_ONCE) {
    const numbers = Array.from({ length: ROWS_AT_ONCE }, (_, i) => first + i);
    await client.query(
      `WITH new AS (SELECT * FROM unnest($1::text[], $2::text[], $3::text[]) AS n (conversation_id, id, text)),
        numbered AS (SELECT n.*, nextval(pg_get_serial_sequence('message_bodies', 'id')) AS body_id FROM new n),
        bodies AS (INSERT INTO message_bodies (id, text) OVERRIDING SYSTEM VALUE SELECT body_id, text FROM numbered)
       INSERT INTO messages (conversation_id, id, sender_id, type, body_id, has_files, created_at, version)
       SELECT conversation_id, id, $4, 'text', body_id, 0, 1, 1 FROM numbered`,
      [
        numbers.map((n) => conversations[n % CONVERSATIONS]),
        numbers.map(filledMessageId),
        numbers.map(textOf),
        otherId,
      ],
    );
  }
  await client.query("INSERT INTO message_index (message_index) VALUES ('delete-all')");
  await client.query("INSERT INTO reindexing (after_id) VALUES (0)");
  await client.query("ANALYZE");
  await client.end();
}

async function say({ port }: ParleyServer, { headers }: Person): Promise<void> {
  const { conversation_id } = (await (await fetch(`http://127.0.0.1:${port}/v1/me`, { headers })).json()) as {
    conversation_id: string;
  };
  for (let i = 0; i < FEW_MESSAGES; i++)
    await postTo(port, "/v1/messages", headers, { conversation_id, text: textOf(i) });
}

const search = (q: string, headers: Headers) => get(`/v1/messages?q=${encodeURIComponent(q)}`, headers);

const requestsOf = (server: ParleyServer, connections: number, next: Requests["next"]): Requests => ({
  servers: [server],
  connections,
  status: 200,
  next,
});

/** Microseconds of CPU. */
async function costOfSmall(parley: ParleyServer, small: Person, folder: string, ms: number): Promise<number> {
  const contender = {
    requests: requestsOf(parley, SEARCHERS, () => search(anyWord(0, VOCABULARY), small.headers)),
  };
  await warmUp([contender], folder);
  return (await costsOf([contender], folder, ms))[0]!;
}

async function measure(
  { folder, parley, many, small }: SearchSubject,
  ms: number,
): Promise<Record<string, number>> {
  const begun = performance.now();
  await indexed(parley, many);
  console.log(
    `  ${((performance.now() - begun) / 1000).toFixed(0)} s until ${MANY} messages were in the index`,
  );
  settle(folder);
  const taken: Record<string, number> = {};
  for (const [row, query] of Object.entries(QUERIES)) {
    const requests = requestsOf(parley, 1, () => search(query(), many.headers));
    await closedLoop(requests, ROUND_MS);
    const { latencies } = await closedLoop(requests, 3 * ms);
    taken[row] = percentile(latencies, 99);
    console.log(`  ${row}: ${latencies.length} searches, p50 ${percentile(latencies, 50).toFixed(1)} ms`);
  }
  return { ...taken, ...(await besideSearches(parley, many, small)) };
}

async function indexed({ port }: ParleyServer, { headers }: Person): Promise<void> {
  for (const deadline = performance.now() + 15 * 60_000; performance.now() < deadline; await sleep(1000)) {
    const answer = await fetch(`http://127.0.0.1:${port}/v1/messages?q=${VOCABULARY_WORDS[0]}`, { headers });
    const { data } = (await answer.json()) as { data?: unknown[] };
    if (data?.length === 0) throw new Error("A search does not find the messages that were filled in.");
    if (data) return;
  }
  throw new Error("The index was not made within 15 minutes.");
}

async function besideSearches(
  parley: ParleyServer,
  many: Person,
  small: Person,
): Promise<Record<string, number>> {
  const reads = requestsOf(parley, CONNECTIONS, () => get("/v1/me", small.headers));
  const frequent = requestsOf(parley, SEARCHERS, () => search(QUERIES.searchFrequent(), many.headers));
  const taken = { alone: [] as number[], beside: [] as number[] };
  for (let round = -1; round < ROUNDS; round++) {
    const alone = await openLoop(reads, READS_PER_SECOND, ROUND_MS);
    const [beside] = await Promise.all([
      openLoop(reads, READS_PER_SECOND, ROUND_MS),
      closedLoop(frequent, ROUND_MS),
    ]);
    if (round < 0) continue;
    taken.alone.push(percentile(alone, 99));
    taken.beside.push(percentile(beside, 99));
  }
  const messagesAlone = median(taken.alone);
  return { messagesAlone, messagesTimes: median(taken.beside) / messagesAlone };
}
