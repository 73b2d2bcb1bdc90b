// Headers by which a client claims another address or host (CWE-348). Their effect on rate limits, and trusted proxies,
// are in test/http/rate-limits.test.ts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { SCOPES } from "../../src/core/people/tokens.ts";
import { startApp } from "../support/app.ts";
import { asker, type Json } from "../support/asker.ts";
import { eventually } from "../support/files-on-disk.ts";
import { attack } from "./attack.ts";

const EVIL = "evil.example";
const SPOOFED: [string, string][] = [
  ["x-forwarded-for", "192.0.2.66"],
  ["x-forwarded-for", "127.0.0.1, 192.0.2.66"],
  ["x-real-ip", "192.0.2.66"],
  ["x-client-ip", "192.0.2.66"],
  ["cf-connecting-ip", "192.0.2.66"],
  ["true-client-ip", "192.0.2.66"],
  ["forwarded", `for=192.0.2.66;host=${EVIL};proto=https`],
  ["x-forwarded-host", EVIL],
  ["x-forwarded-server", EVIL],
  ["x-forwarded-proto", "gopher"],
  ["x-forwarded-port", "66"],
  ["x-forwarded-prefix", "/evil"],
  ["x-original-url", "/v1/users"],
  ["x-rewrite-url", "/v1/users"],
  ["x-http-method-override", "DELETE"],
  ["host", EVIL],
];

test("no forwarded header from a client changes its address, the links or the route", async (t) => {
  const server = await startApp(t);
  const [user, admin] = [await server.user(), await server.user({ scopes: SCOPES })];
  const body = '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nx\r\n--b--\r\n';
  for (const header of SPOOFED) {
    const made = await attack(server, user, {
      path: "/v1/attachments",
      headers: [header, ["content-type", "multipart/form-data; boundary=b"]],
      body,
    });
    assert.equal(made.status, 201, made.body);
    const { id, file_url } = JSON.parse(made.body) as { id: string; file_url: string };
    assert.ok(file_url.startsWith(`${server.url}/files/${id}/a?`), `${header}: ${file_url}`);
    assert.equal(new Map(made.headers).get("location"), `${server.url}/v1/attachments/${id}`);
    const { pathname, search } = new URL(file_url);
    const read = { method: "GET", path: pathname + search, headers: [header] };
    assert.equal((await attack(server, undefined, read)).body, "x", String(header));
    const page = await attack(server, user, {
      method: "GET",
      path: "/v1/attachments?limit=1",
      headers: [header],
    });
    assert.equal(page.status, 200);
    for (const [name, value] of page.headers) assert.ok(!value.includes("evil"), `${name}: ${value}`);
    const refused = await attack(server, user, { method: "GET", path: "/v1/nowhere", headers: [header] });
    assert.ok(refused.body.includes(`"${server.url}/docs/errors/`), refused.body);
  }
  const told = async () =>
    (await asker(server, admin)("GET", "/v1/audit?limit=100")).body.data as {
      action: string;
      details: Json;
    }[];
  const downloads = async () => (await told()).filter(({ action }) => action === "attachment.downloaded");
  assert.ok(await eventually(async () => (await downloads()).length >= SPOOFED.length));
  for (const { details } of await downloads()) assert.equal(details.address, "127.0.0.1");
});
