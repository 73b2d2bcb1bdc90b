import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { promisify } from "node:util";
import { commandLine, tokenOf } from "../support/command.ts";

const sh = promisify(execFile);
const TOKEN = /^parley_[A-Za-z0-9_-]{43}$/;

async function statusWith(url: string, token: string): Promise<number> {
  return (await fetch(`${url}/v1/contacts`, { headers: { authorization: `Bearer ${token}` } })).status;
}

test("the first start prints a token once, and a curl line that works as pasted", async (t) => {
  const command = await commandLine(t);
  const server = await command.serve();
  const line = /^ {2}(curl .*)$/m.exec(server.stdout())?.[1];
  assert.ok(line, server.stdout());
  const { stdout } = await sh("bash", ["-c", line]);
  assert.equal(JSON.parse(stdout).username, "admin");
  assert.equal(await server.stop(), 0);
  const again = await command.serve();
  assert.ok(!again.stdout().includes("parley_"));
  const token = tokenOf(server);
  assert.equal(await statusWith(command.url, token), 200);
  assert.ok(!server.stderr().includes(token), "the log has the token");
});

test("commands add and remove users and tokens of a running server, at once", async (t) => {
  const command = await commandLine(t);
  await command.serve();
  const added = await command.run("user", "add", "Zoë", "--phone", "555-0100", "--json");
  assert.equal(added.code, 0, added.stderr);
  assert.match(JSON.parse(added.stdout).id, /^usr_/);
  const fields = ["--name", "The helper", "--kind", "bot", "--accepts-everyone", "--json"];
  const bot = JSON.parse((await command.run("user", "add", "helper", ...fields)).stdout);
  assert.deepEqual([bot.display_name, bot.kind, bot.accepts_everyone], ["The helper", "bot", true]);
  assert.equal((await command.run("user", "remove", "helper")).code, 0);
  const made = await command.run("token", "create", "zoë", "--scope", "contacts:read", "--expires", "30d");
  const token = made.stdout.trim();
  assert.match(token, TOKEN);
  assert.equal(await statusWith(command.url, token), 200);
  const refused = await fetch(`${command.url}/v1/attachments`, {
    headers: { authorization: `Bearer ${token}` },
  });
  assert.equal(refused.status, 403);
  const [row] = JSON.parse((await command.run("token", "list", "--json")).stdout);
  assert.deepEqual(row.scopes, ["contacts:read"]);
  assert.equal((await command.run("token", "revoke", row.id)).code, 0);
  assert.equal(await statusWith(command.url, token), 401);
  const other = (await command.run("token", "create", "zoë")).stdout.trim();
  assert.equal(await statusWith(command.url, other), 200);
  assert.match(
    (await command.run("user", "list")).stdout,
    /^ID +USERNAME +PHONE +CREATED +ACTIVE +FILES +PAUSED\nusr_\w+ +Zoë +555-0100 +\S+Z +\S+Z +0 B *\n/,
  );
  const profile = ["--name", "Zoë B.", "--phone", "", "--avatar-url", "https://example.com/z.png", "--json"];
  const edited = JSON.parse((await command.run("user", "edit", "zoë", ...profile)).stdout);
  assert.deepEqual(
    [edited.display_name, edited.phone_number, edited.avatar_url],
    ["Zoë B.", null, "https://example.com/z.png"],
  );
  assert.equal((await command.run("user", "edit", "zoë", "--name", "")).stderr, "Changed Zoë.\n");
  assert.equal((await command.run("user", "edit", "zoë", "--pause")).stderr, "Paused Zoë.\n");
  assert.equal(await statusWith(command.url, other), 403);
  assert.match((await command.run("user", "list")).stdout, / 0 B +\S+Z\n/);
  assert.equal(
    (await command.run("user", "edit", "zoë", "--resume", "--name", "Z")).stderr,
    "Resumed Zoë.\n",
  );
  assert.equal(await statusWith(command.url, other), 200);
  assert.equal((await command.run("user", "remove", "ZOË")).code, 0);
  assert.equal(await statusWith(command.url, other), 401);
});

test("a failing command ends with 2 and says how to fix it, without a stack", async (t) => {
  const command = await commandLine(t);
  const nowhere = await command.run("user", "list");
  assert.match(nowhere.stderr, /^parley: There is no Parley data in .*PARLEY_DATA/);
  assert.equal(nowhere.code, 2);
  await (await command.serve()).stop();
  const cases: [string[], RegExp][] = [
    [["user", "add", " x"], /^parley: NAME must be a string of 1 to 128 characters/],
    [["user", "add", "\u200b"], /^parley: NAME must be a string of 1 to 128 characters/],
    ["user add x --phone 1".split(" "), /^parley: --phone must be/],
    ["user add x --kind robot".split(" "), /^parley: --kind must be "person" or "bot"/],
    [["token", "create", "nobody"], /^parley: No user is named "nobody"/],
    ["token create nobody --scope all".split(" "), /^parley: --scope must be one of contacts:read/],
    ["token create nobody --expires soon".split(" "), /30d/],
    [["token", "revoke", "tok_x"], /^parley: .*parley token list/],
    [["user", "remove", "nobody"], /^parley: No user/],
    [["user", "edit", "nobody", "--name", "x"], /^parley: No user/],
    [["user", "edit", "x"], /^parley: Say what to change/],
    [["user", "edit", "x", "--avatar-url", "ftp://x"], /^parley: --avatar-url must be/],
    ["user edit x --pause --resume".split(" "), /cannot be used with/],
    [["user", "list", "--as", "x"], /unknown option/],
    [["nonsense"], /unknown command/],
    [["user", "add"], /missing required argument/],
  ];
  for (const [args, message] of cases) {
    const { code, stdout, stderr } = await command.run(...args);
    assert.equal(code, 2, args.join(" "));
    assert.match(stderr, message);
    assert.ok(!/\n {4}at /.test(stderr), stderr);
    assert.equal(stdout, "");
  }
  await command.run("user", "add", "x");
  assert.match((await command.run("user", "add", "X")).stderr, /username/);
});

test("help is printed on standard output and ends with 0", async (t) => {
  const command = await commandLine(t);
  const { code, stdout } = await command.run("--help");
  assert.equal(code, 0);
  assert.match(stdout, /serve .*run the server/);
});

test("an unusable data folder stops the start, naming PARLEY_DATA", async (t) => {
  for (const path of ["/proc/parley/data", "/dev/null/data"]) {
    const command = await commandLine(t, { PARLEY_DATA: path });
    const { code, stderr } = await command.run("serve");
    assert.equal(code, 2, path);
    assert.match(stderr, /^parley: PARLEY_DATA=.* cannot be made/);
  }
  const file = await commandLine(t, { PARLEY_DATA: "/dev/null" });
  const { code, stderr } = await file.run("serve");
  assert.deepEqual([code, stderr], [2, "parley: PARLEY_DATA=/dev/null cannot be used: it is a file.\n"]);
});

test("a port in use and a data folder in use stop the start with a clear error", async (t) => {
  const command = await commandLine(t);
  await command.serve();
  const twice = await command.run("serve");
  assert.equal(twice.code, 2);
  assert.match(twice.stderr, /Another Parley serves this data folder/);
  const other = await commandLine(t, { PARLEY_PORT: command.env.PARLEY_PORT! });
  const taken = await other.run("serve");
  assert.equal(taken.code, 2);
  assert.match(taken.stderr, /PARLEY_PORT/);
});

test("the started process is Node itself, version 24.15 or newer", async (t) => {
  const command = await commandLine(t);
  const { process: server } = await command.serve();
  if (process.platform !== "linux") return t.skip("/proc is Linux's");
  const line = readFileSync(`/proc/${server.pid}/cmdline`, "utf8").split("\0");
  assert.match(line.join(" "), /node.*src\/main\.ts serve/);
  const [major, minor] = process.versions.node.split(".").map(Number);
  assert.ok(major! > 24 || (major === 24 && minor! >= 15), process.version);
});

test("repeated SIGTERM ends the server with 0", async (t) => {
  const command = await commandLine(t);
  const server = await command.serve();
  server.process.kill("SIGTERM");
  assert.equal(await server.stop(), 0);
});

test("commands change nothing in a database of an older schema, and say what to do", async (t) => {
  const command = await commandLine(t);
  await (await command.serve()).stop();
  const db = new DatabaseSync(join(command.env.PARLEY_DATA!, "parley.db"));
  db.exec("PRAGMA user_version = 1");
  for (const args of [
    ["user", "list"],
    ["token", "list"],
    ["backup", join(command.env.HOME!, "copy")],
  ]) {
    const { code, stderr } = await command.run(...args);
    assert.equal(code, 2, args.join(" "));
    assert.match(stderr, /schema version 1, and this command needs \d.*cp -a/s);
  }
  assert.equal(db.prepare("PRAGMA user_version").get()!.user_version, 1);
  db.close();
});

test("a data folder with files but no database stops the start", async (t) => {
  const command = await commandLine(t);
  await (await command.serve()).stop();
  rmSync(join(command.env.PARLEY_DATA!, "parley.db"));
  const { code, stderr } = await command.run("serve");
  assert.equal(code, 2);
  assert.match(stderr, /has files of a Parley, and no parley\.db/);
});
