// The filters of the audit trail, on both engines.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { SCOPES } from "../../../src/core/people/tokens.ts";
import { exportAudit } from "../../../src/core/record/audit-trail.ts";
import type { TestApp, TestUser } from "../../support/app.ts";
import { asker, type Json } from "../../support/asker.ts";
import { ENGINES, startOnEngine } from "../../support/on-engines.ts";

interface Office {
  server: TestApp;
  admin: TestUser;
  time: { now: number };
}

/** Runs a test on SQLite and on PostgreSQL, with a clock that stands still until the test sets it. */
function onEachOffice(name: string, run: (t: TestContext, office: Office) => Promise<void>): void {
  for (const engine of ENGINES)
    test(`${name} (${engine})`, async (t) => {
      const time = { now: Date.UTC(2026, 0, 1) };
      const server = await startOnEngine(t, engine, {}, { clock: () => time.now });
      await run(t, { server, admin: await server.user({ scopes: SCOPES }), time });
    });
}

interface Entry {
  id: string;
  action: string;
  created_at: number;
}

async function read({ server, admin }: Office, query: Record<string, string>) {
  const { status, body, headers } = await asker(server, admin)(
    "GET",
    `/v1/audit?${new URLSearchParams({ limit: "100", ...query })}`,
  );
  assert.equal(status, 200, JSON.stringify(body));
  return { entries: body.data as Entry[], hasMore: body.has_more as boolean, link: headers.get("link") };
}

async function actions(office: Office, query: Record<string, string>): Promise<string[]> {
  return (await read(office, query)).entries.map(({ action }) => action);
}

/** Adds entries without an actor, like background work. */
async function fill({ server }: Office, count: number): Promise<void> {
  const { db, newId, clock } = server.app.core;
  for (let left = count; left > 0; left -= 5000) {
    const downloads = Array.from({ length: Math.min(left, 5000) }, () => ({
      entry: { id: newId("aud"), at: clock(), actorId: null, tokenId: null, actedById: null },
      attachmentId: newId("att"),
      details: { address: "192.0.2.1", count: 1 },
    }));
    await db.write("recordDownloads", { downloads });
  }
}

onEachOffice("the audit trail is filtered by actor, object, action, time and words", async (_t, office) => {
  const { server, admin, time } = office;
  const ask = asker(server, admin);
  const ann = (await ask("POST", "/v1/users", { username: "ann" })).body.id as string;
  time.now += 1000;
  const token = (await ask("POST", "/v1/tokens", { user_id: ann, name: "Blue phone" })).body as Json;
  const hers = asker(server, {
    id: ann,
    token: token.token as string,
    headers: { authorization: `Bearer ${token.token}` },
  });
  time.now += 1000;
  const { id } = (await hers("POST", "/v1/contacts", { username: "bob", phone_number: "555" })).body as Json;
  time.now += 1000;
  assert.equal((await hers("PUT", `/v1/contacts/${id}`, { display_name: "Bob Kahn" })).status, 200);
  assert.equal((await hers("DELETE", `/v1/contacts/${id}`)).status, 204);
  const start = Date.UTC(2026, 0, 1) / 1000;
  const [created, renamed, deleted] = ["contact.created", "contact.renamed", "contact.deleted"] as const;
  for (const [query, expected] of [
    [{ actor_id: ann }, [deleted, renamed, created]],
    [{ actor_id: admin.id }, ["token.created", "user.created"]],
    [{ object_id: String(id), actions: `${created},${renamed}` }, [renamed, created]],
    [{ object_id: ann }, ["user.created"]],
    [{ object_id: token.id as string, actor_id: ann }, []],
    [{ actor_id: ann, created_from: `${start + 3}` }, [deleted, renamed]],
    [{ actor_id: ann, created_before: `${start + 3}` }, [created]],
    [{ created_from: `${start + 1}`, created_before: `${start + 2}` }, ["token.created"]],
    [{ created_from: `${start + 3}`, created_before: `${start + 3}` }, []],
    [{ q: "phone bl" }, ["token.created"]],
    [{ q: "KAHN" }, [renamed]],
    // The search also finds the token that was used and the token's user.
    [{ q: token.id as string }, [deleted, renamed, created, "token.created"]],
    [{ q: ann }, ["token.created", "user.created"]],
    [{ q: "hone" }, []],
    [{ q: "username", actor_id: admin.id }, []],
  ] as [Record<string, string>, string[]][])
    assert.deepEqual(await actions(office, query), expected, JSON.stringify(query));
});

onEachOffice("pages of the filtered audit trail neither skip nor repeat an entry", async (_t, office) => {
  const { server, admin } = office;
  const ask = asker(server, admin);
  for (let at = 0; at < 25; at++) {
    await ask("POST", "/v1/contacts", { username: `c ${at}`, phone_number: "555" });
    await fill(office, 30);
  }
  const query = { actor_id: admin.id, actions: "contact.created" };
  const { entries: all, hasMore } = await read(office, query);
  assert.deepEqual([all.length, hasMore], [25, false]);
  const walk = async (rel: string, first: string) => {
    const pages: Entry[][] = [];
    for (let path: string | undefined = first; path; ) {
      const { body, headers } = await ask("GET", path);
      const { data, has_more } = body as { data: Entry[]; has_more: boolean };
      pages.push(data);
      const link = new RegExp(`<[^>]*(/v1/audit[^>]*)>; rel="${rel}"`).exec(headers.get("link") ?? "");
      path = has_more ? link![1] : undefined;
      assert.ok(pages.length < 9);
    }
    return pages;
  };
  const text = new URLSearchParams({ limit: "4", ...query });
  const down = await walk("next", `/v1/audit?${text}`);
  assert.deepEqual(down.flat(), all);
  const up = await walk("prev", `/v1/audit?${text}&ending_before=${all.at(-1)!.id}`);
  assert.deepEqual(up.toReversed().flat(), all.slice(0, -1));
});

onEachOffice("one request scans 20,000 audit entries, and its link continues", async (_t, office) => {
  const { server, admin } = office;
  await fill(office, 20_100);
  const rare = { actions: "user.created" };
  const { entries, hasMore, link } = await read(office, rare);
  assert.deepEqual([entries, hasMore], [[], true]);
  const [, next] = /<[^>]*(\/v1\/audit[^>]*)>; rel="next"/.exec(link!)!;
  const { body } = await asker(server, admin)("GET", next!);
  assert.deepEqual(
    [(body.data as Entry[]).map(({ action }) => action), body.has_more],
    [["user.created"], false],
  );
});

onEachOffice("a filtered export of the audit trail is oldest first", async (_t, office) => {
  const { server, admin, time } = office;
  const ask = asker(server, admin);
  time.now += 1000;
  await ask("POST", "/v1/users", { username: "ann" });
  await fill(office, 1200);
  time.now += 1000;
  await ask("POST", "/v1/users", { username: "bob" });
  const read = async (query: string) => {
    const headers = { ...admin.headers, accept: "application/jsonl" };
    const response = await fetch(`${server.url}/v1/audit?${query}`, { headers });
    assert.equal(response.status, 200);
    const lines = (await response.text()).trim().split("\n");
    return lines.map((line) => (JSON.parse(line) as { details: Json }).details.username);
  };
  const start = Date.UTC(2026, 0, 1) / 1000;
  assert.deepEqual((await read("actions=user.created")).slice(1), ["ann", "bob"]);
  assert.deepEqual(await read(`actions=user.created&created_from=${start + 2}`), ["bob"]);
  assert.deepEqual(await read(`created_from=${start + 1}&created_before=${start + 2}&q=ann`), ["ann"]);
});

onEachOffice("an export without matches ends if its client disconnects", async (_t, office) => {
  await fill(office, 1200);
  const { core } = office.server.app;
  let asked = 0;
  for await (const lines of exportAudit(core, { q: "nothing" }, "", () => ++asked > 1)) assert.fail(lines);
  assert.equal(asked, 2);
});

onEachOffice("a malformed filter of the audit trail is 400", async (_t, { server, admin }) => {
  const ask = asker(server, admin);
  for (const [name, value] of [
    ["actor_id", "usr_x"],
    ["actor_id", "tok_00000000000000000000000000"],
    ["actor_id", ""],
    ["object_id", "aud_00000000000000000000000000"],
    ["object_id", "bob"],
    ["actions", ""],
    ["actions", "user.created,user.eaten"],
    ["actions", "user."],
    ["created_from", "2026-01-01"],
    ["created_from", "-1"],
    ["created_from", ""],
    ["created_before", "1.5"],
    ["created_before", "null"],
    ["q", "x".repeat(256)],
  ] as const) {
    const { status, body } = await ask("GET", `/v1/audit?${new URLSearchParams({ [name]: value })}`);
    assert.deepEqual([status, body.code, body.param], [400, "invalid_parameter", name], `${name}=${value}`);
  }
});
