// Round trips to PostgreSQL per request, counted on the wire, and their table in docs/performance.md.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { INDEXED_AT_ONCE } from "../../src/core/search/search.ts";
import { startOn, type TestUser, testConfig, upload } from "../support/app.ts";
import { testDatabase } from "../support/engines/postgres.ts";
import { startProxy } from "../support/engines/postgres-proxy.ts";

/** Round trips and statements of each operation, COMMIT included, for a caller whose token is cached. */
const COSTS: Record<string, { roundTrips: number; statements: number }> = {
  "retrieve a contact": { roundTrips: 1, statements: 1 },
  "list contacts": { roundTrips: 1, statements: 1 },
  "create a contact": { roundTrips: 2, statements: 5 },
  "update a contact": { roundTrips: 3, statements: 7 },
  "delete a contact": { roundTrips: 3, statements: 17 },
  "send a message": { roundTrips: 2, statements: 5 },
  "send a message with a client_id": { roundTrips: 3, statements: 6 },
  "send it again": { roundTrips: 3, statements: 3 },
  "search the messages of a conversation": { roundTrips: 6, statements: 6 },
  "mark a conversation read": { roundTrips: 2, statements: 4 },
  "show that one is typing": { roundTrips: 1, statements: 1 },
  "list conversations": { roundTrips: 3, statements: 3 },
  "react to a message": { roundTrips: 2, statements: 5 },
  "remove a reaction": { roundTrips: 2, statements: 5 },
  "upload a small file": { roundTrips: 2, statements: 5 },
  "retrieve an attachment": { roundTrips: 1, statements: 1 },
  "list attachments": { roundTrips: 1, statements: 1 },
  "list attachments with their senders": { roundTrips: 2, statements: 2 },
  "download a small file": { roundTrips: 2, statements: 2 },
  "create an archive": { roundTrips: 1, statements: 1 },
  "rename an attachment": { roundTrips: 4, statements: 16 },
  "delete a small file": { roundTrips: 5, statements: 15 },
  "create a group": { roundTrips: 4, statements: 15 },
  "invite into a group": { roundTrips: 5, statements: 9 },
  "join a group": { roundTrips: 10, statements: 24 },
  "list groups": { roundTrips: 2, statements: 2 },
  "list members": { roundTrips: 2, statements: 2 },
  "delete a message for oneself": { roundTrips: 4, statements: 8 },
  "remove a member": { roundTrips: 11, statements: 30 },
  "leave a group": { roundTrips: 11, statements: 30 },
};

/** Sends a request as a user, which must succeed, and returns the body. */
type Send = (user: TestUser, method: string, path: string, fields?: object) => Promise<string>;
type Operations = Record<string, () => Promise<unknown>>;

/** Returns the operations of an admin and another member in a group of two. */
async function onGroups(send: Send, admin: TestUser, member: TestUser): Promise<Operations> {
  const nameOf = async (user: TestUser): Promise<string> =>
    JSON.parse(await send(user, "GET", "/v1/me")).username;
  const [inviter, invited] = [await nameOf(admin), await nameOf(member)];
  await send(member, "POST", "/v1/contacts", { username: inviter, phone_number: "555" });
  const contact = await send(admin, "POST", "/v1/contacts", { username: invited, phone_number: "555" });
  const { conversation_id } = JSON.parse(contact);
  let group = "";
  let seat = "";
  let message = "";
  const invite = async () => {
    const fields = { username: invited };
    seat = JSON.parse(await send(admin, "POST", `/v1/groups/${group}/members`, fields)).id;
  };
  const join = () => send(member, "POST", `/v1/groups/${group}/join`);
  return {
    "create a group": async () => {
      group = JSON.parse(await send(admin, "POST", "/v1/groups", { name: "x" })).id;
    },
    "invite into a group": invite,
    "join a group": join,
    "list groups": () => send(member, "GET", "/v1/groups?limit=10"),
    "list members": () => send(member, "GET", `/v1/groups/${group}/members?limit=10`),
    // Operations in parentheses are not in the table.
    "(send to the contact)": async () => {
      message = JSON.parse(await send(admin, "POST", "/v1/messages", { conversation_id, text: "x" })).id;
    },
    "delete a message for oneself": () => send(member, "DELETE", `/v1/messages/${message}?for=me`),
    "remove a member": () => send(admin, "DELETE", `/v1/groups/${group}/members/${seat}`),
    "(come back)": async () => {
      await invite();
      await join();
    },
    "leave a group": () => send(member, "DELETE", `/v1/groups/${group}`),
  };
}

function sendTwice(post: (fields: object) => Promise<string>, conversation_id: string): Operations {
  let fields = {};
  return {
    "send a message with a client_id": () => {
      fields = { conversation_id, text: "y", client_id: crypto.randomUUID() };
      return post(fields);
    },
    "send it again": () => post(fields),
  };
}

function sendTo(url: string): Send {
  return async (who, method, path, fields) => {
    const headers = { ...who.headers, ...(fields ? { "content-type": "application/json" } : {}) };
    const body = fields ? JSON.stringify(fields) : null;
    const answer = await fetch(new URL(path, url), { method, headers, body });
    const text = await answer.text();
    assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
    return text;
  };
}

test("each operation costs the round trips and statements of docs/performance.md", async (t) => {
  const database = await testDatabase(t);
  const proxy = await startProxy(t, database);
  // Another node does the background work, which starts before the answer is sent. This node does not listen for
  // events, which would make it check whether that work is its job.
  proxy.rewrite = (sql) => sql.replace("; LISTEN parley_events", "");
  const secrets = ["s".repeat(32)];
  const index = await startOn(t, { ...(await testConfig(t)), databaseUrl: database, secrets });
  const server = await startOn(t, { ...(await testConfig(t)), databaseUrl: proxy.url, secrets });
  const user = await server.user();
  const sendAs = sendTo(server.url);
  const send = (...request: [method: string, path: string, fields?: object]) => sendAs(user, ...request);
  const { conversation_id: notes } = JSON.parse(await send("GET", "/v1/me"));
  const sent = { id: "" };
  const made = { id: "", file_url: "" };
  const keep = (json: string) => Object.assign(made, JSON.parse(json));
  let names = 0;
  let words = 0;
  const operations: Operations = {
    "create a contact": async () =>
      keep(await send("POST", "/v1/contacts", { username: `name ${names++}`, phone_number: "555" })),
    "retrieve a contact": () => send("GET", `/v1/contacts/${made.id}`),
    "list contacts": () => send("GET", "/v1/contacts?limit=10"),
    "update a contact": () => send("PUT", `/v1/contacts/${made.id}`, { display_name: "x" }),
    "delete a contact": () => send("DELETE", `/v1/contacts/${made.id}`),
    // Before the message that is marked as read, which must be the last one.
    ...sendTwice((fields) => send("POST", "/v1/messages", fields), notes),
    "send a message": async () =>
      Object.assign(
        sent,
        JSON.parse(await send("POST", "/v1/messages", { conversation_id: notes, text: `x${++words}` })),
      ),
    // In production another node does this soon.
    "(index)": () => index.app.core.db.write("indexMessages", INDEXED_AT_ONCE),
    // Finds only this message. An earlier one had a reaction, which costs one more round trip.
    "search the messages of a conversation": () =>
      send("GET", `/v1/messages?conversation_id=${notes}&q=x${words}`),
    // Sending has already marked it as read; this makes it visible to the contact.
    "mark a conversation read": () => send("PUT", `/v1/conversations/${notes}/read`, { message_id: sent.id }),
    "show that one is typing": () => send("POST", `/v1/conversations/${notes}/typing`),
    "list conversations": () => send("GET", "/v1/conversations?limit=10"),
    "react to a message": () => send("PUT", `/v1/messages/${sent.id}/reactions/x`),
    "remove a reaction": () => send("DELETE", `/v1/messages/${sent.id}/reactions/x`),
    "upload a small file": async () =>
      keep(await (await upload(server.url, user, new File(["x"], "x"))).text()),
    "retrieve an attachment": () => send("GET", `/v1/attachments/${made.id}`),
    "list attachments": () => send("GET", "/v1/attachments?limit=10"),
    "list attachments with their senders": () => send("GET", "/v1/attachments?limit=10&include=sender"),
    "download a small file": () => send("GET", made.file_url),
    "create an archive": () => send("POST", "/v1/archives", { attachment_ids: [made.id] }),
    "rename an attachment": () => send("PUT", `/v1/attachments/${made.id}`, { filename: "y" }),
    "delete a small file": () => send("DELETE", `/v1/attachments/${made.id}`),
    ...(await onGroups(sendAs, await server.user(), await server.user())),
  };
  const least: typeof COSTS = {};
  // This node's timers also use the wire: they look for events, and store when users were last seen. That adds counts
  // and never removes any.
  for (let round = 0; round < 8 || (round < 60 && !isDeepStrictEqual(least, COSTS)); round++) {
    for (const [name, run] of Object.entries(operations)) {
      // Work that the last operation started has ended by then.
      await sleep(20);
      proxy.takeCounts();
      await run();
      const { roundTrips, statements } = proxy.takeCounts();
      if (name.startsWith("(")) continue;
      const before = least[name] ?? { roundTrips, statements };
      least[name] = {
        roundTrips: Math.min(before.roundTrips, roundTrips),
        statements: Math.min(before.statements, statements),
      };
    }
  }
  assert.deepEqual(least, COSTS);
});

test("docs/performance.md has the table of round trips", async () => {
  const rows = Object.entries(COSTS).map(
    ([name, { roundTrips, statements }]) => `| ${name} | ${roundTrips} | ${statements} |`,
  );
  const table = ["| operation | round trips | statements |", "|---|---|---|", ...rows].join("\n");
  const page = await readFile(new URL("../../docs/performance.md", import.meta.url), "utf8");
  assert.ok(page.includes(table), `docs/performance.md should have:\n${table}`);
});
