// Secrets where others can read them (CWE-532, CWE-209, CWE-214): logs at the most verbose level, errors, metrics, the
// process list, error messages about settings.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { createToken } from "../../packages/parley-client/src/server.ts";
import { type CommandLine, commandLine, tokenOf } from "../support/command.ts";
import { eventually } from "../support/files-on-disk.ts";
import { receiver } from "../support/receiver.ts";
import { noProc } from "../support/usage.ts";

const SECRET = "canary-of-links-canary-of-links-canary";

/** Waits for a command that fails to start, and returns all its output. */
async function said(command: CommandLine, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await command.run(...args);
  assert.notEqual(code, 0);
  return stdout + stderr;
}

test("no secret appears in trace logs, errors, metrics or the process list", {
  skip: noProc,
}, async (t) => {
  const command = await commandLine(t, {
    PARLEY_LOG_LEVEL: "trace",
    PARLEY_SECRET: `${SECRET},${SECRET}-before`,
    PARLEY_WEBHOOKS_ALLOW_PRIVATE: "true",
  });
  const server = await command.serve();
  const admin = tokenOf(server);
  const hook = await receiver(t);
  const refusals: string[] = [];
  const ask = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const response = await fetch(command.url + path, {
      method,
      headers: { authorization: `Bearer ${admin}`, "content-type": "application/json", ...headers },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    // Some successful answers show a secret once, by design.
    if (!response.ok) refusals.push(text, JSON.stringify([...response.headers]));
    return text === "" || !response.ok ? {} : (JSON.parse(text) as Record<string, string>);
  };
  const me = await ask("GET", "/v1/me");
  const { token } = await ask("POST", "/v1/tokens", { user_id: me.id }, { "idempotency-key": "canary-key" });
  const { id, secret } = await ask("POST", "/v1/webhooks", { url: `${hook.url}canary-path?canary-query` });
  const rotated = await ask("POST", `/v1/webhooks/${id}/secret`);
  await ask("POST", "/v1/contacts", { username: "ada", phone_number: "+1 555 0100" });
  await hook.wait(1);
  const form = new FormData();
  form.set("file", new File(["canary-content"], "a.txt"));
  const made = await fetch(`${command.url}/v1/attachments`, {
    method: "POST",
    headers: { authorization: `Bearer ${admin}` },
    body: form,
  });
  const { file_url } = (await made.json()) as { file_url: string };
  const signature = new URL(file_url).searchParams.get("signature")!;
  assert.equal((await fetch(file_url)).status, 200);
  // Errors of all kinds, each for a request that contains a secret.
  await ask("POST", "/v1/contacts", `{"username":"canary-json`);
  await ask("POST", "/v1/contacts", { "canary-field": 1 });
  await ask("POST", "/v1/webhooks", { url: "https://user:canary-password@example.com/" });
  await ask("GET", `/v1/contacts?token=canary-token`);
  await ask("GET", `/v1/contacts/${token}`);
  await ask("GET", "/files/att_00000000000000000000000000/x%3Fsignature=canary-encoded");
  await ask("GET", "/v1/contacts?limit=canary-limit");
  await ask("GET", `/files/${"att_00000000000000000000000000"}/x?expires=1&signature=canary-signature`);
  await ask("GET", "/v1/me", undefined, { authorization: `Bearer parley_canary${"x".repeat(37)}` });
  await ask("GET", "/v1/me", undefined, { cookie: "canary-cookie", "x-api-key": "canary-api-key" });
  const key = "c0ffee".padEnd(64, "0");
  const session = await fetch(`${command.url}/session`, {
    method: "POST",
    headers: { authorization: `Bearer ${admin}`, "parley-session": key },
  });
  const cookie = session.headers.getSetCookie()[0]!.split(";")[0]!;
  await ask("GET", "/v1/contacts?limit=x", undefined, { cookie, "parley-session": key });
  const metrics = await (
    await fetch(`${command.url}/metrics`, { headers: { authorization: `Bearer ${admin}` } })
  ).text();
  assert.match(metrics, /parley_/);
  // The launcher replaces itself with the server, so there is one process.
  const processes = readFileSync(`/proc/${server.process.pid}/cmdline`, "utf8");
  assert.ok(processes.includes("main.ts"));
  assert.ok(await eventually(async () => server.stderr().includes("/files/att_")));
  await server.stop();
  const value = cookie.split("=")[1]!;
  const secrets = [admin, token!, secret!, rotated.secret!, signature, SECRET, key, value, "canary"];
  for (const each of secrets.flatMap((each) => [each, each.replace(/^(parley_|whsec_)/, "")])) {
    for (const [where, text] of Object.entries({ log: server.stderr(), metrics, processes }))
      assert.ok(!text.includes(each), `${where} has ${each}`);
  }
  // An answer may repeat what the client itself has just sent, but no secret of the server.
  for (const each of secrets.slice(0, -1))
    for (const text of refusals) assert.ok(!text.includes(each), `an error has ${each}: ${text}`);
  for (const each of "canary-token canary-signature canary-password canary-cookie canaryxxx".split(" "))
    for (const text of refusals) assert.ok(!text.includes(each), `an error has ${each}: ${text}`);
  t.diagnostic(`${server.stderr().length} characters of log, ${refusals.length / 2} refusals`);
});

test("no secret of signed tokens, and no such token, appears in trace logs or errors", async (t) => {
  const PARLEY_JWT_SECRET = "canary-of-tokens-canary-of-tokens";
  const command = await commandLine(t, { PARLEY_LOG_LEVEL: "trace", PARLEY_JWT_SECRET });
  const server = await command.serve();
  const good = await createToken(PARLEY_JWT_SECRET, { sub: "a" });
  const forged = await createToken(`${PARLEY_JWT_SECRET}2`, { sub: "b" });
  const answers: string[] = [];
  for (const [token, path] of [
    [good, "/v1/users"],
    [forged, "/v1/me"],
    [`${good}.a.b`, "/v1/me"],
  ] as const) {
    const response = await fetch(command.url + path, { headers: { authorization: `Bearer ${token}` } });
    assert.ok(!response.ok);
    answers.push(await response.text(), JSON.stringify([...response.headers]));
  }
  await server.stop();
  assert.ok(server.stderr().includes("/v1/users"));
  for (const secret of [PARLEY_JWT_SECRET, ...good.split("."), ...forged.split(".").slice(1)])
    for (const text of [server.stderr(), ...answers]) assert.ok(!text.includes(secret), `${secret}: ${text}`);
});

test("errors about settings contain no secrets", async (t) => {
  const refused: [Record<string, string>, RegExp][] = [
    [{ PARLEY_SECRET: "canary" }, /PARLEY_SECRET/],
    [{ PARLEY_JWT_SECRET: "canary" }, /PARLEY_JWT_SECRET/],
    [{ PARLEY_JWT_PUBLIC_KEY: '{"kty":"canary"}' }, /PARLEY_JWT_PUBLIC_KEY/],
    [
      { PARLEY_DATABASE_URL: "postgres://u:canary@127.0.0.1:1/db", PARLEY_SECRET: SECRET },
      /PARLEY_DATABASE_URL/,
    ],
    [{ PARLEY_DATABASE_URL: "mysql://u:canary@127.0.0.1/db" }, /PARLEY_DATABASE_URL/],
    [{ PARLEY_DATABASE_URL: "postgres://u:canary@127.0.0.1:99999/db" }, /PARLEY_DATABASE_URL/],
    [{ PARLEY_STORE: "s3://canary:canary@bucket" }, /PARLEY_STORE/],
    [
      {
        PARLEY_STORE: "s3://bucket?endpoint=http://127.0.0.1:1",
        AWS_ACCESS_KEY_ID: "canary-id",
        AWS_SECRET_ACCESS_KEY: "canary",
      },
      /PARLEY_STORE|store/,
    ],
    [
      {
        PARLEY_JWT_ISSUER: "i",
        PARLEY_JWT_AUDIENCE: "a",
        PARLEY_JWT_JWKS_URL: "https://u:canary@example.com/keys",
      },
      /PARLEY_JWT_JWKS_URL/,
    ],
    [{ PARLEY_PUBLIC_URL: "https://u:canary@example.com" }, /PARLEY_PUBLIC_URL/],
  ];
  for (const [settings, name] of refused) {
    const command = await commandLine(t, { PARLEY_LOG_LEVEL: "trace", ...settings });
    const text = await said(command, "serve");
    assert.match(text, name);
    assert.ok(!text.includes("canary"), text);
  }
});
