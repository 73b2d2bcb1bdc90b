import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { startTable } from "../../src/cli/table.ts";
import { harmless, jsonLine } from "../../src/cli/text.ts";
import { ended, PARLEY } from "../support/command.ts";
import { proxy } from "../support/proxy.ts";
import { items, newcomer, onEachServer, person } from "./person.ts";

onEachServer("contacts are added, found, renamed, blocked and removed, by name or id", async (t, server) => {
  const ada = await newcomer(t, server, "ada");
  const added = await ada.run("contacts", "add", "bob", "+15550101", "--name", "Bob B.");
  assert.equal(added.code, 0, added.stderr);
  assert.match(added.stdout, /^con_\w{26} {2}bob\n$/);
  const id = added.stdout.slice(0, 30);
  const [made] = items(await ada.run("contacts", "add", "carol", "+15550102", "--json"));
  assert.equal(made.username, "carol");
  const again = await ada.run("contacts", "add", "BOB", "123");
  assert.equal(again.code, 1);
  assert.ok(again.stderr.includes(`You already have this contact: ${id}.`), again.stderr);
  assert.match(
    (await ada.run("contacts", "list")).stdout,
    /^ID +USERNAME +NAME +PHONE +LAST ACTIVE\ncon_\w+ +carol +\+15550102\ncon_\w+ +bob +Bob B\. +\+15550101\n$/,
  );
  for (const text of ["bo", "b. bob", "0101"]) {
    const found = items(await ada.run("contacts", "search", text, "--json"));
    assert.deepEqual(
      found.map((each) => each.id),
      [id],
    );
  }
  assert.equal((await ada.run("contacts", "rename", "bob", "Robert")).stderr, "bob is now called Robert.\n");
  assert.equal(items(await ada.run("contacts", "rename", id, "", "--json"))[0].display_name, null);
  assert.equal((await ada.run("contacts", "block", "bob")).stderr, "bob is blocked.\n");
  assert.deepEqual(
    items(await ada.run("contacts", "list", "--blocked", "--json")).map((each) => each.id),
    [id],
  );
  assert.equal((await ada.run("contacts", "unblock", id)).code, 0);
  assert.deepEqual(items(await ada.run("contacts", "list", "--blocked", "--json")), []);
  assert.equal((await ada.run("contacts", "remove", "bob")).code, 0);
  for (const who of ["bob", id]) {
    const gone = await ada.run("contacts", "block", who);
    assert.equal(gone.code, 1);
    assert.match(gone.stderr, /^parley: .*parley contacts list\n$/);
  }
});

onEachServer("a token with act_as connects two users", async (t, server) => {
  const [ada, bob] = [await newcomer(t, server, "ada"), await newcomer(t, server, "bob")];
  const refused = await ada.run("connect", "ada", "bob");
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /act_as/);
  const scopes = ["act_as", "contacts:read", "contacts:write"].flatMap((scope) => ["--scope", scope]);
  const { token } = JSON.parse(
    (await server.operator.run("token", "create", "ada", ...scopes, "--json")).stdout,
  );
  const shop = await person(t, { PARLEY_URL: server.url, PARLEY_TOKEN: token });
  assert.equal(
    (await shop.run("connect", "ada", "bob")).stderr,
    "ada and bob have each other as contacts.\n",
  );
  for (const [who, name] of [
    [ada, "bob"],
    [bob, "ada"],
  ] as const)
    assert.deepEqual(
      items(await who.run("contacts", "list", "--json")).map(({ username }) => username),
      [name],
    );
  for (const names of [
    ["ada", "nobody"],
    ["nobody", "ada"],
  ])
    assert.deepEqual(await shop.run("connect", ...names), {
      code: 1,
      stdout: "",
      stderr: 'parley: No user is named "nobody".\n',
    });
  assert.deepEqual(await shop.run("connect", "ada", "ADA"), {
    code: 2,
    stdout: "",
    stderr: "parley: Name two different users.\n",
  });
  const again = await shop.run("connect", "bob", "ada", "--json");
  assert.deepEqual([again.code, items(again)[0].username], [0, "ada"]);
  assert.match((await shop.run("whoami", "--as", "bob")).stdout, /bob/);
  assert.equal((await shop.run("contacts", "rename", "ada", "Ada L.", "--as", "bob")).code, 0);
  const [contact] = items(await bob.run("contacts", "list", "--json"));
  assert.equal(contact!.display_name, "Ada L.");
  assert.match((await shop.run("whoami", "--as", "nobody")).stderr, /user/);
  assert.match((await ada.run("whoami", "--as", "bob")).stderr, /act_as/);
});

onEachServer(
  "lists continue beyond a page, and end at --limit or when the reader stops",
  async (t, server) => {
    const ada = await newcomer(t, server, "ada");
    const { token } = JSON.parse((await server.operator.run("token", "create", "ada", "--json")).stdout);
    const names = Array.from({ length: 230 }, (_, i) => `n${i}`);
    for (const username of names) {
      const { status } = await fetch(`${server.url}/v1/contacts`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}` },
        body: new URLSearchParams({ username, phone_number: "+15550100" }),
      });
      assert.equal(status, 201);
    }
    names.reverse();
    const usernames = async (...more: string[]) =>
      items(await ada.run("contacts", "list", "--json", ...more)).map((each) => each.username);
    assert.deepEqual(await usernames(), names);
    assert.deepEqual(await usernames("--limit", "1"), names.slice(0, 1));
    assert.deepEqual(await usernames("--limit", "150"), names.slice(0, 150));
    const { stdout } = await ada.run("contacts", "list");
    assert.equal(stdout.trim().split("\n").length, 231);
    const between = await proxy(t, server.url, () => "pass");
    const bob = await person(t, { PARLEY_URL: between.url, PARLEY_TOKEN: token });
    for (const format of [["--json"], []]) {
      const cut = bob.start("contacts", "list", ...format);
      const end = ended(cut);
      cut.stdout!.destroy();
      const { code, stderr } = await end;
      assert.equal(stderr, "");
      assert.equal(code, 0);
      assert.ok(between.seen.length < 3, "All pages were asked for, and nobody reads them.");
      between.seen.length = 0;
    }
    const full = openSync("/dev/full", "w");
    t.after(() => closeSync(full));
    for (const more of [[], ["--limit", "1"]]) {
      const unkept = spawn(PARLEY, ["contacts", "list", "--json", ...more], {
        env: bob.env,
        stdio: ["ignore", full, "pipe"],
      });
      const output = text(unkept.stderr!);
      const [code] = await once(unkept, "close");
      assert.equal(code, 2);
      assert.match(await output, /^parley: standard output: ENOSPC/);
    }
  },
);

function tableOf(...rows: string[][]): string[] {
  return tableIn(undefined, ...rows);
}

function tableIn(columns: number | undefined, ...rows: string[][]): string[] {
  const lines: string[] = [];
  const io = { columns, print: (text: string) => void lines.push(text) } as Parameters<typeof startTable>[0];
  const table = startTable(io, ["A", "B"]);
  for (const row of rows) table.add(row);
  table.end();
  return lines;
}

test("columns are measured as a terminal shows them", () => {
  const family = "👩‍👩‍👧";
  assert.deepEqual(tableOf(["山田", "1"], ["zoe\u0301", "2"], [family, "3"], ["กำ", "4"]), [
    "A     B",
    "山田  1",
    "zoe\u0301   2",
    `${family}    3`,
    "กำ    4",
  ]);
});

test("columns of a long table may become wider, never narrower", () => {
  const lines = tableOf(...Array(150).fill(["x", "1"]), ["a long one", "2"], ["x", "3"]);
  assert.equal(lines[1], "x  1");
  assert.deepEqual(lines.slice(-2), ["a long one  2", "x           3"]);
});

test("on a terminal the widest columns are cut, except the first", () => {
  const id = "x".repeat(30);
  const rows = [
    [id, "a".repeat(60)],
    [id, "名".repeat(20)],
  ];
  assert.deepEqual(tableIn(60, ...rows), [
    `A${" ".repeat(31)}B`,
    `${id}  ${"a".repeat(27)}…`,
    `${id}  ${"名".repeat(13)}…`,
  ]);
  assert.deepEqual(tableIn(20, [id, "123456789"]).at(-1), `${id}  1234567…`);
  assert.deepEqual(tableIn(200, ...rows), tableOf(...rows));
});

test("terminal control characters are escaped", () => {
  const bad = "a\u001b[31m\n\u009b2J\u202eb\u2066\u007f\u2028\rc";
  const shown = harmless(bad);
  assert.equal(shown, "a\\u{1b}[31m\\u{a}\\u{9b}2J\\u{202e}b\\u{2066}\\u{7f}\\u{2028}\\u{d}c");
  assert.ok(/^[ -~]+$/.test(jsonLine({ bad })));
  assert.deepEqual(JSON.parse(jsonLine({ bad })), { bad });
  assert.equal(harmless("Zoë 山田 👩‍👩‍👧 שלום"), "Zoë 山田 👩‍👩‍👧 שלום");
});
