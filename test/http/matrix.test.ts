// Every route, asked by everybody for everything: who gets what, and that nobody can tell what is not theirs from what
// is not there.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { createToken, revokeToken, SCOPES } from "../../src/core/access/tokens.ts";
import { sql } from "../../src/db/sql.ts";
import { allOperations } from "../../src/http/routes/operations.ts";
import { startApp, startOn, type TestApp, type TestUser, testConfig, upload } from "../support/app.ts";
import { asker, type Json } from "../support/asker.ts";
import { testDatabase } from "../support/engines/postgres.ts";
import { startProxy } from "../support/engines/postgres-proxy.ts";
import { routeScopes } from "./scopes.ts";

/**
 * `owner` made everything. `member` and `blocked` are users who have the owner as a contact and whom the owner has; the
 * owner has blocked the latter. `stranger` is a user like them whom nobody knows.
 */
const PEOPLE = ["stranger", "blocked", "member", "owner"] as const;
type Person = (typeof PEOPLE)[number];
type People = Record<Person, TestUser>;

interface Scene extends People {
  server: TestApp;
  admin: TestUser;
  /** Ids by what they are of; each of the owner's making, in the conversation with the member, or with the blocked one. */
  ids: Record<string, string>;
}

/** The name leads nowhere. */
const HOOK = { url: "https://receiver.invalid/" };
const UNKNOWN = "01h455vb4pex5vsknk084sn02q";

async function contactOf(server: TestApp, from: TestUser, to: TestUser): Promise<Json> {
  const [user] = await server.app.core.db.all<{ username: string }>(
    sql`SELECT username FROM users WHERE id = ${to.id}`,
  );
  const fields = { username: user!.username, phone_number: "555" };
  const { status, body } = await asker(server, from)("POST", "/v1/contacts", fields);
  assert.equal(status, 201);
  return body;
}

async function sent(server: TestApp, from: TestUser, conversation: unknown): Promise<Json> {
  const answer = await upload(server.url, from, new File(["x"], "x"), {
    conversation_id: String(conversation),
  });
  assert.equal(answer.status, 201);
  return (await answer.json()) as Json;
}

async function makeScene(server: TestApp): Promise<Scene> {
  const [stranger, blocked, member, owner, admin] = await Promise.all([
    server.user(),
    server.user(),
    server.user(),
    server.user(),
    server.user({ scopes: SCOPES }),
  ]);
  const withMember = await contactOf(server, owner, member);
  const withBlocked = await contactOf(server, owner, blocked);
  for (const each of [member, blocked]) await contactOf(server, each, owner);
  await asker(server, owner)("PUT", `/v1/contacts/${withBlocked.id}/block`);
  const toMember = await sent(server, owner, withMember.conversation_id);
  const toBlocked = await sent(server, owner, withBlocked.conversation_id);
  const fromBlocked = await sent(server, blocked, withBlocked.conversation_id);
  const ids = {
    contact: String(withMember.id),
    conversation: String(withMember.conversation_id),
    conversationWithBlocked: String(withBlocked.conversation_id),
    attachment: String(toMember.id),
    attachmentToBlocked: String(toBlocked.id),
    attachmentFromBlocked: String(fromBlocked.id),
    message: String(toMember.message_id),
    user: owner.id,
    token: (await createToken(server.app.core, null, owner.id, {})).id,
    webhook: "",
    delivery: "",
  };
  const { body: webhook } = await asker(server, owner)("POST", "/v1/webhooks", HOOK);
  ids.webhook = String(webhook.id);
  const { body: delivery } = await asker(server, owner)("POST", `/v1/webhooks/${ids.webhook}/test`);
  ids.delivery = String(delivery.id);
  return { server, stranger, blocked, member, owner, admin, ids };
}

interface Row {
  /** As the routes are told; ids in angle brackets are those of the scene. */
  route: string;
  path: string;
  body?: object;
  file?: boolean;
  /** The status for each person; where all are refused alike, one. */
  expected: Record<Person, number>;
}

const all = (status: number) => ({ stranger: status, blocked: status, member: status, owner: status });
const own = (status: number, others = 404) => ({ ...all(others), owner: status });

/** In each route the ids that somebody else could try; what changes things for the owner comes last. */
const ROWS: Row[] = [
  { route: "GET /v1/contacts", path: "/v1/contacts", expected: all(200) },
  {
    route: "POST /v1/contacts",
    path: "/v1/contacts",
    body: { username: "new", phone_number: "555" },
    expected: all(201),
  },
  { route: "GET /v1/contacts/:id", path: "/v1/contacts/<contact>", expected: own(200) },
  {
    route: "PUT /v1/contacts/:id",
    path: "/v1/contacts/<contact>",
    body: { display_name: "x" },
    expected: own(200),
  },
  { route: "PUT /v1/contacts/:id/block", path: "/v1/contacts/<contact>/block", expected: own(204) },
  { route: "DELETE /v1/contacts/:id/block", path: "/v1/contacts/<contact>/block", expected: own(204) },
  { route: "DELETE /v1/contacts/:id", path: "/v1/contacts/<contact>", expected: own(204) },
  { route: "GET /v1/attachments", path: "/v1/attachments", expected: all(200) },
  {
    route: "GET /v1/attachments",
    path: "/v1/attachments?conversation_id=<conversation>",
    expected: { ...own(200), member: 200 },
  },
  {
    route: "GET /v1/attachments",
    path: "/v1/attachments?conversation_id=<conversationWithBlocked>",
    expected: { ...own(200), blocked: 200 },
  },
  {
    route: "GET /v1/attachments/:id",
    path: "/v1/attachments/<attachment>",
    expected: { ...own(200), member: 200 },
  },
  {
    route: "GET /v1/attachments/:id",
    path: "/v1/attachments/<attachmentToBlocked>",
    expected: { ...own(200), blocked: 200 },
  },
  {
    route: "GET /v1/attachments/:id",
    path: "/v1/attachments/<attachmentFromBlocked>",
    expected: { ...all(404), blocked: 200 },
  },
  {
    route: "GET /files/:id/:filename",
    path: "/files/<attachment>/x",
    expected: { ...own(200), member: 200 },
  },
  {
    route: "GET /files/:id/:filename",
    path: "/files/<attachmentFromBlocked>/x",
    expected: { ...all(404), blocked: 200 },
  },
  {
    route: "PUT /v1/attachments/:id",
    path: "/v1/attachments/<attachment>",
    body: { filename: "y" },
    expected: { ...own(200), member: 403 },
  },
  {
    route: "PUT /v1/attachments/:id",
    path: "/v1/attachments/<attachmentFromBlocked>",
    body: { filename: "y" },
    expected: { ...all(404), blocked: 200 },
  },
  {
    route: "DELETE /v1/attachments/:id",
    path: "/v1/attachments/<attachment>",
    expected: { ...own(204), member: 403 },
  },
  {
    route: "DELETE /v1/attachments/:id",
    path: "/v1/attachments/<attachmentFromBlocked>",
    expected: { ...all(404), blocked: 204 },
  },
  { route: "POST /v1/attachments", path: "/v1/attachments", file: true, expected: all(201) },
  {
    route: "POST /v1/attachments",
    path: "/v1/attachments?conversation_id=<conversation>",
    file: true,
    expected: { ...own(201), member: 201 },
  },
  {
    route: "POST /v1/attachments",
    path: "/v1/attachments?conversation_id=<conversationWithBlocked>",
    file: true,
    expected: { ...own(201), blocked: 201 },
  },
  {
    route: "POST /v1/attachments",
    path: "/v1/attachments?message_id=<message>",
    file: true,
    expected: own(201),
  },
  { route: "GET /v1/events", path: "/v1/events", expected: all(200) },
  { route: "GET /v1/webhooks", path: "/v1/webhooks", expected: all(200) },
  { route: "POST /v1/webhooks", path: "/v1/webhooks", body: HOOK, expected: all(201) },
  {
    route: "POST /v1/webhooks",
    path: "/v1/webhooks",
    body: { ...HOOK, all_users: true },
    expected: all(403),
  },
  { route: "GET /v1/webhooks/:id", path: "/v1/webhooks/<webhook>", expected: own(200) },
  { route: "PUT /v1/webhooks/:id", path: "/v1/webhooks/<webhook>", body: HOOK, expected: own(200) },
  { route: "POST /v1/webhooks/:id/secret", path: "/v1/webhooks/<webhook>/secret", expected: own(200) },
  { route: "POST /v1/webhooks/:id/test", path: "/v1/webhooks/<webhook>/test", expected: own(200) },
  { route: "GET /v1/webhooks/:id/deliveries", path: "/v1/webhooks/<webhook>/deliveries", expected: own(200) },
  {
    route: "POST /v1/webhooks/:id/deliveries/:delivery_id/redeliver",
    path: "/v1/webhooks/<webhook>/deliveries/<delivery>/redeliver",
    expected: own(200),
  },
  { route: "DELETE /v1/webhooks/:id", path: "/v1/webhooks/<webhook>", expected: own(204) },
  { route: "GET /v1/me", path: "/v1/me", expected: all(200) },
  { route: "GET /v1/users", path: "/v1/users", expected: all(403) },
  { route: "POST /v1/users", path: "/v1/users", body: { username: "new" }, expected: all(403) },
  { route: "GET /v1/users/:id", path: "/v1/users/<user>", expected: all(403) },
  { route: "DELETE /v1/users/:id", path: "/v1/users/<user>", expected: all(403) },
  { route: "GET /v1/tokens", path: "/v1/tokens", expected: all(403) },
  { route: "POST /v1/tokens", path: "/v1/tokens", body: { user_id: "<user>" }, expected: all(403) },
  { route: "GET /v1/tokens/:id", path: "/v1/tokens/<token>", expected: all(403) },
  { route: "DELETE /v1/tokens/:id", path: "/v1/tokens/<token>", expected: all(403) },
  { route: "GET /v1/audit", path: "/v1/audit", expected: all(403) },
  { route: "GET /metrics", path: "/metrics", expected: all(403) },
];

/** The path with the ids of the scene, or with ids of the same kinds that are nobody's. */
function pathOf({ path }: Row, { ids }: Scene, known = true): string {
  return path.replace(/<(\w+)>/g, (_, name: string) =>
    known ? ids[name]! : ids[name]!.slice(0, 4) + UNKNOWN,
  );
}

async function ask(row: Row, scene: Scene, headers: Record<string, string>, known = true) {
  const path = pathOf(row, scene, known);
  const [method] = row.route.split(" ") as [string];
  let body: FormData | string | null = null;
  if (row.file) {
    const form = new FormData();
    form.set("file", new File(["x"], "x"));
    body = form;
  } else if (row.body) {
    body = JSON.stringify(row.body).replace(/<(\w+)>/g, (_, name: string) => scene.ids[name]!);
  }
  const type: Record<string, string> = row.body ? { "content-type": "application/json" } : {};
  const answer = await fetch(scene.server.url + path, { method, headers: { ...headers, ...type }, body });
  // Who else uses the browser, or has a proxy on the way, finds nothing of it.
  assert.match(
    answer.headers.get("cache-control") ?? "",
    row.path.startsWith("/files/") ? /^(private\b|no-store$)/ : /^no-store$/,
    row.route,
  );
  return { status: answer.status, text: await answer.text() };
}

/** An answer without what is another in each. */
const plain = ({ status, text }: { status: number; text: string }) => ({
  status,
  text: text.replace(/req_[0-9a-z]{26}/g, "req"),
});

test("the matrix has every route that wants a token", () => {
  const routes = routeScopes(allOperations).map(({ method, path }) => `${method} ${path}`);
  assert.deepEqual([...new Set(ROWS.map(({ route }) => route))].sort(), routes.sort());
});

test("every route for everybody: what is not yours is as if it were not there", async (t) => {
  const server = await startApp(t);
  let asked = 0;
  for (const row of ROWS) {
    const scene = await makeScene(server);
    for (const person of PEOPLE) {
      const { headers } = scene[person];
      const answer = await ask(row, scene, headers);
      assert.equal(
        answer.status,
        row.expected[person],
        `${row.route} ${row.path} by ${person}: ${answer.text}`,
      );
      asked++;
      if (answer.status !== 404) continue;
      assert.deepEqual(
        plain(answer),
        plain(await ask(row, scene, headers, false)),
        `${row.route} by ${person}`,
      );
      asked++;
    }
  }
  t.diagnostic(`${asked} requests`);
});

test("every route without a right: none, a revoked, an expired token, one of all other scopes", async (t) => {
  let now = Date.UTC(2026, 0, 1);
  const server = await startApp(t, {}, { clock: () => now });
  const scene = await makeScene(server);
  const { core } = server.app;
  const headersOf = async (choice: Parameters<typeof createToken>[3]) => {
    const { id, token } = await createToken(core, null, scene.owner.id, choice);
    return { id, headers: { authorization: `Bearer ${token}` } };
  };
  const revoked = await headersOf({ scopes: SCOPES });
  await revokeToken(core, null, revoked.id);
  const expired = await headersOf({ scopes: SCOPES, expiresAt: now + 1000 });
  now += 1000;
  const scopes = new Map(
    routeScopes(allOperations).map(({ method, path, scope }) => [`${method} ${path}`, scope]),
  );
  for (const row of ROWS) {
    const scope = scopes.get(row.route);
    const wrong = await headersOf({ scopes: SCOPES.filter((each) => each !== scope) });
    const statuses = {
      none: (await ask(row, scene, {})).status,
      revoked: (await ask(row, scene, revoked.headers)).status,
      expired: (await ask(row, scene, expired.headers)).status,
    };
    // Files are also for those who have a link, and whoever has none has no signature either.
    const none = row.route.startsWith("GET /files/") ? 403 : 401;
    assert.deepEqual(statuses, { none, revoked: 401, expired: 401 }, row.route);
    if (scope) assert.equal((await ask(row, scene, wrong.headers)).status, 403, row.route);
  }
});

test("to refuse what is not yours takes no step more than to refuse what is not there", async (t) => {
  const proxy = await startProxy(t, await testDatabase(t));
  const config = { ...(await testConfig(t)), databaseUrl: proxy.url, secrets: ["s".repeat(32)] };
  const scene = await makeScene(await startOn(t, config));
  const none = { roundTrips: Number.POSITIVE_INFINITY, statements: Number.POSITIVE_INFINITY };
  const counted = async (row: Row, known: boolean, least: typeof none) => {
    await sleep(10);
    proxy.takeCounts();
    assert.equal((await ask(row, scene, scene.stranger.headers, known)).status, 404);
    const { roundTrips, statements } = proxy.takeCounts();
    return {
      roundTrips: Math.min(least.roundTrips, roundTrips),
      statements: Math.min(least.statements, statements),
    };
  };
  for (const row of ROWS.filter(({ expected }) => expected.stranger === 404)) {
    let [foreign, missing] = [none, none];
    // Others use the wire as well: they add, they never take away; where all is slow they may do so in many rounds.
    for (let round = 0; round < 5 || (round < 60 && !isDeepStrictEqual(foreign, missing)); round++) {
      foreign = await counted(row, true, foreign);
      missing = await counted(row, false, missing);
    }
    assert.deepEqual(foreign, missing, `${row.route} ${row.path}`);
  }
});
