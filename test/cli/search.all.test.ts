import assert from "node:assert/strict";
import { test } from "node:test";
import { commandLine, tokenOf } from "../support/command.ts";
import { proxy } from "../support/proxy.ts";
import { items, newcomer, onEachServer, person } from "./person.ts";

onEachServer("messages are found by their words, in all conversations or in one", async (t, server) => {
  const [ada, bob] = [await newcomer(t, server, "ada"), await newcomer(t, server, "bob")];
  await ada.run("contacts", "add", "bob", "+15550101", "--name", "Bobby");
  await bob.run("contacts", "add", "ada", "+15550100");
  await ada.run("groups", "create", "Climbing");
  await ada.run("send", "bob", "The old bridge");
  await bob.run("send", "ada", "a new\nbridge? \u2066évil");
  await ada.run("send", "Climbing", "Bridge at nine");
  const [{ user }] = items(await ada.run("whoami", "--json"));
  await ada.run("send", user.conversation_id, "call the bridge club");
  const row = (conversation: string, from: string, text: string) =>
    new RegExp(`^msg_\\w{26} +\\S+Z +${conversation} +${from} +${text}$`);
  const expected = [
    /^ID +SENT +CONVERSATION +FROM +MESSAGE$/,
    row("\\(notes to self\\)", "ada", "call the bridge club"),
    row("Climbing", "ada", "Bridge at nine"),
    row("Bobby", "bob", "a new bridge\\? \\\\u\\{2066\\}évil"),
    row("Bobby", "ada", "The old bridge"),
  ];
  const { code, stdout } = await ada.run("search", "bridg");
  assert.equal(code, 0);
  for (const [i, line] of stdout.trimEnd().split("\n").entries()) assert.match(line, expected[i]!);
  assert.equal(stdout.trimEnd().split("\n").length, expected.length);
  const texts = async (...args: string[]) =>
    items(await ada.run("search", ...args, "--json")).map(({ text }) => text);
  assert.deepEqual(await texts("bridge", "--in", "bob"), ["a new\nbridge? \u2066évil", "The old bridge"]);
  assert.deepEqual(await texts("bridge", "--in", "climbing"), ["Bridge at nine"]);
  assert.deepEqual(await texts("bridge", "--limit", "2"), ["call the bridge club", "Bridge at nine"]);
  assert.deepEqual(await texts("bridge", "old", "the"), ["The old bridge"]);
  assert.deepEqual(await texts("old bridge"), ["The old bridge"]);
  assert.deepEqual(
    items(await ada.run("search", "--json", "--", "-old")).map(({ text }) => text),
    ["The old bridge"],
  );
  assert.match((await ada.run("search", "nothing")).stdout, /^ID +SENT +CONVERSATION +FROM +MESSAGE\n$/);
  for (const [args, said] of [
    [["?!"], /^parley: q must have a letter/],
    [["bridge", "--in", "nobody"], /no contact or group called "nobody"/],
    [["bridge", "--in", `cnv_${"0".repeat(26)}`], /parley conversations/],
  ] as [string[], RegExp][]) {
    const refused = await ada.run("search", ...args);
    assert.deepEqual([refused.code, refused.stdout], [1, ""]);
    assert.match(refused.stderr, said);
  }
});

test("a search ends when the reader stops, and reports a missing index", async (t) => {
  const operator = await commandLine(t);
  const token = tokenOf(await operator.serve());
  const detail = "The search index is being built. Try again later.";
  const body = JSON.stringify({ type: "x", title: "x", status: 503, detail, code: "unavailable" });
  const headers = { "content-type": "application/problem+json", "retry-after": "0" };
  const { url } = await proxy(t, operator.url, (path) =>
    path.includes("q=") ? { status: 503, headers, body } : "pass",
  );
  const settings = { PARLEY_TOKEN: token };
  const [away, here] = [
    await person(t, { ...settings, PARLEY_URL: url }),
    await person(t, { ...settings, PARLEY_URL: operator.url }),
  ];
  const { code, stdout, stderr } = await away.run("search", "anything");
  assert.deepEqual([code, stdout, stderr], [2, "", `parley: ${detail}\n`]);
  const [{ user }] = items(await here.run("whoami", "--json"));
  await here.run("send", user.conversation_id, "anything");
  const unread = here.start("search", "anything");
  unread.stdout!.destroy();
  assert.equal(await new Promise((end) => unread.on("close", end)), 0);
});
