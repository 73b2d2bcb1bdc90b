// Tokens that resemble valid ones, or are read from a stolen data folder (CWE-208, CWE-312). Floods of guesses are in
// test/http/rate-limits.test.ts.
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { SCOPES } from "../../src/core/people/tokens.ts";
import { startApp } from "../support/app.ts";
import { asker } from "../support/asker.ts";
import { attack } from "./attack.ts";

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

test("a token that only resembles a valid one is refused, even if it decodes to the same bytes", async (t) => {
  const server = await startApp(t);
  const { token } = await server.user();
  const statusOf = async (authorization: string) =>
    (await attack(server, { headers: { authorization } }, { method: "GET", path: "/v1/me", headers: [] }))
      .status;
  assert.equal(await statusOf(`Bearer ${token}`), 200);
  // 43 letters hold two bits more than 32 bytes, so another last letter may decode to the same bytes.
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
    ...[`${token},${token}`, `"${token}"`, `${token}\0`, `parley_${"A".repeat(43)}`],
    ...["parley_", "%", "' OR 1=1 --", "*"],
  ];
  for (const each of alike) assert.ok([400, 401].includes(await statusOf(`Bearer ${each}`)), each);
  for (const scheme of ["Basic", "Token", "", "Bearer Bearer", "Digest"]) {
    assert.equal(await statusOf(`${scheme} ${token}`), 401, scheme);
  }
  assert.equal(await statusOf(`Bearer ${token}`), 200);
});

test("the data folder contains no token in any spelling, even one created with an Idempotency-Key", async (t) => {
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
