import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { commandLine, tokenOf } from "../support/command.ts";
import { proxy } from "../support/proxy.ts";
import { noTerminal, onTerminal } from "./on-terminal.ts";
import { person } from "./person.ts";

test("on a terminal the token is prompted for without echo, and Ctrl-C changes nothing", {
  skip: noTerminal,
}, async (t) => {
  const operator = await commandLine(t);
  const token = tokenOf(await operator.serve());
  const ada = await person(t);
  const given = onTerminal(ada, `login ${operator.url}`);
  await given.until("Access token (hidden):");
  given.type(`${token}\r`);
  const { code, shown } = await given.end();
  assert.equal(code, 0, shown);
  assert.match(shown, /Logged in at .* as admin\./);
  assert.ok(!shown.includes(token.slice(0, 12)), "the terminal has shown the token");
  const cut = onTerminal(ada, `login ${operator.url}`);
  await cut.until("Access token");
  cut.type("parley_half\u0003");
  const stopped = await cut.end();
  assert.equal(stopped.code, 130);
  assert.match(stopped.shown, /No token was given\. Nothing was changed/);
  assert.equal((await ada.run("whoami")).code, 0);
});

test("on a terminal a bar shows size, speed and time left, and names are escaped", {
  skip: noTerminal,
}, async (t) => {
  const operator = await commandLine(t);
  const token = tokenOf(await operator.serve());
  const ada = await person(t, { PARLEY_URL: operator.url, PARLEY_TOKEN: token });
  await writeFile(join(ada.folder, "a.bin"), Buffer.alloc(80 * 2 ** 20));
  await writeFile(join(ada.folder, "\u001b[31mred.txt"), "x");
  const up = await onTerminal(ada, "upload *").end();
  assert.equal(up.code, 1, up.shown);
  assert.match(up.shown, /a\.bin \[=*-*\] \d+% of 80\.0 MiB \d+(\.\d)? \w+\/s( \d+:\d\d left)?/);
  assert.match(up.shown, /a\.bin \[=+\] 100% of 80\.0 MiB/);
  assert.match(up.shown, /\\u\{1b\}\[31mred\.txt was not uploaded/);
  assert.ok(!up.shown.includes("\u001b[31m"));
  const id = /att_\w+/.exec(up.shown)![0];
  const down = await onTerminal(ada, `download ${id} -o b.bin`).end();
  assert.equal(down.code, 0, down.shown);
  assert.match(down.shown, /a\.bin \[=+\] 100% of 80\.0 MiB .*\/s/);
  assert.match(down.shown, /b\.bin\r\n$/);
});

test("on a terminal a list fits the width, an empty one says so, and no file is printed", {
  skip: noTerminal,
}, async (t) => {
  const operator = await commandLine(t);
  const token = tokenOf(await operator.serve());
  const ada = await person(t, { PARLEY_URL: operator.url, PARLEY_TOKEN: token });
  const none = await onTerminal(ada, "contacts list").end();
  assert.deepEqual(none, {
    code: 0,
    shown: "You have no contacts. Add one: parley contacts add NAME PHONE\r\n",
  });
  assert.match((await onTerminal(ada, "attachments list").end()).shown, /^No files yet\. .*upload FILE/);
  assert.equal((await ada.run("contacts", "list")).stdout, "ID  USERNAME  NAME  PHONE  LAST ACTIVE\n");
  await ada.run("contacts", "add", "u".repeat(60), "+15550100", "--name", "n".repeat(90));
  const list = await onTerminal(ada, "contacts list", 90).end();
  const lines = list.shown.trimEnd().split("\r\n");
  assert.equal(lines.length, 2);
  assert.match(lines[1]!, /^con_\w{26} {2}u+… +n+… +\+15550100$/);
  assert.ok(lines.every((line) => line.length <= 90));
  await writeFile(join(ada.folder, "a.txt"), "secret");
  const { stdout } = await ada.run("upload", "a.txt");
  const printed = await onTerminal(ada, `download ${stdout.slice(0, 30)} -o -`).end();
  assert.equal(printed.code, 2);
  assert.match(printed.shown, /^parley: A file can control the terminal/);
});

test("on a terminal a rate limit is reported once", { skip: noTerminal }, async (t) => {
  const operator = await commandLine(t);
  const token = tokenOf(await operator.serve());
  const busy = { status: 503, headers: { "retry-after": "1" } };
  const { url } = await proxy(t, operator.url, (_path, seen) => (seen.length % 3 < 2 ? busy : "pass"));
  const ada = await person(t, { PARLEY_URL: url, PARLEY_TOKEN: token });
  const { code, shown } = await onTerminal(ada, "whoami").end();
  assert.equal(code, 0, shown);
  assert.match(shown, /^\r\u001b\[KThe server asked for a pause\. Retrying in 1 second\.\r\nServer /);
  assert.equal((await ada.run("whoami")).stderr, "");
});
