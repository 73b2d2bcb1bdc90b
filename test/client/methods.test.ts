// Every method of the client, on a real server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { etagOf, type List, Parley } from "../../client/src/index.ts";
import { SCOPES } from "../../src/core/access/tokens.ts";
import { startApp, startOn } from "../support/app.ts";
import { receiver } from "../support/receiver.ts";
import { clientOf, onEachEngine } from "./engines.ts";
import { failure } from "./failure.ts";

onEachEngine("contacts", async (t, config) => {
  const { contacts } = await clientOf(await startOn(t, config));
  const ada = await contacts.create({ username: "ada", phone_number: "555-0100", display_name: "Ada" });
  assert.deepEqual([ada.username, ada.phone_number, ada.display_name], ["ada", "555-0100", "Ada"]);
  assert.deepEqual(await contacts.retrieve(ada.id), ada);
  const renamed = await contacts.update(ada.id, { display_name: null });
  assert.deepEqual(renamed, { ...ada, display_name: null });
  await contacts.create({ username: "grace", phone_number: "555-0101" });
  assert.deepEqual(await contacts.list({ username: "ADA" }), { has_more: false, data: [renamed] });
  assert.equal(await contacts.block(ada.id), undefined);
  assert.deepEqual((await contacts.list({ active: false })).data, [renamed]);
  assert.equal(await contacts.unblock(ada.id), undefined);
  assert.deepEqual((await contacts.list({ active: false })).data, []);
  assert.equal((await contacts.list({ q: "gr", phone_number: "5550101", active: true })).data.length, 1);
  assert.equal(await contacts.delete(ada.id), undefined);
  assert.equal((await failure(contacts.retrieve(ada.id))).code, "contact_not_found");
});

onEachEngine("attachments", async (t, config) => {
  const { attachments, contacts } = await clientOf(await startOn(t, config));
  const { conversation_id } = await contacts.create({ username: "ada", phone_number: "555-0100" });
  const first = await attachments.upload(new File(["first"], "first.txt"), { conversation_id });
  const second = await attachments.upload(new File(["second"], "second.txt"), {
    message_id: first.message_id,
  });
  assert.equal(second.message_id, first.message_id);
  const note = await attachments.upload(new File(["note"], "note.txt"));
  assert.deepEqual(await attachments.retrieve(first.id), first);
  assert.deepEqual(await attachments.list({ conversation_id }), { has_more: false, data: [second, first] });
  assert.deepEqual((await attachments.list({ limit: 1 })).data, [note]);
  const renamed = await attachments.update(first.id, { filename: "renamed.txt" });
  assert.equal(renamed.filename, "renamed.txt");
  assert.equal(await (await (await attachments.download(renamed)).blob()).text(), "first");
  assert.equal(await attachments.delete(first.id), undefined);
  assert.equal((await failure(attachments.retrieve(first.id))).code, "attachment_not_found");
});

onEachEngine("webhooks", async (t, config) => {
  const to = await receiver(t);
  const server = await startOn(t, { ...config, limits: { ...config.limits, webhooksAllowPrivate: true } });
  const { webhooks } = await clientOf(server);
  const { secret, ...made } = await webhooks.create({ url: to.url, events: ["contact.created"] });
  assert.match(secret, /^whsec_/);
  assert.deepEqual(await webhooks.retrieve(made.id), made);
  assert.deepEqual(await webhooks.list(), { has_more: false, data: [made] });
  const { secret: second } = await webhooks.rotateSecret(made.id);
  assert.notEqual(second, secret);
  const tested = await webhooks.test(made.id);
  await to.wait(1);
  assert.equal(tested.type, "webhook.test");
  const { data } = await webhooks.listDeliveries(made.id, { limit: 5 });
  assert.deepEqual(
    data.map(({ id }) => id),
    [tested.id],
  );
  assert.equal((await webhooks.redeliver(made.id, tested.id)).id, tested.id);
  await to.wait(2);
  assert.equal((await webhooks.update(made.id, { enabled: false })).enabled, false);
  assert.equal(await webhooks.delete(made.id), undefined);
  assert.equal((await failure(webhooks.retrieve(made.id))).code, "webhook_not_found");
});

onEachEngine("users, tokens, the audit trail and the caller", async (t, config) => {
  const server = await startOn(t, config);
  const parley = await clientOf(server, {}, { scopes: SCOPES });
  const { users, tokens, audit } = parley;
  const alan = await users.create({ username: "alan", display_name: "Alan" });
  assert.deepEqual(await users.retrieve(alan.id), alan);
  assert.deepEqual(await users.list({ username: "alan" }), { has_more: false, data: [alan] });
  const { token, ...shown } = await tokens.create({
    user_id: alan.id,
    scopes: ["contacts:read"],
    name: "phone",
  });
  assert.deepEqual(await tokens.retrieve(shown.id), shown);
  assert.deepEqual((await tokens.list({ user_id: alan.id })).data, [shown]);
  const his = new Parley({ url: `${server.url}/`, token: async () => token });
  assert.equal((await his.me()).id, alan.id);
  assert.equal((await failure(his.users.list())).code, "insufficient_scope");
  assert.equal(await tokens.delete(shown.id), undefined);
  assert.equal((await failure(tokens.retrieve(shown.id))).code, "token_not_found");
  assert.equal(await users.delete(alan.id), undefined);
  const { data } = await audit.list({ limit: 2 });
  assert.deepEqual(
    data.map(({ action, object_id }) => [action, object_id]),
    [
      ["user.deleted", alan.id],
      ["token.revoked", shown.id],
    ],
  );
});

test("a change of a version that is not the current one is refused", async (t) => {
  const { contacts } = await clientOf(await startApp(t));
  const ada = await contacts.create({ username: "ada", phone_number: "555-0100" });
  const known = await contacts.retrieve(ada.id);
  const ifMatch = etagOf(known);
  assert.ok(ifMatch);
  const changed = await contacts.update(ada.id, { display_name: "Ada" }, { ifMatch });
  assert.equal((await failure(contacts.update(ada.id, { display_name: "A" }, { ifMatch }))).status, 412);
  assert.equal((await failure(contacts.delete(ada.id, { ifMatch }))).code, "precondition_failed");
  await contacts.delete(ada.id, { ifMatch: etagOf(changed) });
  assert.equal(etagOf({}), undefined);
});

onEachEngine("lists go on over their pages, in both directions", async (t, config) => {
  const { contacts } = await clientOf(await startOn(t, config));
  const made: string[] = [];
  for (let i = 0; i < 23; i++) {
    made.push((await contacts.create({ username: `friend ${i}`, phone_number: "555-0100" })).id);
  }
  const idsOf = async (list: List<{ id: string }>) => {
    const ids: string[] = [];
    for await (const { id } of list) ids.push(id);
    return ids;
  };
  const newestFirst = made.toReversed();
  assert.deepEqual(await idsOf(contacts.list()), newestFirst);
  assert.deepEqual(await idsOf(contacts.list({ limit: 10 })), newestFirst);
  assert.deepEqual(await idsOf(contacts.list({ limit: 23 })), newestFirst);
  assert.deepEqual(await idsOf(contacts.list({ limit: 3, starting_after: made[20]! })), newestFirst.slice(3));
  assert.deepEqual(await idsOf(contacts.list({ limit: 3, ending_before: made[3]! })), made.slice(4));
  assert.deepEqual(await idsOf(contacts.list({ username: "nobody" })), []);
  const page = await contacts.list({ limit: 10 });
  assert.deepEqual([page.has_more, page.data.map(({ id }) => id)], [true, newestFirst.slice(0, 10)]);
  const both = await Promise.all([contacts.list({ limit: 1 }), contacts.list({ q: "nobody" })]);
  assert.deepEqual(
    both.map(({ data }) => data.length),
    [1, 0],
  );
});
