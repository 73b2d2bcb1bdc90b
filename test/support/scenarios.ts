// Tables of requests and their expected answers and events. Each row is a test.

import assert from "node:assert/strict";
import { test } from "node:test";
import { sql } from "../../src/db/sql.ts";
import type { TestApp, TestUser } from "./app.ts";
import type { Json } from "./asker.ts";
import { published } from "./published.ts";

/** The people of a row, and the ids that its strings contain as `<name>`. */
export interface Scene<Who extends string> {
  people: Record<Who, TestUser>;
  ids?: Record<string, unknown>;
}

/** The answer, for the assertions of a row. */
export interface Reply {
  status: number;
  headers: Headers;
  body: Json;
}

/** A row, such as `["a deleted contact is 404", "GET /v1/contacts/<gone>", 404]`. */
export type Scenario<Who extends string, S extends Scene<Who> = Scene<Who>> = readonly [
  name: string,
  request: string,
  status: number,
  details?: Details<Who, S>,
];

interface Details<Who extends string, S extends Scene<Who> = Scene<Who>> {
  /** The user who sends the request: the first of the scene by default, nobody if null. */
  as?: Who | null;
  /** An object is sent as JSON, a string as a form. */
  body?: object | string;
  headers?: Record<string, string>;
  before?: (scene: S) => unknown;
  /** Fields that the answer must have, besides others. A regular expression matches a string. */
  answer?: Json;
  answerHeaders?: Record<string, string | RegExp | null>;
  /** The types of all events that each of these users gets, in order. All others get none. */
  events?: Partial<Record<Who, string>>;
  after?: (scene: S, reply: Reply) => unknown;
}

/** Fails unless the value has all expected fields, and lists have equal lengths. */
export function assertHas(actual: unknown, expected: unknown, where = "the answer"): void {
  if (expected instanceof RegExp) assert.match(String(actual), expected, where);
  else if (Array.isArray(expected)) {
    assert.ok(Array.isArray(actual), where);
    assert.equal(actual.length, expected.length, `${where}: ${JSON.stringify(actual)}`);
    for (const [i, each] of expected.entries()) assertHas(actual[i], each, `${where}[${i}]`);
  } else if (typeof expected === "object" && expected !== null) {
    assert.ok(typeof actual === "object" && actual !== null, where);
    for (const [name, each] of Object.entries(expected))
      assertHas((actual as Json)[name], each, `${where}.${name}`);
  } else assert.deepEqual(actual, expected, where);
}

/** Replaces `<name>` by ids, also in nested values. */
function withIds<T>(value: T, ids: Record<string, unknown> = {}): T {
  const fill = (text: string) =>
    text.replace(/<(\w+)>/g, (whole, name: string) => {
      assert.ok(name in ids, `no id ${whole}`);
      return String(ids[name]);
    });
  if (typeof value === "string") return fill(value) as T;
  if (Array.isArray(value)) return value.map((each) => withIds(each, ids)) as T;
  if (typeof value !== "object" || value === null || value instanceof RegExp) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withIds(each, ids)])) as T;
}

/** Returns the events after a position in numbered order, as `user id, type`. */
async function eventsAfter(server: TestApp, position: number): Promise<[string, string][]> {
  await published(server);
  return server.app.core.db.allValues<[string, string]>(
    sql`SELECT recipient_id, type FROM events WHERE position > ${position} ORDER BY position, number`,
  );
}

async function lastPosition(server: TestApp): Promise<number> {
  await eventsAfter(server, 0);
  const last = sql<{ position: number | null }>`SELECT MAX(position) AS position FROM events`;
  return (await server.app.core.db.get(last))?.position ?? 0;
}

export async function request(
  { url }: Pick<TestApp, "url">,
  who: Pick<TestUser, "headers"> | null,
  line: string,
  { body, headers = {} }: Pick<Details<string>, "body" | "headers"> = {},
): Promise<Reply> {
  const [method = "", path = ""] = line.split(" ");
  const type = typeof body === "string" ? "application/x-www-form-urlencoded" : "application/json";
  const response = await fetch(new URL(path, url), {
    method,
    headers: { ...who?.headers, ...(body === undefined ? {} : { "content-type": type }), ...headers },
    body: body === undefined || typeof body === "string" ? (body ?? null) : JSON.stringify(body),
    redirect: "manual",
  });
  const text = await response.text();
  const isJson = /json\b/.test(response.headers.get("content-type") ?? "");
  return { status: response.status, headers: response.headers, body: isJson && text ? JSON.parse(text) : {} };
}

async function run<Who extends string, S extends Scene<Who>>(
  server: TestApp,
  scene: S,
  [, line, status, row = {}]: Scenario<Who, S>,
): Promise<void> {
  await row.before?.(scene);
  const { answer, answerHeaders = {}, ...asked } = withIds(row, scene.ids);
  const people = Object.entries(scene.people) as [Who, TestUser][];
  const who = row.as === null ? null : row.as === undefined ? people[0]![1] : scene.people[row.as];
  const from = await lastPosition(server);
  const reply = await request(server, who, withIds(line, scene.ids), asked);
  assert.equal(reply.status, status, JSON.stringify(reply.body));
  if (answer) assertHas(reply.body, answer);
  for (const [name, value] of Object.entries(answerHeaders)) assertHas(reply.headers.get(name), value, name);
  const fired = await eventsAfter(server, from);
  for (const [name, { id }] of people) {
    const types = fired.filter(([recipient]) => recipient === id).map(([, type]) => type);
    assert.equal(types.join(" "), row.events?.[name] ?? "", `events of ${name}`);
  }
  await row.after?.(scene, reply);
}

/** Returns a row, for tables made from a list of values. */
export const row = (
  name: string,
  line: string,
  status: number,
  details: Pick<Details<string>, "body" | "headers" | "answer" | "answerHeaders"> = {},
) => [name, line, status, details] as const;

/** Returns rows of requests that are refused for a field of their body. */
export const refusals = (
  line: string,
  status: number,
  code: string,
  bodies: readonly (readonly [body: object | string, param: string, detail?: RegExp])[],
) =>
  bodies.map(([body, param, detail]) => {
    const name = `${line} with ${JSON.stringify(body).slice(0, 90)} is ${status} ${code}`;
    return row(name, line, status, { body, answer: { code, param, ...(detail && { detail }) } });
  });

/** Runs each row as a test with new people. All rows share the server. */
export function scenarios<Who extends string, S extends Scene<Who>>(
  open: () => Promise<TestApp>,
  begin: (server: TestApp) => Promise<S & Scene<Who>>,
  rows: readonly Scenario<Who, S>[],
): void {
  for (const row of rows)
    test(row[0], async () => {
      const server = await open();
      await run(server, await begin(server), row);
    });
}
