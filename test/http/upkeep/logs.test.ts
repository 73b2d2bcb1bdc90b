import assert from "node:assert/strict";
import { test } from "node:test";
import { commandLine, tokenOf } from "../../support/command.ts";
import { eventually } from "../../support/files-on-disk.ts";

test("logs are lines of JSON with request ids; no token, query or signature is in them, even at debug", async (t) => {
  const command = await commandLine(t, { PARLEY_LOG_LEVEL: "debug" });
  const server = await command.serve();
  const token = tokenOf(server);
  const headers = { authorization: `Bearer ${token}` };
  const form = new FormData();
  form.set("file", new File(["x"], "a.txt"));
  const made = await fetch(`${command.url}/v1/attachments`, { method: "POST", headers, body: form });
  const { file_url } = (await made.json()) as { file_url: string };
  assert.equal((await fetch(file_url)).status, 200);
  const paths = [
    "/v1/contacts?q=canary-query",
    "/v1/contacts?canary=1",
    "/nowhere?canary=2",
    "/v1/contacts/%zz?canary=3",
  ];
  const ids: string[] = [];
  for (const path of paths)
    ids.push((await fetch(command.url + path, { headers })).headers.get("request-id")!);
  const canary = "parley_canary-canary-canary-canary-canary-canary-ca";
  await fetch(`${command.url}/v1/contacts`, { headers: { authorization: `Bearer ${canary}` } });
  await server.stop();
  const lines = server.stderr().trim().split("\n");
  const entries = lines.map(
    (line) => JSON.parse(line) as { request_id?: string; path?: string; msg: string },
  );
  for (const id of ids)
    assert.ok(
      entries.some((entry) => entry.request_id === id),
      `${id} is not in the log`,
    );
  assert.ok(entries.some((entry) => entry.path?.startsWith("/files/att_")));
  const signature = new URL(file_url).searchParams.get("signature")!;
  for (const secret of [token, token.slice(7), "canary", signature, "?"]) {
    assert.ok(!server.stderr().includes(secret), `the log has ${secret}`);
  }
});

test("the log says why a webhook did not answer, at debug, and never the path of its address", async (t) => {
  const command = await commandLine(t, { PARLEY_LOG_LEVEL: "debug", PARLEY_WEBHOOKS_ALLOW_PRIVATE: "true" });
  const server = await command.serve();
  const ask = (path: string, body?: URLSearchParams) =>
    fetch(command.url + path, {
      method: "POST",
      headers: { authorization: `Bearer ${tokenOf(server)}` },
      body: body ?? null,
    });
  const url = "http://127.0.0.1:1/canary-path";
  const { id } = (await (await ask("/v1/webhooks", new URLSearchParams({ url }))).json()) as { id: string };
  assert.equal((await ask(`/v1/webhooks/${id}/test`)).status, 200);
  assert.ok(await eventually(async () => server.stderr().includes("a webhook did not answer")));
  await server.stop();
  const lines = server.stderr().trim().split("\n");
  const entry = lines.map((line) => JSON.parse(line)).find(({ webhook }) => webhook !== undefined);
  assert.deepEqual([entry.webhook, entry.error.code, entry.level], [id, "ECONNREFUSED", 20]);
  assert.ok(!server.stderr().includes("canary"));
});

test("an unknown PARLEY_ variable is named in a warning, and those that our own pages export are not", async (t) => {
  const command = await commandLine(t, { PARLEY_PROT: "9", PARLEY_TOKEN: "x" });
  const server = await command.serve();
  assert.match(server.stderr(), /^PARLEY_PROT is not a setting of Parley/m);
  assert.ok(!server.stderr().includes("PARLEY_TOKEN"));
});
