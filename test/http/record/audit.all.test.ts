import assert from "node:assert/strict";
import { once } from "node:events";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { SCOPES } from "../../../src/core/people/tokens.ts";
import { startApp, startOn, type TestApp, type TestUser, testConfig, upload } from "../../support/app.ts";
import { asker, type Json } from "../../support/asker.ts";
import { commandLine, tokenOf } from "../../support/command.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { openSocket } from "../../support/raw-socket.ts";

interface Entry {
  id: string;
  created_at: number;
  action: string;
  actor_id: string | null;
  token_id: string | null;
  object_id: string;
  details: Json | null;
}

async function page(server: TestApp, admin: TestUser, query = "limit=100"): Promise<Entry[]> {
  const { status, body } = await asker(server, admin)("GET", `/v1/audit?${query}`);
  assert.equal(status, 200, JSON.stringify(body));
  return body.data as Entry[];
}

function lines(text: string): Entry[] {
  assert.ok(text === "" || text.endsWith("\n"));
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

async function exported(server: TestApp, admin: TestUser, accept = "application/jsonl"): Promise<Entry[]> {
  const response = await fetch(`${server.url}/v1/audit`, { headers: { ...admin.headers, accept } });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("content-type"), accept);
  return lines(await response.text());
}

/** Adds entries, like background work. */
async function fill(server: TestApp, count: number): Promise<void> {
  const { db, newId } = server.app.core;
  for (let left = count; left > 0; left -= 5000) {
    const downloads = Array.from({ length: Math.min(left, 5000) }, () => ({
      entry: { id: newId("aud"), at: 1, actorId: null, tokenId: null, actedById: null },
      attachmentId: "att_x",
      details: { address: "192.0.2.1", count: 1 },
    }));
    await db.write("recordDownloads", { downloads });
  }
}

test("audit entries have actor, token, object and details", async (t) => {
  const server = await startApp(t, {}, { clock: () => Date.UTC(2026, 0, 1) });
  const admin = await server.user({ scopes: SCOPES });
  const ask = asker(server, admin);
  const [, ofAdmin] = await page(server, admin);
  assert.deepEqual(
    [ofAdmin!.action, ofAdmin!.actor_id, ofAdmin!.object_id],
    ["user.created", null, admin.id],
  );
  const user = (await ask("POST", "/v1/users", { username: "a" })).body.id as string;
  await ask("POST", "/v1/users", { username: "a" });
  const token = { user_id: user, name: "phone", scopes: ["events:read"] };
  const [first, second] = [
    (await ask("POST", "/v1/tokens", token)).body.id as string,
    (await ask("POST", "/v1/tokens", token)).body.id as string,
  ];
  await ask("DELETE", `/v1/tokens/${first}`);
  await ask("DELETE", `/v1/tokens/${first}`);
  await ask("DELETE", `/v1/users/${user}`);
  const [mine] = (await ask("GET", `/v1/tokens?user_id=${admin.id}`)).body.data as { id: string }[];
  const told = await page(server, admin, "limit=6");
  assert.deepEqual(
    told.map(({ action, object_id, details }) => [action, object_id, details]),
    [
      ["user.deleted", user, { username: "a" }],
      ["token.revoked", second, token],
      ["token.revoked", first, token],
      ["token.created", second, token],
      ["token.created", first, token],
      ["user.created", user, { username: "a" }],
    ],
  );
  for (const entry of told) {
    assert.deepEqual([entry.actor_id, entry.token_id], [admin.id, mine!.id]);
    assert.equal(entry.created_at, Date.UTC(2026, 0, 1) / 1000);
    assert.match(entry.id, /^aud_/);
  }
});

test("Accept: application/jsonl exports the whole audit trail, oldest first", async (t) => {
  const server = await startApp(t);
  const admin = await server.user({ scopes: SCOPES });
  await fill(server, 1498);
  const all = await exported(server, admin);
  assert.equal(all.length, 1500);
  assert.deepEqual(all.slice(-100).reverse(), await page(server, admin));
  assert.deepEqual(await exported(server, admin, "application/x-ndjson"), all);
  const get = (accept: string, query = "") =>
    fetch(`${server.url}/v1/audit${query}`, { headers: { ...admin.headers, accept } });
  const mixed = await get("application/jsonl;q=1, application/json;q=0.5");
  assert.equal(mixed.headers.get("content-type"), "application/jsonl");
  assert.equal(lines(await mixed.text()).length, 1500);
  assert.ok(Array.isArray(((await (await get("*/*")).json()) as Json).data));
  const paged = await get("application/jsonl", "?limit=5");
  assert.equal(paged.status, 400);
  assert.equal(((await paged.json()) as Json).param, "limit");
  const head = await fetch(`${server.url}/v1/audit`, {
    method: "HEAD",
    headers: { ...admin.headers, accept: "application/jsonl" },
  });
  assert.equal(head.headers.get("content-type"), "application/jsonl");
  assert.equal(await head.text(), "");
});

test("an export that nobody reads stops reading the database", async (t) => {
  const server = await startApp(t);
  const admin = await server.user({ scopes: SCOPES });
  const count = 100_000;
  await fill(server, count);
  const socket = await openSocket(server.url);
  socket.pause();
  socket.write(
    `GET /v1/audit HTTP/1.0\r\nhost: x\r\nauthorization: ${admin.headers.authorization}\r\naccept: application/jsonl\r\n\r\n`,
  );
  // Long enough to read everything many times if nothing stopped the export.
  await sleep(2000);
  await server.app.core.db.write("forgetEntries", { before: "~", limit: count + 2 });
  const chunks: Buffer[] = [];
  socket.on("data", (chunk) => chunks.push(chunk as Buffer));
  socket.resume();
  await once(socket, "close");
  const text = Buffer.concat(chunks).toString();
  const came = lines(text.slice(text.indexOf("\r\n\r\n") + 4));
  assert.ok(came.length > 0 && came.length < count, `${came.length} lines came`);
  t.diagnostic(`${came.length} of ${count} lines had been read`);
});

/** Returns a server on which a file was downloaded in many ways, after a restart that wrote all counts. */
async function afterDownloads(
  t: TestContext,
  download: (server: TestApp, link: string, user: TestUser) => Promise<void>,
  trustedProxies: string[] = [],
): Promise<Entry[]> {
  const base = await testConfig(t);
  const config = { ...base, publicUrl: "http://files.example", secrets: ["s".repeat(32)], trustedProxies };
  const first = await startOn(t, config);
  first.url = `http://127.0.0.1:${first.app.port()}`;
  const admin = await first.user({ scopes: SCOPES });
  const uploaded = await upload(first.url, admin, new File(["hello"], "a.txt"));
  const { file_url } = (await uploaded.json()) as { file_url: string };
  await download(first, file_url.replace("http://files.example", first.url), admin);
  await first.app.stop();
  const second = await startOn(t, config);
  second.url = `http://127.0.0.1:${second.app.port()}`;
  return (await exported(second, admin)).filter(({ action }) => action === "attachment.downloaded");
}

test("downloads by link are counted per file and address, even right before a stop", async (t) => {
  const told = await afterDownloads(t, async (_, link) => {
    for (const range of [undefined, "bytes=0-1", "bytes=2-"]) {
      const response = await fetch(link, { headers: range === undefined ? {} : { range } });
      assert.equal(response.status, range === undefined ? 200 : 206);
      await response.arrayBuffer();
    }
  });
  assert.ok(told.length >= 1);
  assert.equal(
    told.reduce((sum, { details }) => sum + (details!.count as number), 0),
    3,
  );
  for (const { actor_id, token_id, object_id, details } of told) {
    assert.deepEqual([actor_id, token_id], [null, null]);
    assert.match(object_id, /^att_/);
    assert.equal(details!.address, "127.0.0.1");
  }
});

test("the address of a download is that given by a trusted proxy", async (t) => {
  const told = await afterDownloads(
    t,
    async (_, link) => {
      for (const address of [
        "192.0.2.1",
        "192.0.2.1:443",
        "::ffff:192.0.2.1",
        "[::1]:80",
        "[2001:DB8::1]:443",
        "fe80::1%zone",
        ...["nobody", "<b>", "7", "x".repeat(8000), `fe80::1%${"z".repeat(8000)}`],
      ]) {
        const response = await fetch(link, { headers: { "x-forwarded-for": address } });
        assert.equal(response.status, 200);
        await response.arrayBuffer();
      }
    },
    ["loopback"],
  );
  const counts: Record<string, number> = {};
  for (const { details } of told) {
    const { address, count } = details as { address: string; count: number };
    counts[address] = (counts[address] ?? 0) + count;
  }
  assert.deepEqual(counts, { "192.0.2.1": 3, "::1": 1, "2001:db8::1": 1, "fe80::1": 2, "127.0.0.1": 4 });
});

test("requests other than downloads by link are not counted: by token, HEAD, 304, 308, 403, 416", async (t) => {
  const told = await afterDownloads(t, async (_, link, user) => {
    const ask = async (address: string, status: number, init: RequestInit = {}) => {
      const response = await fetch(address, { redirect: "manual", ...init });
      await response.arrayBuffer();
      assert.equal(response.status, status, address);
      return response;
    };
    const { headers } = await ask(link, 200, { method: "HEAD" });
    await ask(link, 304, { headers: { "if-none-match": headers.get("etag")! } });
    await ask(link.replace("a.txt", "b.txt"), 308);
    await ask(
      link.replace(/signature=(.)/, (_, first) => `signature=${first === "_" ? "-" : "_"}`),
      403,
    );
    await ask(link, 416, { headers: { range: "bytes=9-" } });
    await ask(link.split("?")[0]!, 200, { headers: user.headers });
  });
  assert.deepEqual(told, []);
});

test("audit entries are erased after auditDays, and kept forever with 0", async (t) => {
  let now = Date.UTC(2026, 0, 1);
  const clock = () => now;
  const config = await testConfig(t);
  const first = await startOn(t, config, { clock });
  const admin = await first.user({ scopes: SCOPES });
  await fill(first, 1200);
  now += 1;
  await first.user();
  await first.app.stop();
  now += 30 * 86_400_000;
  for (const [auditDays, left] of [
    [0, 1204],
    [31, 1204],
    [30, 2],
  ]) {
    const server = await startOn(t, { ...config, auditDays: auditDays! }, { clock });
    assert.ok(await eventually(async () => (await exported(server, admin)).length === left), `${auditDays}`);
    await server.app.stop();
  }
});

test("parley audit prints the trail, with its filters, while the server runs", async (t) => {
  const command = await commandLine(t);
  const served = await command.serve();
  const added = JSON.parse((await command.run("user", "add", "zoë", "--json")).stdout);
  const made = JSON.parse((await command.run("token", "create", "zoë", "--json")).stdout);
  await command.run("token", "revoke", made.id);
  await command.run("token", "create", "zoë");
  await command.run("user", "remove", "zoë");
  const { code, stdout } = await command.run("audit");
  assert.equal(code, 0);
  const told = lines(stdout);
  assert.deepEqual(
    told.map(({ action, actor_id }) => [action, actor_id]),
    `user.created token.created user.created token.created token.revoked token.created token.revoked
  user.deleted`
      .split(/\s+/)
      .map((action) => [action, null]),
  );
  assert.deepEqual([told[2]!.object_id, told[2]!.details], [added.id, { username: "zoë" }]);
  assert.equal(told[4]!.object_id, made.id);
  const authorization = `Bearer ${tokenOf(served)}`;
  const accept = "application/jsonl";
  const response = await fetch(`${command.url}/v1/audit`, { headers: { authorization, accept } });
  assert.equal(await response.text(), stdout);
  assert.ok(!stdout.includes("parley_"));
  assert.deepEqual(await command.run("audit", "--json"), { code, stdout, stderr: "" });
  const found = async (...options: string[]) =>
    lines((await command.run("audit", ...options)).stdout).map(({ object_id }) => object_id);
  assert.deepEqual(await found("--object", made.id), [made.id, made.id]);
  assert.deepEqual(await found("--action", "user.created", "--action", "user.deleted"), [
    told[0]!.object_id,
    added.id,
    added.id,
  ]);
  assert.deepEqual(await found("--actor", "admin"), []);
  assert.deepEqual(await found("--before", "2026-01-01T00:00Z"), []);
  assert.equal((await found("--from", "2026-01-01")).length, told.length);
  // In any time zone.
  const hour = new Date(told.at(-1)!.created_at * 1000 + 3_600_000).toISOString().slice(0, 16);
  command.env.TZ = "Asia/Tokyo";
  assert.deepEqual(await found("--from", hour), []);
  for (const [option, value, message] of [
    ["--actor", "nobody", 'No user is named "nobody"'],
    ["--object", "nothing", "--object must be an id"],
    ["--action", "user.eaten", "--action must be one or more of"],
    ...[
      "yesterday",
      "2026-02-30",
      "2026-2-3",
      "2026-02-03T7:00Z",
      "2026-04-31T10:00Z",
      "2026-01-01T24:00Z",
      "2026-01-01T10:00+99:00",
    ].map((time) => ["--from", time, "Use a date or a time that exists, in UTC"] as const),
  ] as const) {
    const refused = await command.run("audit", option, value);
    assert.notEqual(refused.code, 0);
    assert.ok(refused.stderr.includes(message), refused.stderr);
  }
});
