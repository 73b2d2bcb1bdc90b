// Sends requests to the server under test, and checks what every answer must look like.
import assert from "node:assert/strict";
import { randomBytes, randomInt } from "node:crypto";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { target } from "./target.ts";

export interface Reply {
  status: number;
  headers: Headers;
  bytes: Buffer;
  text: string;
  /** Undefined if the answer is not JSON. */
  json: unknown;
}

export interface Options {
  /** Null sends no token; by default the first user's is sent. */
  token?: string | null;
  headers?: Record<string, string>;
  body?: string | Buffer | FormData;
}

export interface Contact {
  id: string;
  username: string;
  phone_number: string;
  avatar_url: string | null;
  display_name: string | null;
  profile_name: string | null;
  conversation_id: string;
  last_active_at: number | null;
  created_at: number;
}

export interface Attachment {
  id: string;
  message_id: string;
  filename: string;
  file_url: string;
  file_type: string;
  file_size: number;
  created_at: number;
}

/** A user as others see them. */
export interface Shown {
  id: string;
  username: string;
  display_name: string | null;
  avatar_url: string | null;
  kind: string;
}

export interface Message {
  id: string;
  conversation_id: string;
  type: string;
  sender: Shown | null;
  text: string | null;
  data: Record<string, unknown> | null;
  attachments: Attachment[];
  mentions: string[];
  reply_to_id: string | null;
  client_id: string | null;
  reactions: { emoji: string; count: number; user_ids: string[] }[];
  created_at: number;
  edited_at: number | null;
}

interface Page<Item> {
  has_more: boolean;
  data: Item[];
}

export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: string;
  param?: string;
  existing_id?: string;
  request_id: string;
}

const CONTACT_KEYS = [
  "id",
  "username",
  "phone_number",
  "avatar_url",
  "display_name",
  "profile_name",
  "conversation_id",
  "last_active_at",
  "created_at",
];
const ATTACHMENT_KEYS = ["id", "message_id", "filename", "file_url", "file_type", "file_size", "created_at"];
export const SHOWN_KEYS = ["id", "username", "display_name", "avatar_url", "kind"];
const MESSAGE_KEYS = [
  "id",
  "conversation_id",
  "type",
  "sender",
  "text",
  "data",
  "attachments",
  "mentions",
  "reply_to_id",
  "client_id",
  "reactions",
  "created_at",
  "edited_at",
];
const PROBLEM_KEYS = ["type", "title", "status", "detail", "code", "request_id"];

/** Calls a path on the target, or a complete URL such as a file_url. */
export async function call(method: string, path: string, options: Options = {}): Promise<Reply> {
  const token = options.token === undefined ? target.token : options.token;
  const headers: Record<string, string> = { "accept-encoding": "identity", ...options.headers };
  if (token !== null) headers.authorization = `Bearer ${token}`;
  const response = await fetch(path.startsWith("/") ? target.url + path : path, {
    method,
    headers,
    redirect: "manual",
    signal: AbortSignal.timeout(30_000),
    ...(options.body === undefined ? {} : { body: options.body }),
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  const reply = toReply(response.status, response.headers, bytes);
  if (reply.status === 429) {
    // A target with rate limits says how long to wait: the tests send many invalid tokens.
    await sleep(Number(reply.headers.get("retry-after")) * 1000);
    return call(method, path, options);
  }
  assert.ok(reply.status < 500, `${method} ${path} answered ${reply.status}: ${reply.text.slice(0, 500)}`);
  return reply;
}

export function toReply(status: number, headers: Headers, bytes: Buffer): Reply {
  const text = bytes.toString("utf8");
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    // Not JSON: tests that expect an object check for it.
  }
  return { status, headers, bytes, text, json };
}

export function form(fields: Record<string, string> | string): Options {
  const body = typeof fields === "string" ? fields : new URLSearchParams(fields).toString();
  return { headers: { "content-type": "application/x-www-form-urlencoded" }, body };
}

/** A string is sent unchanged, for JSON that JSON.stringify would not write. */
export function json(value: unknown): Options {
  const body = typeof value === "string" ? value : JSON.stringify(value);
  return { headers: { "content-type": "application/json" }, body };
}

/** Returns a name that no earlier run has used. */
export function fresh(word: string): string {
  return `${word}-${randomBytes(6).toString("hex")}`;
}

/** Returns a well-formed unknown id of the same kind as `id`: only its random bits differ. */
export function unknownLike(id: string): string {
  return id.slice(0, -12) + randomBytes(6).toString("hex");
}

export function problem(reply: Reply, status: number, code?: string): Problem {
  assert.equal(reply.status, status, `expected ${status}, was ${reply.status}: ${reply.text.slice(0, 500)}`);
  assert.match(reply.headers.get("content-type") ?? "", /^application\/problem\+json\b/);
  const body = object(reply.json);
  for (const key of PROBLEM_KEYS) assert.ok(Object.hasOwn(body, key), `the problem has no ${key}`);
  const known = new Set([...PROBLEM_KEYS, "param", "existing_id", "expected-offset", "provided-offset"]);
  assert.deepEqual(
    Object.keys(body).filter((key) => !known.has(key)),
    [],
    "the problem has members that are in no contract",
  );
  for (const key of ["type", "title", "detail", "request_id"]) nonEmpty(body[key], key);
  assert.equal(body.status, status);
  assert.match(String(body.code), /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/);
  assert.equal(reply.headers.get("request-id"), body.request_id);
  if (code !== undefined) assert.equal(body.code, code);
  return body as unknown as Problem;
}

/** Asserts a problem that names the field or query parameter `param`. */
export function faulty(reply: Reply, param: string, code?: string): Problem {
  const body = problem(reply, 400, code);
  assert.equal(body.param, param, `the problem should name ${param}: ${reply.text}`);
  return body;
}

export function contact(reply: Reply, status = 200): Contact {
  return contactShape(resource(reply, status));
}

export function attachment(reply: Reply, status = 200): Attachment {
  return attachmentShape(resource(reply, status));
}

export function message(reply: Reply, status = 200): Message {
  return messageShape(resource(reply, status));
}

export function messages(reply: Reply): Page<Message> {
  return page(reply, messageShape);
}

export function contacts(reply: Reply): Page<Contact> {
  return page(reply, contactShape);
}

export function attachments(reply: Reply): Page<Attachment> {
  return page(reply, attachmentShape);
}

function resource(reply: Reply, status: number): unknown {
  assert.equal(reply.status, status, `expected ${status}, was ${reply.status}: ${reply.text.slice(0, 500)}`);
  assert.match(reply.headers.get("content-type") ?? "", /^application\/json\b/);
  return reply.json;
}

function page<Item>(reply: Reply, shape: (value: unknown) => Item): Page<Item> {
  const body = object(resource(reply, 200));
  assert.deepEqual(Object.keys(body), ["has_more", "data"]);
  assert.equal(typeof body.has_more, "boolean");
  assert.ok(Array.isArray(body.data));
  return { has_more: body.has_more as boolean, data: body.data.map(shape) };
}

function contactShape(value: unknown): Contact {
  const body = object(value);
  assert.deepEqual(Object.keys(body), CONTACT_KEYS);
  assert.match(String(body.id), /^con_[0-7][0-9a-hjkmnp-tv-z]{25}$/);
  assert.match(String(body.conversation_id), /^cnv_[0-7][0-9a-hjkmnp-tv-z]{25}$/);
  nonEmpty(body.username, "username");
  nonEmpty(body.phone_number, "phone_number");
  if (body.avatar_url !== null) nonEmpty(body.avatar_url, "avatar_url");
  if (body.display_name !== null) nonEmpty(body.display_name, "display_name");
  if (body.last_active_at !== null) seconds(body.last_active_at);
  seconds(body.created_at);
  return body as unknown as Contact;
}

function attachmentShape(value: unknown): Attachment {
  const body = object(value);
  assert.deepEqual(Object.keys(body), ATTACHMENT_KEYS);
  assert.match(String(body.id), /^att_[0-7][0-9a-hjkmnp-tv-z]{25}$/);
  assert.match(String(body.message_id), /^msg_[0-7][0-9a-hjkmnp-tv-z]{25}$/);
  nonEmpty(body.filename, "filename");
  assert.match(String(body.file_type), /^[a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+/i);
  assert.ok(Number.isInteger(body.file_size) && Number(body.file_size) >= 0, "file_size is not a size");
  seconds(body.created_at);
  const address = new URL(String(body.file_url));
  assert.ok(address.pathname.endsWith(`/files/${body.id}/${lastPart(address.pathname)}`), address.pathname);
  assert.equal(decodeURIComponent(lastPart(address.pathname)), body.filename);
  assert.deepEqual([...address.searchParams.keys()].sort(), ["expires", "signature", "user"]);
  if (target.own) assert.equal(address.origin, target.url);
  return body as unknown as Attachment;
}

function messageShape(value: unknown): Message {
  const body = object(value);
  assert.deepEqual(Object.keys(body), MESSAGE_KEYS);
  assert.match(String(body.id), /^msg_[0-7][0-9a-hjkmnp-tv-z]{25}$/);
  assert.match(String(body.conversation_id), /^cnv_[0-7][0-9a-hjkmnp-tv-z]{25}$/);
  if (body.sender !== null) assert.deepEqual(Object.keys(object(body.sender)), SHOWN_KEYS);
  if (body.text !== null) nonEmpty(body.text, "text");
  if (body.data !== null) object(body.data);
  for (const list of ["attachments", "mentions", "reactions"]) assert.ok(Array.isArray(body[list]), list);
  for (const file of body.attachments as unknown[])
    assert.equal(attachmentShape(file).message_id, body.id, "an attachment of another message");
  seconds(body.created_at);
  if (body.edited_at !== null) seconds(body.edited_at);
  return body as unknown as Message;
}

function lastPart(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function object(value: unknown): Record<string, unknown> {
  assert.ok(typeof value === "object" && value !== null && !Array.isArray(value), `no JSON object: ${value}`);
  return value as Record<string, unknown>;
}

function nonEmpty(value: unknown, what: string): void {
  assert.ok(typeof value === "string" && value !== "", `${what} is not a text: ${JSON.stringify(value)}`);
}

/** Milliseconds or a string could pass for a time; a time in the past would not. */
function seconds(value: unknown): void {
  assert.ok(Number.isInteger(value) && Number(value) > 1.5e9 && Number(value) < 1e11, `no time: ${value}`);
}

/** Asserts that the time is about now, in whole seconds. Other machines' clocks may differ a little. */
export function isNow(time: number): void {
  assert.ok(Math.abs(time - Date.now() / 1000) < 300, `${time} is not now`);
}

/** Returns path and query of the Location, which may be a URL or only a path. */
export function location(reply: Reply): string {
  const { pathname, search } = new URL(reply.headers.get("location") ?? "", `${target.url}/`);
  return pathname + search;
}

export async function newContact(fields: Record<string, string> = {}, token?: string): Promise<Contact> {
  const all = { username: fresh("contact"), phone_number: "+44 20 7946 0001", ...fields };
  const reply = await call("POST", "/v1/contacts", {
    ...form(all),
    ...(token === undefined ? {} : { token }),
  });
  return contact(reply, 201);
}

/** Returns the account of the first user, or of the token's. */
export async function me(token?: string): Promise<{ id: string; username: string; conversation_id: string }> {
  const reply = await call("GET", "/v1/me", token === undefined ? {} : { token });
  return object(resource(reply, 200)) as never;
}

/** Returns all items from `path` on, following the cursor to the end. */
export async function walk<Item extends { id: string }>(
  path: string,
  read: (reply: Reply) => Page<Item>,
  cursor: "starting_after" | "ending_before",
  from?: string,
): Promise<Item[][]> {
  const pages: Item[][] = [];
  let at = from;
  for (let count = 0; count < 1000; count++) {
    const join = path.includes("?") ? "&" : "?";
    const { has_more, data } = read(
      await call("GET", at === undefined ? path : `${path}${join}${cursor}=${at}`),
    );
    pages.push(data);
    if (!has_more) return pages;
    at = (cursor === "starting_after" ? data.at(-1) : data[0])?.id;
    assert.ok(at !== undefined, "a page without items says that there are more");
  }
  throw new Error("the list did not end within 1,000 pages");
}

/** Returns the URLs of a Link header by their relation. */
export function links(reply: Reply): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [, address, relation] of (reply.headers.get("link") ?? "").matchAll(
    /<([^>]*)>;\s*rel="?(\w+)"?/g,
  )) {
    const { pathname, search } = new URL(String(address), `${target.url}/`);
    found[String(relation)] = pathname + search;
  }
  return found;
}

/** Returns the seed of a property and prints it: PARLEY_TEST_SEED repeats the run. */
export function seeded(t: TestContext): number {
  const seed = Number(process.env.PARLEY_TEST_SEED ?? randomInt(2 ** 31));
  t.diagnostic(`seed ${seed}`);
  return seed;
}
