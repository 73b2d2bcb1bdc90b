import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { startApp, type TestApp, type TestUser } from "../../support/app.ts";

type Contact = { id: string; username: string; display_name: string | null };

async function add(server: TestApp, user: TestUser, fields: Record<string, string>): Promise<Contact> {
  const body = new URLSearchParams({ phone_number: "555-0100", ...fields });
  const response = await fetch(`${server.url}/v1/contacts`, { method: "POST", headers: user.headers, body });
  assert.equal(response.status, 201, await response.clone().text());
  return (await response.json()) as Contact;
}

async function names(server: TestApp, user: TestUser, query: Record<string, string>): Promise<string[]> {
  const address = `${server.url}/v1/contacts?${new URLSearchParams(query)}`;
  const page = await fetch(address, { headers: user.headers });
  assert.equal(page.status, 200, await page.clone().text());
  return ((await page.json()) as { data: Contact[] }).data.map((contact) => contact.username);
}

test("username finds the one contact of that name, in whatever case and width", async (t) => {
  const server = await startApp(t);
  const [user, other] = [await server.user(), await server.user()];
  await add(server, user, { username: "Ada" });
  await add(server, user, { username: "Adam" });
  await add(server, other, { username: "ada" });
  assert.deepEqual(await names(server, user, { username: "ADA" }), ["Ada"]);
  assert.deepEqual(await names(server, user, { username: "ａｄａ" }), ["Ada"]);
  assert.deepEqual(await names(server, user, { username: "ad" }), []);
});

test("phone_number finds by its digits, however they are grouped", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  await add(server, user, { username: "a", phone_number: "+1 (555) 0101" });
  await add(server, user, { username: "b", phone_number: "15550101" });
  await add(server, user, { username: "c", phone_number: "155501012" });
  assert.deepEqual(await names(server, user, { phone_number: "1-555-0101" }), ["b", "a"]);
});

test("q finds the beginnings of words of both names in any order, and takes nothing for a wildcard", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  await add(server, user, { username: "ada.lovelace", display_name: "Countess Ångström" });
  await add(server, user, { username: "100%" });
  await add(server, user, { username: "😀 smile" });
  for (const q of [
    "ada",
    "LOVE",
    "count",
    "åNG",
    "ada lov",
    "Countess A\u030angstr",
    "ångström",
    "lovelace, ADA",
    "a_a",
    "ång ada co",
  ]) {
    assert.deepEqual(await names(server, user, { q }), ["ada.lovelace"], q);
  }
  for (const q of ["da", "lace", "ada love x", "a%e", "ada a a x", "ada+love"]) {
    assert.deepEqual(await names(server, user, { q }), [], q);
  }
  assert.deepEqual(await names(server, user, { q: "😀" }), ["😀 smile"]);
  assert.equal((await names(server, user, { q: "" })).length, 3);
  const contact = await add(server, user, { username: "grace" });
  const rename = {
    method: "PUT",
    headers: user.headers,
    body: new URLSearchParams({ display_name: "Hopper" }),
  };
  await fetch(`${server.url}/v1/contacts/${contact.id}`, rename);
  assert.deepEqual(await names(server, user, { q: "hop" }), ["grace"]);
});

test("active narrows to who is blocked or not, and takes true and false alone", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const ada = await add(server, user, { username: "ada" });
  await add(server, user, { username: "bob" });
  const db = new DatabaseSync(join(server.config.dataFolder, "parley.db"));
  db.prepare("UPDATE contacts SET blocked_at = 1 WHERE id = ?").run(ada.id);
  db.close();
  assert.deepEqual(await names(server, user, { active: "true" }), ["bob"]);
  assert.deepEqual(await names(server, user, { active: "false" }), ["ada"]);
  assert.deepEqual(await names(server, user, {}), ["bob", "ada"]);
  for (const active of ["", "1", "TRUE", "yes"]) {
    const response = await fetch(`${server.url}/v1/contacts?active=${active}`, { headers: user.headers });
    assert.equal(response.status, 400, active);
    assert.equal(((await response.json()) as { param: string }).param, "active");
  }
});

test("filters go together, and pages walk through what they leave", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  for (let i = 0; i < 7; i++)
    await add(server, user, { username: `x${i}`, phone_number: i % 2 ? "111" : "222" });
  const first = await names(server, user, { phone_number: "222", q: "x", active: "true", limit: "3" });
  assert.deepEqual(first, ["x6", "x4", "x2"]);
  const page = await fetch(`${server.url}/v1/contacts?phone_number=222&limit=3`, { headers: user.headers });
  const next = /<([^>]+)>; rel="next"/.exec(page.headers.get("link")!)![1]!;
  assert.match(next, /phone_number=222/);
  const rest = (await (await fetch(next, { headers: user.headers })).json()) as { data: Contact[] };
  assert.deepEqual(
    rest.data.map((contact) => contact.username),
    ["x0"],
  );
});

test("GET /v1/me tells the caller, with storage used exact through uploads and deletes", async (t) => {
  const server = await startApp(t, { maxFileBytes: 1000 });
  const [user, other] = [await server.user(), await server.user()];
  const me = async () =>
    (await fetch(`${server.url}/v1/me`, { headers: user.headers })).json() as Promise<
      Record<string, unknown>
    >;
  const before = await me();
  assert.equal(before.id, user.id);
  assert.match(String(before.conversation_id), /^cnv_/);
  assert.deepEqual(before.storage, { used: 0, quota: null });
  assert.deepEqual(before.limits, {
    max_file_size: 1000,
    max_files_per_day: null,
    allowed_file_types: null,
    refused_file_types: [],
    max_body_size: 65536,
    max_message_body_size: 262_144,
    rate_limit: null,
    message_limit: null,
  });
  const { upload } = await import("../../support/app.ts");
  const made = (await (await upload(server.url, user, new File(["12345"], "a"))).json()) as { id: string };
  await upload(server.url, other, new File(["123"], "a"));
  assert.deepEqual((await me()).storage, { used: 5, quota: null });
  const list = await fetch(`${server.url}/v1/attachments?conversation_id=${before.conversation_id}`, {
    headers: user.headers,
  });
  assert.equal(((await list.json()) as { data: unknown[] }).data.length, 1);
  await fetch(`${server.url}/v1/attachments/${made.id}`, { method: "DELETE", headers: user.headers });
  assert.deepEqual((await me()).storage, { used: 0, quota: null });
});
