// Tokens that are guessed, made up from what a look-alike decodes to, or read from a stolen data folder (CWE-208, CWE-312).
// Floods of guesses are in test/http/rate-limits.test.ts.
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { revokeTokensOf, SCOPES } from "../../src/core/people/tokens.ts";
import { startApp } from "../support/app.ts";
import { asker } from "../support/asker.ts";
import { attack } from "./attack.ts";

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

test("a token is itself alone: none that is alike is taken, not even one of the same 32 bytes", async (t) => {
  const server = await startApp(t);
  const { token } = await server.user();
  const statusOf = async (authorization: string) =>
    (await attack(server, { headers: { authorization } }, { method: "GET", path: "/v1/me", headers: [] }))
      .status;
  assert.equal(await statusOf(`Bearer ${token}`), 200);
  // 43 letters have two bits more than 32 bytes: the last may be another letter, and a decoder does not care.
  const last = LETTERS.indexOf(token.at(-1)!);
  const twins = [1, 2, 3].map((bits) => token.slice(0, -1) + LETTERS[last ^ bits]);
  const bytes = (text: string) => Buffer.from(text.slice(7), "base64url").toString("hex");
  for (const twin of twins) assert.equal(bytes(twin), bytes(token));
  const alike = [
    ...twins,
    ...[7, 20, 49].map((at) => token.slice(0, at) + (token[at] === "x" ? "y" : "x") + token.slice(at + 1)),
    ...[
      token.slice(0, -1),
      `${token}A`,
      `${token}=`,
      token.slice(7),
      token.toUpperCase(),
      token.toLowerCase(),
    ],
    ...[
      `${token},${token}`,
      `"${token}"`,
      `${token}\0`,
      "parley_",
      `parley_${"A".repeat(43)}`,
      "%",
      "' OR 1=1 --",
      "*",
    ],
  ];
  for (const each of alike) assert.ok([400, 401].includes(await statusOf(`Bearer ${each}`)), each);
  for (const scheme of ["Basic", "Token", "", "Bearer Bearer", "Digest"]) {
    assert.equal(await statusOf(`${scheme} ${token}`), 401, scheme);
  }
  assert.equal(await statusOf(`Bearer ${token}`), 200);
});

test("a stolen data folder holds no token, in whatever spelling, also where it was made with a key", async (t) => {
  const server = await startApp(t);
  const admin = await server.user({ scopes: SCOPES });
  const ask = asker(server, admin);
  const made = await ask("POST", "/v1/tokens", { user_id: admin.id }, { "idempotency-key": "k" });
  assert.equal(made.status, 201);
  const tokens = [admin.token, String(made.body.token)];
  for (const token of tokens) {
    const headers = { authorization: `Bearer ${token}` };
    assert.equal((await fetch(`${server.url}/v1/me`, { headers })).status, 200);
  }
  await server.app.stop();
  let searched = 0;
  for (const entry of await readdir(server.config.dataFolder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const content = await readFile(join(entry.parentPath, entry.name));
    for (const token of tokens) {
      const secret = token.slice(7);
      const raw = Buffer.from(secret, "base64url");
      for (const spelling of [secret, raw, raw.toString("hex"), raw.toString("base64")]) {
        assert.ok(!content.includes(spelling), `${entry.name} has a token`);
      }
    }
    searched += content.length;
  }
  assert.ok(searched > 0);
});

test("known users behind an address that guesses are let in, also after another token was revoked", async (t) => {
  const limits = { requestsPerSecond: 1000, failuresPerSecond: 1, failuresBurst: 5 };
  const now = Date.UTC(2026, 0, 1);
  const server = await startApp(t, limits, { clock: () => now });
  const [known, revoked, fresh] = [await server.user(), await server.user(), await server.user()];
  const statusOf = async (headers: { authorization: string }) =>
    (await fetch(`${server.url}/v1/me`, { headers })).status;
  const guess = (i: number) => statusOf({ authorization: `Bearer parley_${String(i).padStart(43, "0")}` });
  assert.equal(await statusOf(known.headers), 200);
  assert.equal(await statusOf(revoked.headers), 200);
  for (let i = 0; i < 10; i++) assert.equal(await guess(i), i < 5 ? 401 : 429);
  assert.equal(await statusOf(fresh.headers), 429, "it has never come before");
  await revokeTokensOf(server.app.core, null, revoked.id);
  assert.equal(await statusOf(known.headers), 200);
  assert.equal(await statusOf(revoked.headers), 401, "it is looked at again");
  assert.equal(await statusOf(revoked.headers), 429, "from now on it is a guess");
  assert.equal(await statusOf(known.headers), 200);
  assert.equal(await guess(10), 429);
});
