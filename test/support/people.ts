// Users with names, and the requests that they send.
import assert from "node:assert/strict";
import { createToken } from "../../src/core/people/tokens.ts";
import { createUser } from "../../src/core/people/users.ts";
import { type TestApp, type TestUser, upload } from "./app.ts";
import { published } from "./published.ts";

export interface Contact {
  id: string;
  conversation_id: string;
  last_active_at: number | null;
  created_at: number;
}

export interface Person extends TestUser {
  name: string;
}

/** The server that a test uses, which may be one of several. */
export type Place = Pick<TestApp, "url">;

export async function person(server: TestApp, name: string): Promise<Person> {
  const { id } = await createUser(server.app.core, null, { username: name });
  const { token } = await createToken(server.app.core, null, id, {});
  return { id, name, token, headers: { authorization: `Bearer ${token}` } };
}

let pairs = 0;

/**
 * Creates two users who have each other as contacts. Returns them with their conversation; their names are unique on
 * the server.
 */
export async function pair(server: TestApp) {
  const number = ++pairs;
  const [ann, bob] = [await person(server, `ann${number}`), await person(server, `bob${number}`)];
  const { conversation_id: conversation, id: contact } = await add(server, ann, bob.name);
  const { id: back } = await add(server, bob, ann.name);
  await published(server);
  return { ann, bob, conversation, contact, back };
}

/** Creates Ann, Bob and Cat, and a group of Ann's that the others have joined. */
export async function trio(server: TestApp, fields: object = {}) {
  const number = ++pairs;
  const [ann, bob, cat] = [
    await person(server, `ann${number}`),
    await person(server, `bob${number}`),
    await person(server, `cat${number}`),
  ];
  for (const who of [bob, cat]) await add(server, who, ann.name);
  const body = { name: "Climbing", members: [bob.name, cat.name], ...fields };
  const made = await read<{ id: string; conversation_id: string }>(
    send(server, ann, "POST", "/v1/groups", body),
    201,
  );
  const group = `/v1/groups/${made.id}`;
  for (const who of [bob, cat]) await read(send(server, who, "POST", `${group}/join`), 200);
  await published(server);
  return { ann, bob, cat, id: made.id, conversation: made.conversation_id, group };
}

/** Asserts that the answer has the status 204 and no body. */
export async function done(answering: Promise<Response>): Promise<void> {
  const answer = await answering;
  assert.equal(`${answer.status} ${await answer.text()}`, "204 ");
}

export async function send(
  server: Place,
  who: TestUser,
  method: string,
  path: string,
  body?: object,
  more: Record<string, string> = {},
): Promise<Response> {
  const headers = { ...who.headers, ...(body ? { "content-type": "application/json" } : {}), ...more };
  return fetch(server.url + path, { method, headers, body: body ? JSON.stringify(body) : null });
}

/** Asserts the status of an answer and returns its JSON. */
export async function read<T>(answering: Promise<Response>, status: number): Promise<T> {
  const answer = await answering;
  const text = await answer.text();
  assert.equal(answer.status, status, text);
  return JSON.parse(text) as T;
}

/** Asserts the status of a problem and returns its code. */
export async function code(answering: Promise<Response>, status: number): Promise<string> {
  return (await read<{ code: string }>(answering, status)).code;
}

export function fieldsOf(name: string): { username: string; phone_number: string } {
  return { username: name, phone_number: "555" };
}

export async function add(server: Place, who: TestUser, name: string): Promise<Contact> {
  return read(send(server, who, "POST", "/v1/contacts", fieldsOf(name)), 201);
}

/** Uploads a file of that name and content, and returns its id. */
export async function give(
  server: Place,
  who: TestUser,
  conversation: string,
  name: string,
): Promise<string> {
  const sent = upload(server.url, who, new File([name], name), { conversation_id: conversation });
  return (await read<{ id: string }>(sent, 201)).id;
}

/** Sends a message and returns its id. */
export async function say(
  server: Place,
  who: TestUser,
  conversation: string,
  text: string,
  more: object = {},
): Promise<string> {
  const message = { conversation_id: conversation, text, ...more };
  return (await read<{ id: string }>(send(server, who, "POST", "/v1/messages", message), 201)).id;
}

export async function used(server: Place, who: TestUser): Promise<number> {
  const me = await read<{ storage: { used: number } }>(send(server, who, "GET", "/v1/me"), 200);
  return me.storage.used;
}

/** Returns the files that the caller sees, at most 100. */
export async function filesOf(server: Place, who: TestUser): Promise<{ id: string; filename: string }[]> {
  const path = "/v1/attachments?limit=100";
  return (await read<{ data: { id: string; filename: string }[] }>(send(server, who, "GET", path), 200)).data;
}
