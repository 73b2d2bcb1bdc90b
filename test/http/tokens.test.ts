import assert from "node:assert/strict";
import { test } from "node:test";
import { listTokens, revokeToken, SCOPES, type Scope } from "../../src/core/tokens.ts";
import { startApp } from "./app.ts";

test("a token expires at its time and not before", async (t) => {
  let now = Date.UTC(2026, 0, 1);
  const server = await startApp(t, {}, { clock: () => now });
  const user = await server.user({ expiresAt: now + 60_000 });
  const status = async () => (await fetch(`${server.url}/v1/contacts`, { headers: user.headers })).status;
  assert.equal(await status(), 200);
  now += 59_999;
  assert.equal(await status(), 200);
  now += 1;
  assert.equal(await status(), 401);
});

test("a revoked token is refused from the next request on", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const status = async () => (await fetch(`${server.url}/v1/contacts`, { headers: user.headers })).status;
  assert.equal(await status(), 200);
  const [token] = await listTokens(server.app.core);
  await revokeToken(server.app.core, null, token!.id);
  assert.equal(await status(), 401);
});

const ROUTES: [string, string, Scope][] = [
  ["GET", "/v1/contacts", "contacts:read"],
  ["HEAD", "/v1/contacts", "contacts:read"],
  ["POST", "/v1/contacts", "contacts:write"],
  ["GET", "/v1/contacts/x", "contacts:read"],
  ["PUT", "/v1/contacts/x", "contacts:write"],
  ["DELETE", "/v1/contacts/x", "contacts:write"],
  ["GET", "/v1/attachments", "attachments:read"],
  ["POST", "/v1/attachments", "attachments:write"],
  ["GET", "/v1/attachments/x", "attachments:read"],
  ["PUT", "/v1/attachments/x", "attachments:write"],
  ["DELETE", "/v1/attachments/x", "attachments:write"],
  ["GET", "/files/att_00000000000000000000000000/x", "attachments:read"],
];

test("each route wants its scope: every other scope together is 403 insufficient_scope", async (t) => {
  const server = await startApp(t);
  for (const [method, path, scope] of ROUTES) {
    const user = await server.user({ scopes: SCOPES.filter((each) => each !== scope) });
    const refused = await fetch(server.url + path, { method, headers: user.headers });
    assert.equal(refused.status, 403, `${method} ${path}`);
    assert.equal(
      refused.headers.get("www-authenticate"),
      `Bearer error="insufficient_scope", scope="${scope}"`,
    );
    const fit = await server.user({ scopes: [scope] });
    const allowed = await fetch(server.url + path, { method, headers: fit.headers });
    assert.ok(![401, 403].includes(allowed.status), `${method} ${path} with ${scope} was ${allowed.status}`);
  }
});

test("only the SHA-256 of a token is stored", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const dump = JSON.stringify(
    await server.app.core.db.all("SELECT id, name, scopes, hex(hash) AS hash FROM tokens"),
  );
  assert.ok(!dump.includes(user.token.slice(7)));
  const { createHash } = await import("node:crypto");
  assert.ok(dump.toLowerCase().includes(createHash("sha256").update(user.token).digest("hex")));
});
