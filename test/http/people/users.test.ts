import assert from "node:assert/strict";
import { test } from "node:test";
import { SCOPES } from "../../../src/core/people/tokens.ts";
import { startApp } from "../../support/app.ts";
import { asker, type Json } from "../../support/asker.ts";

const NOBODY = "usr_00000000000000000000000000";

test("a user is made with all that there is to know, found, shown to itself, and erased once", async (t) => {
  const server = await startApp(t);
  const ask = asker(server, await server.user({ scopes: SCOPES }));
  const fields = {
    username: "Zoë",
    phone_number: "+1 555-0100",
    display_name: "Z",
    avatar_url: "https://example.com/z.png",
  };
  const made = await ask("POST", "/v1/users", fields);
  assert.equal(made.status, 201);
  const { id, created_at } = made.body as { id: string; created_at: number };
  const unused = { storage: { used: 0, quota: null }, last_active_at: null };
  assert.deepEqual(Object.entries(made.body), Object.entries({ id, ...fields, created_at, ...unused }));
  assert.match(id, /^usr_/);
  assert.equal(made.headers.get("location"), `${server.url}/v1/users/${id}`);
  const shown = { ...made.body, unread_conversations: 0 };
  assert.deepEqual((await ask("GET", `/v1/users/${id}`)).body, shown);
  const token = (await ask("POST", "/v1/tokens", { user_id: id })).body.token as string;
  const theirs = asker(server, { id, token, headers: { authorization: `Bearer ${token}` } });
  const me = (await theirs("GET", "/v1/me")).body;
  const { last_active_at: _, ...account } = made.body;
  for (const [name, value] of Object.entries(account)) assert.deepEqual(me[name], value, name);
  assert.equal((await theirs("POST", "/v1/contacts", { username: "b", phone_number: "555" })).status, 201);
  assert.equal((await ask("DELETE", `/v1/users/${id}`)).status, 204);
  assert.equal((await theirs("GET", "/v1/me")).status, 401, "at once");
  const again = await ask("DELETE", `/v1/users/${id}`);
  assert.deepEqual([again.status, again.body.code], [404, "user_not_found"]);
  assert.equal((await ask("GET", `/v1/users/${id}`)).status, 404);
  assert.equal((await ask("POST", "/v1/users", fields)).status, 201, "the name is free again");
});

test("a form makes a user, too, and what is left out is null", async (t) => {
  const server = await startApp(t);
  const ask = asker(server, await server.user({ scopes: SCOPES }));
  const none = { username: "bob", phone_number: null, display_name: null, avatar_url: null };
  const made = await ask("POST", "/v1/users", "username=ada&display_name=");
  assert.equal(made.status, 201);
  const { username, phone_number, display_name, avatar_url } = made.body;
  assert.deepEqual({ username, phone_number, display_name, avatar_url }, { ...none, username: "ada" });
  assert.equal((await ask("POST", "/v1/users", none)).status, 201);
});

test("a name that is taken, in whatever spelling, is 409 with the id of who has it", async (t) => {
  const server = await startApp(t);
  const ask = asker(server, await server.user({ scopes: SCOPES }));
  const { id } = (await ask("POST", "/v1/users", { username: "Straße" })).body;
  const refused = await ask("POST", "/v1/users", { username: "STRAßE" });
  assert.equal(refused.status, 409);
  const { code, param, existing_id } = refused.body;
  assert.deepEqual(
    { code, param, existing_id },
    { code: "username_taken", param: "username", existing_id: id },
  );
});

test("what is no user is 400 and names the field", async (t) => {
  const server = await startApp(t);
  const ask = asker(server, await server.user({ scopes: SCOPES }));
  const cases: [Json, string][] = [
    [{}, "username"],
    [{ username: " x" }, "username"],
    [{ username: "x", phone_number: "1" }, "phone_number"],
    [{ username: "x", display_name: 1 }, "display_name"],
    [{ username: "x", avatar_url: "javascript:1" }, "avatar_url"],
    [{ username: "x", id: NOBODY }, "id"],
    [{ username: "x", conversation_id: "cnv_x" }, "conversation_id"],
  ];
  for (const [body, param] of cases) {
    const refused = await ask("POST", "/v1/users", body);
    assert.deepEqual([refused.status, refused.body.param], [400, param]);
  }
});

test("users are listed newest first in pages, and one is found by name", async (t) => {
  const server = await startApp(t);
  const ask = asker(server, await server.user({ scopes: SCOPES }));
  for (const username of ["a", "b", "c"]) await ask("POST", "/v1/users", { username });
  const list = async (query: string) =>
    (await ask("GET", `/v1/users?${query}`)).body as {
      has_more: boolean;
      data: { id: string; username: string }[];
    };
  const names = async (query: string) => (await list(query)).data.map(({ username }) => username);
  assert.deepEqual(await names(""), ["c", "b", "a", "user-1"]);
  const page = await list("limit=2");
  assert.equal(page.has_more, true);
  assert.deepEqual(await names(`limit=1&starting_after=${page.data[1]!.id}`), ["a"]);
  assert.deepEqual(await names(`ending_before=${page.data[1]!.id}`), ["c"]);
  assert.deepEqual(await names("username=B"), ["b"]);
  assert.deepEqual(await list("username=nobody"), { has_more: false, data: [] });
  assert.equal((await ask("GET", "/v1/users?starting_after=con_x")).status, 400);
  const link = (await ask("GET", "/v1/users?limit=1")).headers.get("link")!;
  assert.match(link, /\/v1\/users\?limit=1&starting_after=usr_\w+>; rel="next"$/);
});

test("an id that is unknown or malformed is 404 with the same body", async (t) => {
  const server = await startApp(t);
  const ask = asker(server, await server.user({ scopes: SCOPES }));
  for (const method of ["GET", "DELETE"]) {
    const [unknown, malformed] = [
      (await ask(method, `/v1/users/${NOBODY}`)).body,
      (await ask(method, "/v1/users/7")).body,
    ];
    assert.equal(unknown.code, "user_not_found");
    assert.deepEqual({ ...unknown, request_id: "" }, { ...malformed, request_id: "" });
  }
});

test("a user has an ETag, by which a read and an erasing can be made conditional", async (t) => {
  const server = await startApp(t);
  const ask = asker(server, await server.user({ scopes: SCOPES }));
  const path = `/v1/users/${(await ask("POST", "/v1/users", { username: "a" })).body.id}`;
  const etag = (await ask("GET", path)).headers.get("etag")!;
  assert.equal((await ask("GET", path, undefined, { "if-none-match": etag })).status, 304);
  assert.equal((await ask("DELETE", path, undefined, { "if-match": '"9"' })).status, 412);
  assert.equal((await ask("DELETE", `/v1/users/${NOBODY}`, undefined, { "if-match": '"9"' })).status, 404);
  assert.equal((await ask("DELETE", path, undefined, { "if-match": etag })).status, 204);
});
