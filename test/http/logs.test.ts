import assert from "node:assert/strict";
import { test } from "node:test";
import { commandLine, tokenOf } from "./command.ts";

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

test("an unknown PARLEY_ variable is named in a warning, and those that our own pages export are not", async (t) => {
  const command = await commandLine(t, { PARLEY_PROT: "9", PARLEY_TOKEN: "x" });
  const server = await command.serve();
  assert.match(server.stderr(), /^PARLEY_PROT is not a setting of Parley/m);
  assert.ok(!server.stderr().includes("PARLEY_TOKEN"));
});
