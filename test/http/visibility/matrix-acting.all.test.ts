// Every route with each kind of token: who may act as a user, and that this does what the user's own token does, with an audit
// entry that names both.
import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULT_SCOPES, SCOPES } from "../../../src/core/people/tokens.ts";
import { startApp, type TestApp, type TestUser } from "../../support/app.ts";
import { asker, type Json } from "../../support/asker.ts";
import { PEOPLE } from "./matrix-rows.ts";
import { ask, makeScene, ROWS } from "./matrix-scene.ts";

const BACK_END = [...DEFAULT_SCOPES, "act_as"] as const;

/** Writes that leave nothing to name: a message that somebody types, a link, and a file that is not complete. */
const UNRECORDED = new Set([
  "POST /v1/conversations/:id/typing",
  "POST /v1/archives",
  "POST /v1/uploads",
  "PATCH /v1/uploads/:id",
  "DELETE /v1/uploads/:id",
]);
/** Writes that send a delivery, or that set in the matrix what is set. */
const UNCHANGING = new Set([
  "DELETE /v1/me/avatar",
  "PUT /v1/groups/:id/members/:member_id",
  "PUT /v1/webhooks/:id",
  "POST /v1/webhooks/:id/test",
  "POST /v1/webhooks/:id/deliveries/:delivery_id/redeliver",
]);

const as = ({ headers }: { headers: Record<string, string> }, { id }: TestUser) => ({
  ...headers,
  "parley-act-as": id,
});

async function newestEntries(server: TestApp, admin: TestUser, after: string): Promise<Json[]> {
  const { body } = await asker(server, admin)("GET", `/v1/audit?limit=100&ending_before=${after}`);
  return body.data as Json[];
}

async function lastEntry(server: TestApp, admin: TestUser): Promise<string> {
  const { body } = await asker(server, admin)("GET", "/v1/audit?limit=1");
  return (body.data as { id: string }[])[0]!.id;
}

test("each route does the same as a user and for that user, and the audit trail names both", async (t) => {
  const server = await startApp(t);
  const shop = await server.user({ scopes: BACK_END });
  const [named, unnamed] = [new Set<string>(), new Set<string>()];
  let asked = 0;
  for (const row of ROWS) {
    const scene = await makeScene(server);
    const [method] = row.route.split(" ");
    for (const person of PEOPLE) {
      const before = await lastEntry(server, scene.admin);
      const { status, text } = await ask(row, scene, as(shop, scene[person]));
      assert.equal(status, row.expected[person], `${row.route} ${row.path} as ${person}: ${text}`);
      asked++;
      const entries = await newestEntries(server, scene.admin, before);
      for (const { action, actor_id, acted_by_id } of entries)
        assert.deepEqual([actor_id, acted_by_id], [scene[person].id, shop.id], `${row.route}: ${action}`);
      if (method !== "GET" && status < 300) (entries.length > 0 ? named : unnamed).add(row.route);
    }
  }
  // A request that changes nothing leaves no entry.
  for (const route of unnamed.difference(named))
    assert.ok(UNRECORDED.has(route) || UNCHANGING.has(route), `${route} left no entry`);
  t.diagnostic(`${asked} requests; without an entry: ${[...unnamed].join(", ")}`);
});

test("only a token with act_as acts as a user, on every route", async (t) => {
  const server = await startApp(t);
  const scene = await makeScene(server);
  const { member, owner } = scene;
  const [admin, shop] = [
    await server.user({ scopes: SCOPES.filter((scope) => scope !== "act_as") }),
    await server.user({ scopes: SCOPES }),
  ];
  const key = { "parley-session": "b".repeat(64) };
  const session = await fetch(`${server.url}/session`, {
    method: "POST",
    headers: { ...shop.headers, ...key },
  });
  const cookie = { ...key, cookie: session.headers.get("set-cookie")!.split(";")[0]! };
  const before = await lastEntry(server, shop);
  for (const row of ROWS) {
    const status = async (headers: Record<string, string>) => (await ask(row, scene, headers)).status;
    const isFile = row.route.startsWith("GET /files/");
    assert.deepEqual(
      {
        user: await status(as(member, owner)),
        admin: await status(as(admin, owner)),
        session: await status(as({ headers: cookie }, owner)),
        none: await status(as({ headers: {} }, owner)),
        unknown: await status({ ...shop.headers, "parley-act-as": "usr_00000000000000000000000000" }),
        malformed: await status({ ...shop.headers, "parley-act-as": "owner" }),
      },
      { user: 403, admin: 403, session: 400, none: isFile ? 403 : 401, unknown: 404, malformed: 400 },
      row.route,
    );
  }
  assert.deepEqual(await newestEntries(server, shop, before), []);
});
