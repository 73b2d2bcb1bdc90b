// Webhooks of other users, which administrators can list and disable.
import assert from "node:assert/strict";
import { createToken, SCOPES } from "../../../src/core/people/tokens.ts";
import { asker, type Json } from "../../support/asker.ts";
import { listen } from "../../support/event-stream.ts";
import { hook, LIMITS, newest } from "../../support/hooks.ts";
import { onEachEngineWith } from "../../support/on-engines.ts";
import { add, person } from "../../support/people.ts";
import { receiver } from "../../support/receiver.ts";
import { DEVICE } from "../visibility/matrix-rows.ts";

onEachEngineWith(LIMITS, "only admins list the webhooks of all users, in pages", async (server, t) => {
  const [ann, bob] = [await person(server, "ann"), await person(server, "bob")];
  const admin = await server.user({ scopes: SCOPES });
  const to = await receiver(t);
  const made: Json[] = [];
  for (const user of [ann, bob, ann, admin]) {
    const { secret: _, ...webhook } = await hook(server, user, to);
    assert.equal(webhook.user_id, user.id);
    made.unshift(webhook);
    const device = { ...DEVICE, endpoint: `https://push.invalid/${made.length}` };
    assert.equal((await asker(server, user)("POST", "/v1/push_subscriptions", device)).status, 201);
  }
  const ask = asker(server, admin);
  const list = async (query: string) => (await ask("GET", `/v1/webhooks?${query}`)).body;
  assert.deepEqual(await list("all=true"), { has_more: false, data: made });
  assert.deepEqual(await list("all=false"), { has_more: false, data: made.slice(0, 1) });
  for (const more of ["", "&all=true"])
    assert.deepEqual((await list(`user_id=${ann.id}${more}`)).data, [made[1], made[3]]);
  const older = `all=true&limit=2&starting_after=${made[0]!.id}`;
  assert.deepEqual(await list(older), { has_more: true, data: made.slice(1, 3) });
  const newer = `all=true&limit=2&ending_before=${made[3]!.id}`;
  assert.deepEqual(await list(newer), { has_more: true, data: made.slice(1, 3) });
  const { token } = await createToken(server.app.core, null, admin.id, { scopes: ["admin"] });
  for (const headers of [ann.headers, { authorization: `Bearer ${token}` }]) {
    const refused = await asker(server, { ...admin, headers })("GET", "/v1/webhooks?all=true");
    assert.deepEqual([refused.status, refused.body.code], [403, "insufficient_scope"]);
  }
  assert.equal((await ask("GET", "/v1/webhooks?all=yes")).body.param, "all");
});

onEachEngineWith(
  LIMITS,
  "admins disable another user's webhook, but cannot redirect it",
  async (server, t) => {
    const ann = await person(server, "ann");
    const admin = await server.user({ scopes: SCOPES });
    const [to, elsewhere] = [await receiver(t), await receiver(t)];
    const { secret: _, ...made } = await hook(server, ann, to, { events: "contact.created" });
    const path = `/v1/webhooks/${made.id}`;
    const ask = asker(server, admin);
    assert.deepEqual((await ask("GET", path)).body, made);
    await add(server, ann, "x");
    const delivered = await newest(server, admin, made, { state: "delivered" });
    for (const [method, more, body] of [
      ["PUT", "", { url: elsewhere.url }],
      ["PUT", "", { events: null, enabled: true }],
      ["POST", "/secret"],
      ["POST", "/test"],
    ] as const) {
      const refused = await ask(method, path + more, body);
      assert.deepEqual([refused.status, refused.body.code], [403, "not_owner"], method + more);
    }
    assert.deepEqual((await ask("GET", path)).body, made);
    const stream = await listen(t, server, ann);
    const disabled = await ask("PUT", path, { enabled: false });
    assert.deepEqual(disabled.body, { ...made, enabled: false });
    const [event] = await stream.wait(1);
    assert.deepEqual([event!.type, event!.payload], ["webhook.disabled", disabled.body]);
    const redeliver = `${path}/deliveries/${delivered.id}/redeliver`;
    assert.equal((await ask("POST", redeliver)).body.code, "webhook_disabled");
    assert.equal((await ask("PUT", path, { enabled: true })).status, 200);
    assert.equal((await ask("POST", redeliver)).status, 200);
    await to.wait(2);
    // Ann's own change has no event.
    assert.equal((await asker(server, ann)("PUT", path, { enabled: false })).status, 200);
    assert.equal((await ask("DELETE", path, undefined, { "if-match": '"1"' })).status, 412);
    assert.equal((await ask("DELETE", path)).status, 204);
    assert.equal((await ask("GET", path)).body.code, "webhook_not_found");
    await add(server, ann, "y");
    assert.deepEqual(
      (await stream.wait(2)).map(({ type }) => type),
      ["webhook.disabled", "contact.created"],
    );
    const entries = (await ask("GET", "/v1/audit?limit=100")).body.data as Json[];
    const about = entries.filter(({ object_id }) => object_id === made.id);
    assert.deepEqual(
      about.map(({ action, actor_id }) => [action, actor_id]),
      [
        ["webhook.deleted", admin.id],
        ["webhook.updated", ann.id],
        ["webhook.updated", admin.id],
        ["webhook.updated", admin.id],
        ["webhook.created", ann.id],
      ],
    );
    assert.equal(elsewhere.received.length, 0);
  },
);
