import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type CommandLine, commandLine, type Ended, ended, PARLEY, tokenOf } from "../support/command.ts";
import { testDatabase } from "../support/engines/postgres.ts";
import { isLong } from "../support/scale.ts";

/** A person with a home folder and the command line, without the server's settings. */
export interface Person {
  /** The home folder, where commands run. */
  folder: string;
  env: Record<string, string>;
  run(...args: string[]): Promise<Ended>;
  /** Runs a command with this standard input. */
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

/** A running server, with the token of its first user. */
export interface Served {
  operator: CommandLine;
  url: string;
  token: string;
}

/** Runs a test on SQLite, and in the long version also on PostgreSQL: the command sends the same to both. */
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

/** Creates a user who is logged in. */
export async function newcomer(t: TestContext, server: Served, name: string): Promise<Person> {
  const somebody = await person(t);
  const { code, stderr } = await somebody.feed(
    await tokenFor(server, name),
    ...["login", server.url, "--token-stdin"],
  );
  if (code !== 0) throw new Error(stderr);
  return somebody;
}

/** Creates a user and returns a token. */
export async function tokenFor({ url, token: admin }: Served, username: string): Promise<string> {
  const make = async (path: string, fields: Record<string, string>) => {
    const headers = { authorization: `Bearer ${admin}` };
    const answer = await fetch(url + path, { method: "POST", headers, body: new URLSearchParams(fields) });
    if (!answer.ok) throw new Error(await answer.text());
    return (await answer.json()) as { id: string; token: string };
  };
  const { id } = await make("/v1/users", { username });
  return (await make("/v1/tokens", { user_id: id })).token;
}

/** Parses the output of a command as JSON lines. */
// biome-ignore lint/suspicious/noExplicitAny: each command's are others, and what they have is what is tested.
export function items({ stdout }: Ended): any[] {
  return stdout
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

/** Creates two users who are contacts of each other. */
export async function pair(t: TestContext, server: Served) {
  const [ada, bob] = [await newcomer(t, server, "ada"), await newcomer(t, server, "bob")];
  await ada.run("contacts", "add", "bob", "+15550101");
  const [contact] = items(await bob.run("contacts", "add", "ada", "+15550100", "--json"));
  return { ada, bob, conversation: contact.conversation_id as string };
}

/** Starts a server with a pair of users. */
export async function servePair(t: TestContext) {
  const operator = await commandLine(t);
  const token = tokenOf(await operator.serve());
  return pair(t, { operator, url: operator.url, token });
}
