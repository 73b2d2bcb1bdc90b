// What only admins see of users and tokens: their use, files and groups, and the token of a secret.
import assert from "node:assert/strict";
import { DEFAULT_SCOPES, SCOPES } from "../../../src/core/people/tokens.ts";
import { type TestApp, type TestUser, upload } from "../../support/app.ts";
import { asker, type Json } from "../../support/asker.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { hook, LIMITS, newest } from "../../support/hooks.ts";
import { onEachEngineWith } from "../../support/on-engines.ts";
import { add, person } from "../../support/people.ts";
import { receiver } from "../../support/receiver.ts";

const admin = (server: TestApp) => server.user({ scopes: SCOPES });

/** Returns the only token of a user, as admins see it. */
async function tokenOf(server: TestApp, admin: TestUser, { id }: TestUser): Promise<Json> {
  const { body } = await asker(server, admin)("GET", `/v1/tokens?user_id=${id}`);
  const [token, ...others] = body.data as Json[];
  assert.deepEqual(others, []);
  return token!;
}

onEachEngineWith({}, "a token shows when it was last used", async (server) => {
  const [ann, boss] = [await person(server, "ann"), await admin(server)];
  assert.equal((await tokenOf(server, boss, ann)).last_used_at, null);
  const before = Math.floor(Date.now() / 1000);
  assert.equal((await asker(server, ann)("GET", "/v1/contacts")).status, 200);
  assert.ok(await eventually(async () => (await tokenOf(server, boss, ann)).last_used_at !== null));
  const { last_used_at } = await tokenOf(server, boss, ann);
  assert.ok(Number(last_used_at) >= before && Number(last_used_at) <= Date.now() / 1000, `${last_used_at}`);
});

onEachEngineWith({}, "acting as a user counts as a use of the holder's token only", async (server) => {
  const [ann, boss] = [await person(server, "ann"), await admin(server)];
  const shop = await server.user({ scopes: [...DEFAULT_SCOPES, "act_as"] });
  const acting = { ...shop, headers: { ...shop.headers, "parley-act-as": ann.id } };
  assert.equal((await asker(server, acting)("GET", "/v1/contacts")).status, 200);
  assert.ok(await eventually(async () => (await tokenOf(server, boss, shop)).last_used_at !== null));
  assert.equal((await tokenOf(server, boss, ann)).last_used_at, null);
});

onEachEngineWith({}, "a token is found by its secret, which is no use of it", async (server) => {
  const [ann, boss] = [await person(server, "ann"), await admin(server)];
  const find = (token: unknown, user = boss) => asker(server, user)("POST", "/v1/token_search", { token });
  const found = await find(ann.token);
  assert.deepEqual([found.status, found.body], [200, await tokenOf(server, boss, ann)]);
  assert.ok(!JSON.stringify(found.body).includes(ann.token));
  assert.ok(await eventually(async () => (await tokenOf(server, boss, boss)).last_used_at !== null));
  assert.equal((await tokenOf(server, boss, ann)).last_used_at, null);
  const unknown = await find(`parley_${"A".repeat(43)}`);
  assert.deepEqual([unknown.status, unknown.body.code], [404, "token_not_found"]);
  for (const wrong of ["", "x", `${ann.token}A`, ` ${ann.token}`, 5, null, [ann.token]]) {
    const refused = await find(wrong);
    assert.deepEqual([refused.status, refused.body.param], [400, "token"], JSON.stringify(wrong));
    assert.ok(!JSON.stringify(refused.body).includes(ann.token));
  }
  const { status, body } = await find(ann.token, ann);
  assert.deepEqual([status, body.code], [403, "insufficient_scope"]);
  await asker(server, boss)("DELETE", `/v1/tokens/${found.body.id}`);
  assert.equal((await find(ann.token)).status, 404);
});

onEachEngineWith({}, "admins list a user's files without links, and groups", async (server) => {
  const [ann, bob, boss] = [await person(server, "ann"), await person(server, "bob"), await admin(server)];
  const { conversation_id } = await add(server, ann, "bob");
  await add(server, bob, "ann");
  await upload(server.url, ann, new File(["12345"], "report.pdf", { type: "application/pdf" }));
  const shared = await upload(server.url, bob, new File(["1"], "hills.png"), { conversation_id });
  assert.equal(shared.status, 201);
  const ask = asker(server, boss);
  const files = async ({ id }: TestUser) =>
    (await ask("GET", `/v1/users/${id}/attachments`)).body.data as Json[];
  const mine = await files(ann);
  assert.deepEqual(
    mine.map(({ filename, file_size, uploader_id }) => [filename, file_size, uploader_id]),
    [
      ["hills.png", 1, bob.id],
      ["report.pdf", 5, ann.id],
    ],
  );
  for (const file of mine)
    assert.deepEqual(Object.keys(file).sort(), [
      ...["created_at", "file_size", "file_type", "filename", "id", "uploader_id"],
    ]);
  assert.deepEqual(
    (await files(bob)).map(({ filename }) => filename),
    ["hills.png"],
  );
  const group = (await asker(server, ann)("POST", "/v1/groups", { name: "Book club", members: ["bob"] }))
    .body;
  const groups = async ({ id }: TestUser) => (await ask("GET", `/v1/users/${id}/groups`)).body.data as Json[];
  const { id, name, created_at } = group;
  assert.deepEqual(await groups(ann), [{ id, name, role: "admin", member_count: 1, created_at }]);
  // Only invited.
  assert.deepEqual(await groups(bob), []);
  for (const path of ["attachments", "groups"]) {
    const missing = await ask("GET", `/v1/users/usr_${"0".repeat(26)}/${path}`);
    assert.deepEqual([missing.status, missing.body.code], [404, "user_not_found"]);
    assert.equal((await asker(server, ann)("GET", `/v1/users/${ann.id}/${path}`)).status, 403);
  }
});

onEachEngineWith(
  {},
  "audit entries have the names of files and groups, until these are deleted",
  async (server) => {
    const [ann, boss] = [await person(server, "ann"), await admin(server)];
    const ask = asker(server, ann);
    const sent = await upload(server.url, ann, new File(["x"], "draft.txt"));
    const { id } = (await sent.json()) as { id: string };
    const group = (await ask("POST", "/v1/groups", { name: "Book club", members: [] })).body;
    await ask("PUT", `/v1/attachments/${id}`, { filename: "report.pdf" });
    const names = async (objectId: unknown, accept = "application/json") => {
      const headers = { accept };
      const { body } = await asker(server, boss)(
        "GET",
        `/v1/audit?object_id=${objectId}`,
        undefined,
        headers,
      );
      return (body.data as Json[]).map(({ action, object_name }) => [action, object_name]);
    };
    assert.deepEqual(await names(id), [
      ["attachment.renamed", "report.pdf"],
      ["attachment.created", "report.pdf"],
    ]);
    assert.deepEqual(await names(group.id), [["group.created", "Book club"]]);
    const lines = await fetch(`${server.url}/v1/audit?object_id=${id}`, {
      headers: { ...boss.headers, accept: "application/jsonl" },
    });
    assert.equal((await lines.text()).match(/"object_name":"report.pdf"/g)?.length, 2);
    await ask("DELETE", `/v1/attachments/${id}`);
    assert.deepEqual(
      (await names(id)).map(([, name]) => name),
      [null, null, null],
    );
  },
);

onEachEngineWith(LIMITS, "webhooks are filtered by whether their last attempt failed", async (server, t) => {
  const [ann, boss] = [await person(server, "ann"), await admin(server)];
  const to = await receiver(t, (response) => response.writeHead(500).end());
  const failing = await hook(server, ann, to, { events: "contact.created" });
  const fine = await hook(server, ann, await receiver(t), { events: "contact.created" });
  await hook(server, boss, to);
  await add(server, ann, "x");
  await newest(server, ann, failing, { last_status: 500 });
  await newest(server, ann, fine, { state: "delivered" });
  const list = async (query: string, user: TestUser) =>
    ((await asker(server, user)("GET", `/v1/webhooks?${query}`)).body.data as Json[]).map(({ id }) => id);
  assert.deepEqual(await list("failing=true&all=true", boss), [failing.id]);
  assert.deepEqual(await list("failing=true", ann), [failing.id]);
  assert.deepEqual(await list("failing=true", boss), []);
  assert.deepEqual(await list("failing=false", ann), [fine.id, failing.id]);
  await asker(server, boss)("PUT", `/v1/webhooks/${failing.id}`, { enabled: false });
  assert.deepEqual(await list("failing=true&all=true", boss), [failing.id]);
});
