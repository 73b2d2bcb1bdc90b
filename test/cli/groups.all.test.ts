import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { follow } from "./follow.ts";
import { items, onEachServer, type Person, pair, servePair } from "./person.ts";

/** Runs a command that succeeds, and returns what it reports. */
async function says(who: Person, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await who.run(...args);
  assert.equal(code, 0, stderr);
  return (stdout + stderr).trim();
}

/** Returns the rows of a list without ids and times, oldest first. */
async function rows(who: Person, ...args: string[]): Promise<string[]> {
  const lines = (await says(who, ...args)).split("\n").slice(1).reverse();
  return lines.map((line) =>
    line
      .replaceAll(/\b\w{3}_\w{26}|\S+Z/g, "")
      .replaceAll(/ +/g, " ")
      .trim(),
  );
}

onEachServer("a group is created, joined, used and left", async (t, server) => {
  const { ada, bob } = await pair(t, server);
  assert.match(
    await says(ada, "groups", "create", "Climbing", "--invite", "bob", "--invite", "eve"),
    /^grp_\w{26} {2}Climbing$/,
  );
  assert.deepEqual(await rows(bob, "groups", "list"), ["Climbing 1 invited ada"]);
  const refused = await bob.run("send", "climbing", "hello");
  assert.equal(refused.code, 2);
  assert.match(refused.stderr, /invited to Climbing.*parley groups join grp_\w{26}\n$/);
  assert.equal(await says(bob, "groups", "join", "CLIMBING"), "You are now a member of Climbing.");
  assert.deepEqual(await rows(bob, "groups", "list"), ["Climbing 2 member ada"]);
  assert.deepEqual(await rows(ada, "groups", "members", "Climbing"), [
    "ada admin",
    "bob member",
    "eve invited",
  ]);
  await says(bob, "send", "climbing", "hello");
  await writeFile(join(bob.folder, "map.txt"), "x");
  await says(bob, "upload", "map.txt", "--to", "Climbing");
  assert.deepEqual(await rows(ada, "attachments", "list", "--with", "Climbing"), [
    "map.txt 1 B text/plain bob",
  ]);
  assert.equal(await says(ada, "groups", "role", "Climbing", "bob", "admin"), "bob is an admin of Climbing.");
  assert.equal(await says(bob, "groups", "rename", "Climbing", "Hills"), "Climbing is now called Hills.");
  await says(ada, "groups", "role", "hills", "ada", "member");
  const [described] = items(
    await bob.run("groups", "update", "Hills", "--description", "Up\nhigh", "--json"),
  );
  assert.equal(described.description, "Up\nhigh");
  assert.match(
    await says(ada, "groups", "show", described.id),
    /^Name +Hills\nDescription +Up high\nMembers +2\nHistory +joined\nRole +member\nId +grp_\w+\nConversation +cnv_\w+\nSince +\S+Z$/,
  );
  assert.equal(await says(bob, "groups", "invite", "Hills", "ada"), "ada is already a member of Hills.");
  assert.equal(await says(bob, "groups", "remove", "Hills", "EVE"), "eve is no longer invited to Hills.");
  assert.equal(await says(bob, "groups", "invite", "Hills", "eve"), "eve is invited to Hills.");
  assert.equal(await says(bob, "groups", "role", "Hills", "ada", "admin"), "ada is an admin of Hills.");
  await says(bob, "groups", "role", "Hills", "ada", "member");
  assert.equal(await says(bob, "groups", "remove", "Hills", "ada"), "ada is no longer a member of Hills.");
  assert.deepEqual(await rows(bob, "messages", "Hills"), [
    "bob joined",
    "bob hello",
    "bob [map.txt]",
    "ada made bob an admin",
    'bob renamed the group to "Hills"',
    "ada is no longer an admin",
    "bob made ada an admin",
    "bob made ada an ordinary member",
    "bob removed ada",
  ]);
  assert.equal(await says(bob, "groups", "leave", "Hills"), "You left Hills.");
  assert.deepEqual(items(await bob.run("groups", "list", "--json")), []);
});

test("a chat in a group shows senders and system messages", async (t) => {
  const { ada, bob } = await servePair(t);
  await ada.run("groups", "create", "Climbing", "--invite", "bob");
  const chat = follow(ada, "Climbing");
  await chat.until("* ada joined");
  await bob.run("groups", "join", "Climbing");
  await bob.run("send", "Climbing", "hello");
  await chat.until("bob: hello");
  chat.child.stdin!.write("welcome\n");
  await chat.until("ada: welcome");
  await bob.run("groups", "leave", "Climbing");
  await chat.until("bob left");
  chat.child.stdin!.end();
  const { code, stdout, stderr } = await chat.end;
  assert.deepEqual([code, stderr], [0, ""]);
  assert.deepEqual(
    stdout
      .replaceAll(/^\S+Z /gm, "")
      .trim()
      .split("\n"),
    ["* ada joined", "* bob joined", "bob: hello", "ada: welcome", "* bob left"],
  );
});

test("a contact takes precedence over a group of the same name, and ids tell groups apart", async (t) => {
  const { ada, bob } = await servePair(t);
  const [named] = items(await ada.run("groups", "create", "Bob", "--history", "all", "--json"));
  assert.equal(named.history, "all");
  await says(ada, "send", "bob", "to the contact");
  await says(ada, "send", named.id, "to the group");
  assert.deepEqual(await rows(bob, "messages", "ada"), ["ada to the contact"]);
  assert.deepEqual(await rows(ada, "messages", named.id), ["ada joined", "ada to the group"]);
  await ada.run("groups", "create", "Walks", "--invite", "bob");
  const [own] = items(await bob.run("groups", "create", "walks", "--json"));
  assert.match(await says(bob, "send", "Walks", "only into the own group"), /^msg_/);
  const unclear = await bob.run("groups", "show", "walks");
  assert.equal(unclear.code, 2);
  assert.match(
    unclear.stderr,
    /^parley: Several groups are called "walks"\. Use an id: grp_\w{26}, grp_\w{26}\n$/,
  );
  assert.ok(unclear.stderr.includes(own.id));
  assert.equal(await says(bob, "groups", "join", "Walks"), "You are now a member of Walks.");
  assert.equal((await bob.run("send", "Walks", "text")).code, 2);
});

test("an invitation is declined, and refusals are explained", async (t) => {
  const { ada, bob } = await servePair(t);
  await ada.run("groups", "create", "Climbing", "--invite", "bob");
  const own = await ada.run("groups", "role", "Climbing", "ada", "member");
  assert.equal(own.stderr, "ada is an admin of Climbing.\n");
  for (const [who, code, said, ...args] of [
    [bob, 1, /parley groups list/, "show", "Nothing"],
    [bob, 1, /parley groups list/, "show", `grp_${"0".repeat(26)}`],
    [bob, 1, /after you have joined/, "members", "Climbing"],
    [ada, 1, /"Climbing" has no member called "eve"\. List the members: /, "remove", "Climbing", "eve"],
    [ada, 1, /invited has no role/, "role", "Climbing", "bob", "admin"],
    [ada, 2, /nothing to change/, "update", "Climbing"],
    [ada, 2, /Allowed choices are joined, all/, "create", "x", "--history", "none"],
    [ada, 2, /Allowed choices are admin, member/, "role", "Climbing", "ada", "owner"],
  ] as [Person, number, RegExp, ...string[]][]) {
    const failed = await who.run("groups", ...args);
    assert.deepEqual([failed.code, failed.stdout], [code, ""], failed.stderr);
    assert.match(failed.stderr, said);
  }
  assert.equal(await says(bob, "groups", "leave", "Climbing"), "You declined the invitation to Climbing.");
  assert.deepEqual(items(await bob.run("groups", "list", "--json")), []);
});
