import assert from "node:assert/strict";
import { test } from "node:test";
import { commandLine, tokenOf } from "../support/command.ts";
import { items, newcomer } from "./person.ts";

/** Keys of RFC 8291, section 5. */
const KEYS = {
  p256dh: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
  auth: "BTBZMqHH6r4Tts7J_aSIgg",
};
const ENDPOINT = "https://push.example.com/send/1";

test("push subscriptions are added, listed and removed", async (t) => {
  const operator = await commandLine(t);
  const server = { operator, token: tokenOf(await operator.serve()), url: operator.url };
  const ada = await newcomer(t, server, "ada");
  const list = async () => items(await ada.run("push", "list", "--json"));

  const add = (...keys: string[]) => ada.run("push", "add", ENDPOINT, ...keys);
  const added = await add("--p256dh", KEYS.p256dh, "--auth", KEYS.auth);
  const [, id] = /^(psh_\w{26})\n$/.exec(added.stdout) ?? [];
  assert.ok(id, added.stdout + added.stderr);
  assert.match(
    (await ada.run("push", "list")).stdout,
    new RegExp(`^ID +CREATED +EXPIRES +ENDPOINT\n${id} +\\S+Z +never +${ENDPOINT}\n$`),
  );
  assert.deepEqual(
    (await list()).map(({ id, endpoint }) => [id, endpoint]),
    [[id, ENDPOINT]],
  );
  const refused = await add("--p256dh", "x", "--auth", KEYS.auth);
  assert.deepEqual([refused.code, /^parley: p256dh must be/.test(refused.stderr)], [1, true]);
  assert.equal((await add("--p256dh", KEYS.p256dh)).code, 2);
  assert.equal((await ada.run("push", "remove", id)).stderr, `Removed ${id}.\n`);
  assert.deepEqual(await list(), []);
  assert.equal((await ada.run("push", "remove", id)).code, 1);
});
