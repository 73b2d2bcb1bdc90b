import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type CommandLine, commandLine, type Ended, ended, PARLEY, tokenOf } from "../support/command.ts";
import { testDatabase } from "../support/engines/postgres.ts";
import { isLong } from "../support/scale.ts";

/** Somebody with a home and the command line, away from the server's settings. */
export interface Person {
  /** Their home, in which commands run. */
  folder: string;
  env: Record<string, string>;
  run(...args: string[]): Promise<Ended>;
  /** Runs a command that is given this on standard input. */
  feed(input: string, ...args: string[]): Promise<Ended>;
  start(...args: string[]): ChildProcess;
}

export async function person(t: TestContext, settings: Record<string, string> = {}): Promise<Person> {
  const folder = await mkdtemp(join(tmpdir(), "parley-person-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const env = { PATH: process.env.PATH!, HOME: folder, ...settings };
  const start = (...args: string[]) => spawn(PARLEY, args, { env, cwd: folder });
  const feed = (input: string, ...args: string[]) => {
    const child = start(...args);
    child.stdin.end(input);
    return ended(child);
  };
  return { folder, env, start, feed, run: (...args) => feed("", ...args) };
}

/** A server, as the operator has it, with the token of its first user. */
export interface Served {
  operator: CommandLine;
  url: string;
  token: string;
}

/** A test on SQLite, and in the long version on PostgreSQL, too: what the command sends is the same. */
export function onEachServer(name: string, run: (t: TestContext, server: Served) => Promise<void>): void {
  const serve = async (t: TestContext, settings: Record<string, string>) => {
    const operator = await commandLine(t, settings);
    const token = tokenOf(await operator.serve());
    await run(t, { operator, url: operator.url, token });
  };
  test(`${name} (SQLite)`, (t) => serve(t, {}));
  if (isLong)
    test(`${name} (PostgreSQL)`, async (t) =>
      serve(t, { PARLEY_DATABASE_URL: await testDatabase(t), PARLEY_SECRET: "s".repeat(32) }));
}

/** A new user of the server, who is logged in. */
export async function newcomer(t: TestContext, { url, token: admin }: Served, name: string): Promise<Person> {
  const make = async (path: string, fields: Record<string, string>) => {
    const headers = { authorization: `Bearer ${admin}` };
    const answer = await fetch(url + path, { method: "POST", headers, body: new URLSearchParams(fields) });
    if (!answer.ok) throw new Error(await answer.text());
    return (await answer.json()) as { id: string; token: string };
  };
  const { id } = await make("/v1/users", { username: name });
  const { token } = await make("/v1/tokens", { user_id: id });
  const somebody = await person(t);
  const { code, stderr } = await somebody.feed(token, "login", url, "--token-stdin");
  if (code !== 0) throw new Error(stderr);
  return somebody;
}

/** What a command has printed, as lines of JSON. */
// biome-ignore lint/suspicious/noExplicitAny: each command's are others, and what they have is what is tested.
export function items({ stdout }: Ended): any[] {
  return stdout
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}
