// A sign-in link shows whose it is before it is used.
import assert from "node:assert/strict";
import { test } from "node:test";
import { revokeTokensOf } from "../../../src/core/people/tokens.ts";
import { startApp } from "../../support/app.ts";

test("a sign-in link shows the username and nothing else, stays valid, and guesses are limited", async (t) => {
  const limits = { requestsPerSecond: 1000, failuresPerSecond: 1, failuresBurst: 3 };
  const now = Date.UTC(2026, 0, 1);
  const server = await startApp(t, limits, { clock: () => now });
  const user = await server.user();
  const post = (path: string, body: Record<string, string> | null, headers: Record<string, string> = {}) =>
    fetch(server.url + path, { method: "POST", headers, body: body && new URLSearchParams(body) });
  const made = await post("/sign-in-link", null, user.headers);
  const { code } = (await made.json()) as { code: string };
  for (let i = 0; i < 5; i++) {
    const shown = await post("/sign-in", { code });
    assert.deepEqual([shown.status, await shown.json()], [200, { username: "user-1" }]);
    assert.deepEqual(shown.headers.getSetCookie(), []);
    assert.equal(shown.headers.get("cache-control"), "no-store");
  }
  const start = await post("/session", { code }, { "parley-session": "a".repeat(64) });
  assert.equal(start.status, 204);
  assert.equal((await post(`/sign-in?code=${code}`, null)).status, 400);
  await revokeTokensOf(server.app.core, null, user.id);
  const answers = [code, "x", user.token, "y"].map((each) => () => post("/sign-in", { code: each }));
  const codes: unknown[] = [];
  for (const ask of answers) codes.push(((await (await ask()).json()) as { code: string }).code);
  assert.deepEqual(codes, ["invalid_token", "invalid_token", "invalid_token", "rate_limited"]);
});
