// A server on either engine, started by its command line, and its search results.
import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { TestContext } from "node:test";
import { type CommandLine, commandLine, type Served, tokenOf } from "../../support/command.ts";
import { administer, settingsOn, testDatabase } from "../../support/engines/postgres.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { columnOf, findIndexProblems } from "../../support/search-index.ts";

export interface Site {
  command: CommandLine;
  headers: Record<string, string>;
  /** Changes rows directly in the database. */
  change(sql: string): Promise<unknown>;
  problems(): Promise<string[]>;
  /** Resolves once the index has all texts. Until then a search reads them without the index. */
  indexed(): Promise<void>;
}

export const folderOf = ({ env }: CommandLine) => env.PARLEY_DATA!;

async function onSqlite(t: TestContext): Promise<[CommandLine, Site["change"]]> {
  const command = await commandLine(t);
  const change = async (sql: string) => {
    const db = new DatabaseSync(join(folderOf(command), "parley.db"), { timeout: 5000 });
    db.enableDefensive(false);
    db.exec(sql);
    db.close();
  };
  return [command, change];
}

async function onPostgres(t: TestContext): Promise<[CommandLine, Site["change"]]> {
  const url = await testDatabase(t);
  return [await commandLine(t, settingsOn(url)), (sql) => administer(url, sql)];
}

const ENGINES = { sqlite: onSqlite, postgres: onPostgres };

/** More than a search reads without the index. */
const MANY = 60;

/** Starts a server with many unrelated messages. */
export async function startSite(t: TestContext, engine: keyof typeof ENGINES): Promise<[Site, Served]> {
  const [command, change] = await ENGINES[engine](t);
  const server = await command.serve();
  const headers = { authorization: `Bearer ${tokenOf(server)}` };
  const databaseUrl = command.env.PARLEY_DATABASE_URL ?? null;
  const problems = () => findIndexProblems(columnOf({ databaseUrl, dataFolder: folderOf(command) }));
  const indexed = async () => assert.deepEqual(await problems(), []);
  const site = { command, headers, change, problems, indexed };
  await Promise.all(Array.from({ length: MANY }, (_, i) => say(site, `other ${i}`)));
  return [site, server];
}

export async function say({ command, headers }: Site, text: string): Promise<string> {
  const me = (await (await fetch(`${command.url}/v1/me`, { headers })).json()) as { conversation_id: string };
  const body = new URLSearchParams({ conversation_id: me.conversation_id, text });
  const answer = await fetch(`${command.url}/v1/messages`, { method: "POST", headers, body });
  return ((await answer.json()) as { id: string }).id;
}

/** Returns the texts that the search finds, or "503". */
export async function search({ command, headers }: Site, q: string): Promise<string[]> {
  const answer = await fetch(`${command.url}/v1/messages?limit=100&q=${encodeURIComponent(q)}`, { headers });
  if (answer.status !== 200) {
    assert.equal(answer.headers.get("retry-after"), "1");
    return [String(answer.status)];
  }
  return ((await answer.json()) as { data: { text: string }[] }).data.map(({ text }) => text);
}

/** Searches again while the index is rebuilt. */
export async function searchAgain(site: Site, q: string): Promise<string[]> {
  let found: string[] = [];
  await eventually(async () => {
    found = await search(site, q);
    return found[0] !== "503";
  });
  return found;
}
