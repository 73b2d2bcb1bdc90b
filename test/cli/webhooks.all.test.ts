import assert from "node:assert/strict";
import { test } from "node:test";
import { commandLine, tokenOf } from "../support/command.ts";
import { eventually } from "../support/files-on-disk.ts";
import { receiver } from "../support/receiver.ts";
import { items, newcomer } from "./person.ts";

test("webhooks are added, tested, changed and removed", async (t) => {
  const operator = await commandLine(t, { PARLEY_WEBHOOKS_ALLOW_PRIVATE: "true" });
  const server = { operator, token: tokenOf(await operator.serve()), url: operator.url };
  const ada = await newcomer(t, server, "ada");
  const to = await receiver(t, (response) => response.writeHead(500).end());
  const added = await ada.run("webhooks", "add", to.url, "--event", "message.created");
  const [, id] = /^(whk_\w{26}) {2}whsec_\S+\n$/.exec(added.stdout) ?? [];
  assert.ok(id, added.stdout + added.stderr);
  assert.match(
    (await ada.run("webhooks", "list")).stdout,
    new RegExp(`^ID +STATE +USERS +EVENTS +URL\n${id} +enabled +own +message.created +${to.url}\n$`),
  );
  const delivery = (await ada.run("webhooks", "test", id)).stdout.trim();
  await to.wait(1);
  const list = async () => (await ada.run("webhooks", "deliveries", id)).stdout;
  assert.ok(await eventually(async () => / 500\n$/.test(await list())));
  assert.match(
    await list(),
    new RegExp(`\n${delivery} +evt_\\w+ +webhook.test +\\S+Z +pending +\\d +500\n$`),
  );
  const changed = await ada.run("webhooks", "update", id, "--disable", "--event", "contact.created");
  assert.equal(changed.stderr, `Changed ${id}.\n`);
  const [webhook] = items(await ada.run("webhooks", "list", "--json"));
  assert.deepEqual([webhook.enabled, webhook.events, webhook.url], [false, ["contact.created"], to.url]);
  const nothing = await ada.run("webhooks", "update", id);
  assert.deepEqual([nothing.code, /nothing to change/.test(nothing.stderr)], [2, true]);
  const unknown = await ada.run("webhooks", "add", to.url, "--event", "message.sent");
  assert.equal(unknown.code, 1);
  assert.match(unknown.stderr, /^parley: events must be/);
  assert.equal((await ada.run("webhooks", "add", to.url, "--all-users")).code, 1);
  assert.equal((await ada.run("webhooks", "remove", id)).stderr, `Removed ${id}.\n`);
  assert.deepEqual(items(await ada.run("webhooks", "list", "--json")), []);
});
