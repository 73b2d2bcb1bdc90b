// Every route as every person: who gets which status, and that another user's resource answers exactly like an
// unknown one.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createToken, revokeToken, SCOPES } from "../../../src/core/people/tokens.ts";
import { allOperations } from "../../../src/http/routes/operations.ts";
import { startApp } from "../../support/app.ts";
import { PEOPLE } from "./matrix-rows.ts";
import { ask, makeScene, ROWS } from "./matrix-scene.ts";
import { otherScopes, routeScopes } from "./scopes.ts";

/** Removes what differs between any two answers. */
const plain = ({ status, text }: { status: number; text: string }) => ({
  status,
  text: text.replace(/req_[0-9a-z]{26}/g, "req"),
});

test("the matrix has every route that requires a token", () => {
  const routes = routeScopes(allOperations).map(({ method, path }) => `${method} ${path}`);
  assert.deepEqual([...new Set(ROWS.map(({ route }) => route))].sort(), routes.sort());
});

test("every route answers 404 for another user's resource", async (t) => {
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

test("every route refuses no token, a revoked or expired one, and one without its scope", async (t) => {
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
  const routes = new Map(routeScopes(allOperations).map((route) => [`${route.method} ${route.path}`, route]));
  for (const row of ROWS) {
    const { scope, orAdmin } = routes.get(row.route)!;
    const wrong = await headersOf({ scopes: otherScopes({ scope, orAdmin }) });
    const statuses = {
      none: (await ask(row, scene, {})).status,
      revoked: (await ask(row, scene, revoked.headers)).status,
      expired: (await ask(row, scene, expired.headers)).status,
    };
    // Files also open by a signed link, so a request without a token lacks a signature.
    const none = row.route.startsWith("GET /files/") ? 403 : 401;
    assert.deepEqual(statuses, { none, revoked: 401, expired: 401 }, row.route);
    if (scope) assert.equal((await ask(row, scene, wrong.headers)).status, 403, row.route);
  }
});
