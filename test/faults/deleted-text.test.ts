// Deleted or replaced text is in no byte of the server's files, of a backup, or of a move's target.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { openPostgres } from "../../src/db/engines/postgres/postgres.ts";
import { type Answer, Client } from "../support/client.ts";
import { type CommandLine, commandLine, freePort, type Served, tokenOf } from "../support/command.ts";
import { administer, settingsOn, startPostgres } from "../support/engines/postgres.ts";
import { eventually } from "../support/files-on-disk.ts";
import { isLong, scaled, seededChance } from "../support/scale.ts";

const MESSAGES = scaled(300, 20_000);
const CONVERSATIONS = scaled(10, 300);
const AT_ONCE = 16;
/** The most characters between two marks of a text, so that the end of a page cuts at most one mark. */
const BETWEEN_MARKS = 60;
const MAX_REPEATS = 60;
/**
 * Number of digits in the unique word of each text. The last ones alone identify it, because SQLite's index stores only
 * the part of a word that differs from the previous one.
 */
const WORD_DIGITS = 24;
const TELLING_DIGITS = 14;
const SMALL_FILE_BYTES = 400;
const LARGE_FILE_BYTES = 60_000;

/** Marks are numbers in everything that was written: kept text, and deleted or replaced text. */
class Marks {
  readonly prefix = `mark-${randomBytes(6).toString("hex")}-`;
  readonly kept = new Set<string>();
  readonly gone = new Set<string>();
  /** The common end of all words, and the mark of each word by its identifying digits. */
  readonly ending = `x${randomBytes(6).toString("hex")}`;
  readonly words = new Map<string, string>();

  /** Returns a text that repeats a new mark, and its unique word. */
  text(repeats: number): { mark: string; text: string; word: string } {
    const mark = String(this.kept.size + this.gone.size).padStart(6, "0");
    this.kept.add(mark);
    const pieces = Array.from({ length: repeats }, (_, i) => {
      const filling = randomBytes(BETWEEN_MARKS / 2).toString("hex");
      return this.prefix + mark + (i === repeats - 1 ? "" : filling);
    });
    const digits = randomBytes(WORD_DIGITS / 2).toString("hex");
    this.words.set(digits.slice(-TELLING_DIGITS), mark);
    const word = digits + this.ending;
    return { mark, text: `${pieces.join(" ")} ${word}`, word };
  }

  remove(mark: string): void {
    this.kept.delete(mark);
    this.gone.add(mark);
  }

  /** Returns the marks in all files of a folder, with the files that have deleted ones. */
  async find(folder: string): Promise<{ kept: Set<string>; gone: Map<string, string> }> {
    const found = { kept: new Set<string>(), gone: new Map<string, string>() };
    for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      if (!entry.isFile()) continue;
      // The server may delete a file meanwhile.
      const bytes = await readFile(path).catch(() => Buffer.alloc(0));
      for (let at = bytes.indexOf(this.prefix); at !== -1; at = bytes.indexOf(this.prefix, at + 1)) {
        const start = at + this.prefix.length;
        const mark = bytes.toString("latin1", start, start + 6);
        if (this.gone.has(mark)) found.gone.set(mark, path);
        if (this.kept.has(mark)) found.kept.add(mark);
      }
      for (const mark of this.ofWords(bytes.toString("latin1")))
        if (this.gone.has(mark)) found.gone.set(mark, path);
    }
    return found;
  }

  /** Yields the marks of the words in these bytes. */
  *ofWords(bytes: string): Generator<string> {
    for (let at = bytes.indexOf(this.ending); at !== -1; at = bytes.indexOf(this.ending, at + 1)) {
      const mark = this.words.get(bytes.slice(at - TELLING_DIGITS, at));
      if (mark !== undefined) yield mark;
    }
  }

  /** Asserts that all kept text is found in the folder, which shows that the search works, and no deleted text. */
  async check(t: TestContext, folder: string, what: string): Promise<void> {
    const { kept, gone } = await this.find(folder);
    t.diagnostic(`${what}: ${kept.size} of ${this.kept.size} that stay, ${gone.size} of ${this.gone.size}`);
    assert.deepEqual([...gone].slice(0, 5), [], `deleted text in ${what}`);
    assert.equal(kept.size, this.kept.size, `what stays is in ${what}`);
  }
}

async function inParallel(count: number, work: (number: number) => Promise<void>): Promise<void> {
  let next = 0;
  const one = async () => {
    for (let number = next++; number < count; number = next++) await work(number);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
}

/** Retries temporary errors, as clients do. */
async function patiently(ask: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    const answer = await ask();
    if (answer.status !== 503 && answer.status !== 429) return answer;
    await sleep(100);
  }
}

/** Sends a form, or JSON without a file. Each request has a key, whose result is stored. */
function sendMessage(client: Client, fields: Record<string, string>, file?: { name: string; text: string }) {
  const key = { "idempotency-key": randomBytes(8).toString("hex") };
  const type = "content-type";
  if (!file) {
    const body = Buffer.from(JSON.stringify({ ...fields, data: JSON.parse(fields.data!) }));
    return client.send("POST", "/v1/messages", body, { ...key, [type]: "application/json" });
  }
  const head = (disposition: string) => `--b\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n`;
  const parts = Object.entries(fields).map(([name, value]) => `${head(`name="${name}"`)}${value}\r\n`);
  const last = `${head(`name="file"; filename="${file.name}"`)}${file.text}\r\n--b--\r\n`;
  const body = Buffer.from(parts.join("") + last);
  return client.send("POST", "/v1/messages", body, { ...key, [type]: "multipart/form-data; boundary=b" });
}

/**
 * Sends messages to many conversations, and deletes or edits a third of them. Their deliveries to an unreachable
 * webhook stay pending.
 */
async function writeAndDelete(t: TestContext, client: Client): Promise<Marks> {
  const marks = new Marks();
  const chance = seededChance(t);
  const hook = { url: `http://127.0.0.1:${await freePort()}/` };
  assert.equal((await client.sendFields("POST", "/v1/webhooks", hook)).status, 201);
  const conversations: string[] = [];
  await inParallel(CONVERSATIONS, async (number) => {
    const fields = { username: `contact ${number}`, phone_number: "555" };
    const { body } = await patiently(() => client.sendFields("POST", "/v1/contacts", fields));
    conversations.push(JSON.parse(body.toString()).conversation_id);
  });
  await inParallel(MESSAGES, async (number) => {
    const text = marks.text(Math.ceil(chance() ** 4 * MAX_REPEATS));
    const data = marks.text(1);
    const own = [text.mark, data.mark];
    let file: { name: string; text: string } | undefined;
    if (number % 10 === 0) {
      const [name, content] = [marks.text(1), marks.text(3)];
      const size = number % 50 === 0 ? LARGE_FILE_BYTES : SMALL_FILE_BYTES;
      file = { name: name.text, text: content.text.padEnd(size, " ") };
      own.push(name.mark, content.mark);
    }
    const fields = {
      conversation_id: conversations[number % CONVERSATIONS]!,
      text: text.text,
      data: JSON.stringify({ secret: data.text }),
    };
    const { status, body } = await patiently(() => sendMessage(client, fields, file));
    assert.equal(status, 201, String(body));
    const path = `/v1/messages/${JSON.parse(body.toString()).id}`;
    // A search indexes everything sent before.
    if (chance() < 0.3) {
      const found = await patiently(() => client.send("GET", `/v1/messages?q=${text.word}`));
      assert.equal(JSON.parse(String(found.body)).data.length, 1, String(found.body));
    }
    const fate = chance();
    if (fate < 1 / 6) {
      assert.equal((await patiently(() => client.send("DELETE", path))).status, 204);
      for (const mark of own) marks.remove(mark);
    } else if (fate < 1 / 3) {
      const edited = marks.text(Math.ceil(chance() ** 4 * MAX_REPEATS));
      const edit = () => client.sendFields("PUT", path, { text: edited.text });
      assert.equal((await patiently(edit)).status, 200);
      marks.remove(text.mark);
    }
  });
  return marks;
}

interface Written {
  marks: Marks;
  server: Served;
  command: CommandLine;
}

async function start(t: TestContext, settings: Record<string, string> = {}): Promise<Written> {
  const command = await commandLine(t, { PARLEY_WEBHOOKS_ALLOW_PRIVATE: "true", ...settings });
  const server = await command.serve();
  const client = new Client(command.url, tokenOf(server));
  t.after(() => client.close());
  const began = performance.now();
  const marks = await writeAndDelete(t, client);
  const seconds = (performance.now() - began) / 1000;
  t.diagnostic(
    `${MESSAGES} messages in ${CONVERSATIONS} conversations in ${seconds.toFixed(1)} s; ` +
      `${marks.kept.size} marks stay, ${marks.gone.size} were deleted or replaced`,
  );
  return { marks, server, command };
}

async function run(command: CommandLine, ...args: string[]): Promise<void> {
  const { code, stdout, stderr } = await command.run(...args);
  assert.equal(code, 0, stdout + stderr);
}

const timeout = isLong ? 3_600_000 : 300_000;

test("two seconds later, deleted text is in no byte of the data folder, of its backup, or of a move's target", {
  timeout,
}, async (t) => {
  const { marks, server, command } = await start(t);
  const folder = command.env.PARLEY_DATA!;
  await sleep(2000);
  assert.ok(await eventually(async () => (await marks.find(folder)).gone.size === 0));
  await marks.check(t, folder, "data folder");
  const backup = join(command.env.HOME!, "backup");
  await run(command, "backup", backup);
  await marks.check(t, backup, "backup");
  assert.equal(await server.stop(), 0);
  await marks.check(t, folder, "data folder of the stopped server");
  const postgres = await startPostgres();
  t.after(() => postgres.remove());
  const other = join(command.env.HOME!, "other");
  await run(command, "move", "--to-database", other, "--to-store", other);
  await marks.check(t, other, "data folder that it moved to");
  await keepUncompressed(postgres.url);
  await run(command, "move", "--to-database", postgres.url);
  const [data] = await administer(postgres.url, "CHECKPOINT; SHOW data_directory");
  const { gone } = await marks.find(String(data));
  assert.equal(gone.size, 0, "deleted text in any file of the PostgreSQL that it moved to, also in its log");
});

test("deleted text is in no row of PostgreSQL, after VACUUM FULL in no file of its tables, and not in a move's target", {
  timeout,
}, async (t) => {
  const postgres = await startPostgres();
  t.after(() => postgres.remove());
  const { url } = postgres;
  await keepUncompressed(url);
  const { marks, server, command } = await start(t, settingsOn(url));
  const rows = await allRows(url);
  const inRows = new Set([
    ...[...rows.matchAll(new RegExp(`${marks.prefix}(\\d{6})`, "g"))].map(([, mark]) => mark!),
    ...marks.ofWords(rows),
  ]);
  assert.deepEqual([...inRows.intersection(marks.gone)].slice(0, 5), [], "deleted text in a row");
  const [data] = await administer(url, "CHECKPOINT; SHOW data_directory");
  const heap = join(String(data), "base");
  const before = await marks.find(heap);
  await administer(url, "VACUUM FULL");
  await administer(url, "CHECKPOINT");
  const { kept, gone } = await marks.find(heap);
  const inWal = (await marks.find(join(String(data), "pg_wal"))).gone.size;
  t.diagnostic(
    `of ${marks.gone.size} deleted, ${before.gone.size} are in the tables' files before VACUUM FULL and ${gone.size} ` +
      `after it, ${inWal} in the log; of ${inRows.size} in rows ${kept.size} are found in the files`,
  );
  assert.deepEqual([...gone].slice(0, 5), []);
  assert.ok(inRows.isSubsetOf(kept), "the search finds all that is there");
  assert.equal(await server.stop(), 0);
  const other = join(command.env.HOME!, "other");
  await run(command, "move", "--to-database", other, "--to-store", other);
  await marks.check(t, other, "data folder that it moved to");
});

/** Creates the tables, in which long texts stay uncompressed so that a search of the files finds them. */
async function keepUncompressed(url: string): Promise<void> {
  await (await openPostgres(url)).close();
  await administer(url, "ALTER TABLE message_bodies ALTER COLUMN text SET STORAGE EXTERNAL");
}

/** Returns all rows of all tables as text, including the bytes of small files. */
async function allRows(url: string): Promise<string> {
  const tables = await administer(url, "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'");
  let rows = "";
  for (const table of tables) rows += (await administer(url, `SELECT r::text FROM ${table} r`)).join("\n");
  return rows.replace(/\\\\x([0-9a-f]+)/g, (_, hex) => Buffer.from(hex, "hex").toString("latin1"));
}
