import assert from "node:assert/strict";
import { mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { type CommandLine, commandLine, pushKeyOf, tokenOf } from "../../support/command.ts";
import { type Acknowledged, flipBit, nothing, send, sha256, write } from "../../support/command-writers.ts";
import { makeOldSqlite } from "../../support/old-databases.ts";

/** Returns a command line with another, missing data folder, whose server has the same address. */
function elsewhere(command: CommandLine, t: TestContext): Promise<CommandLine> {
  return commandLine(t, { PARLEY_PORT: command.env.PARLEY_PORT! });
}

const backupOf = (command: CommandLine) => join(dirname(command.env.PARLEY_DATA!), "backup");

async function checkFolder(t: TestContext, folder: string): Promise<{ code: number | null; stdout: string }> {
  return (await commandLine(t, { PARLEY_DATA: folder })).run("check");
}

async function linksOf(command: CommandLine, headers: Record<string, string>): Promise<Map<string, string>> {
  const links = new Map<string, string>();
  for (let path: string | undefined = "/v1/attachments?limit=100"; path; ) {
    const answer = await fetch(command.url + path, { headers });
    const page = (await answer.json()) as { data: { id: string; file_url: string }[] };
    for (const { id, file_url } of page.data) links.set(id, file_url);
    const next = /<[^>]*?(\/v1\/[^>]*)>; rel="next"/.exec(answer.headers.get("link") ?? "");
    path = next?.[1];
  }
  return links;
}

/**
 * Starts a server and asserts that it has all acknowledged data, that links of the old server work, and that it has the
 * same push key.
 */
async function serveAll(
  restored: CommandLine,
  headers: Record<string, string>,
  known: Acknowledged,
  { links, pushKey }: { links: ReadonlyMap<string, string>; pushKey: string },
): Promise<void> {
  const server = await restored.serve();
  assert.equal(await pushKeyOf(restored, headers), pushKey);
  assert.ok(!server.stdout().includes("parley_"), "it is no new Parley");
  for (const id of known.contacts)
    assert.equal((await fetch(`${restored.url}/v1/contacts/${id}`, { headers })).status, 200, id);
  for (const [id, text] of known.messages) {
    const message = await fetch(`${restored.url}/v1/messages/${id}`, { headers });
    assert.equal(((await message.json()) as { text: string }).text, text, id);
  }
  for (const id of known.deleted)
    assert.equal((await fetch(`${restored.url}/v1/attachments/${id}`, { headers })).status, 404, id);
  for (const [id, digest] of known.files) {
    const bytes = await (await fetch(links.get(id)!)).arrayBuffer();
    assert.equal(sha256(new Uint8Array(bytes)), digest, id);
  }
  await server.stop();
}

test("a backup under load has everything acknowledged before it, and a restored server serves it", async (t) => {
  const command = await commandLine(t);
  const server = await command.serve();
  const headers = { authorization: `Bearer ${tokenOf(server)}` };
  const known = nothing();
  let goesOn = true;
  t.after(() => {
    goesOn = false;
  });
  const writers = Array.from({ length: 6 }, () => write(command, headers, known, () => goesOn));
  while (known.files.size < 30) await new Promise((resolve) => setTimeout(resolve, 10));
  const before = {
    contacts: new Set(known.contacts),
    messages: new Map(known.messages),
    files: new Map(known.files),
    deleted: new Set(known.deleted),
  };
  const folder = backupOf(command);
  const readLast = async () => {
    const metrics = await (await fetch(`${command.url}/metrics`, { headers })).text();
    return Number(/^parley_last_backup_timestamp_seconds (.+)$/m.exec(metrics)?.[1]);
  };
  const began = Math.floor(Date.now() / 1000);
  assert.equal(await readLast(), 0);
  const { code, stdout, stderr } = await command.run("backup", folder);
  assert.equal(code, 0, stdout + stderr);
  const last = await readLast();
  assert.ok(last >= began && last <= Date.now() / 1000, String(last));
  assert.match(stdout, /^Backed up \d+ files, .* to .*\/backup: 0 findings\.\n$/);
  const shown = { links: await linksOf(command, headers), pushKey: await pushKeyOf(command, headers) };
  goesOn = false;
  await Promise.all(writers);
  assert.equal((await command.run("check")).code, 0);
  const checked = await checkFolder(t, folder);
  assert.equal(checked.code, 0, checked.stdout);
  assert.doesNotMatch(checked.stdout, /erased|interrupted/);
  assert.deepEqual((await readdir(folder)).sort(), ["blobs", "parley.db", "secret", "tmp"]);
  for (const name of ["parley.db", "secret"])
    assert.equal((await stat(join(folder, name))).mode & 0o777, 0o600);
  assert.equal((await stat(folder)).mode & 0o777, 0o700);
  const db = new DatabaseSync(join(folder, "parley.db"), { readOnly: true });
  assert.equal(db.prepare("SELECT COUNT(*) AS n FROM holds").get()!.n, 0);
  db.close();
  await server.stop();
  const restored = await elsewhere(command, t);
  const ended = await restored.run("restore", folder);
  assert.equal(ended.code, 0, ended.stderr);
  assert.match(ended.stdout, /^Restored \d+ files, .*Start the server\.\n$/);
  assert.equal((await restored.run("check")).code, 0);
  await serveAll(restored, headers, before, shown);
  t.diagnostic(
    `${before.messages.size} messages and ${before.files.size} files before, ${known.files.size} after; ${known.deleted.size} deletes`,
  );
});

test("a backup names damaged files, and is restored only once they are fixed", async (t) => {
  const command = await commandLine(t);
  const server = await command.serve();
  const token = tokenOf(server);
  const good = await send(command, token, "good");
  const flipped = await send(command, token, "flipped");
  const missing = await send(command, token, "missing");
  const whole = await readFile(flipped.path);
  const kept = await readFile(missing.path);
  await flipBit(flipped.path);
  await rm(missing.path);
  const folder = backupOf(command);
  const made = await command.run("backup", folder);
  assert.equal(made.code, 1, made.stderr);
  const report = await readFile(join(folder, "findings.txt"), "utf8");
  for (const text of [made.stdout, report]) {
    assert.ok(text.includes(`${flipped.id} "flipped" of admin: ${flipped.path} is damaged`), text);
    assert.ok(text.includes(`${missing.id} "missing" of admin: ${missing.path} is missing`), text);
    assert.ok(!text.includes(good.id));
  }
  assert.match(made.stdout, /Backed up 2 files, .*: 2 findings\.\n$/);
  const inBackup = (key: string) => join(folder, "blobs", key.slice(0, 2), key);
  assert.deepEqual(await readFile(inBackup(flipped.key)), await readFile(flipped.path));
  const restored = await elsewhere(command, t);
  const refused = await restored.run("restore", folder);
  assert.equal(refused.code, 2);
  assert.match(refused.stderr, /^parley: Nothing was restored: 2 findings in /);
  assert.ok(refused.stdout.includes(inBackup(flipped.key)) && refused.stdout.includes(inBackup(missing.key)));
  assert.deepEqual(await readdir(restored.env.PARLEY_DATA!), ["server.lock"]);
  await writeFile(inBackup(flipped.key), whole);
  await writeFile(inBackup(missing.key), kept);
  const mended = await restored.run("restore", folder);
  assert.equal(mended.code, 0, mended.stdout + mended.stderr);
  assert.equal((await restored.run("check")).code, 0);
});

test("a restore overwrites nothing and refuses incomplete backups", async (t) => {
  const command = await commandLine(t);
  const server = await command.serve();
  await send(command, tokenOf(server), "a");
  const folder = backupOf(command);
  assert.equal((await command.run("backup", folder)).code, 0);
  const refusals: [CommandLine, string, RegExp][] = [];
  refusals.push([command, folder, /already contains Parley data, .*move the folder away/]);
  const other = await elsewhere(command, t);
  await mkdir(other.env.PARLEY_DATA!);
  await writeFile(join(other.env.PARLEY_DATA!, "letter"), "mine");
  refusals.push([other, folder, /already contains letter, /]);
  const cut = await elsewhere(command, t);
  await mkdir(join(cut.env.PARLEY_DATA!, "restore.partial"), { recursive: true });
  refusals.push([cut, folder, /already contains restore\.partial, /]);
  const half = await elsewhere(command, t);
  await mkdir(`${folder}.partial/blobs`, { recursive: true });
  await writeFile(`${folder}.partial/parley.db.partial`, await readFile(join(folder, "parley.db")));
  refusals.push([half, `${folder}.partial`, /is not a complete backup/]);
  refusals.push([half, `${folder}/nowhere`, /is not a complete backup/]);
  for (const [target, from, message] of refusals) {
    const { code, stderr } = await target.run("restore", from);
    assert.equal(code, 2);
    assert.match(stderr, message);
    assert.doesNotMatch(stderr, /\n {4}at /);
  }
  assert.deepEqual(await readdir(other.env.PARLEY_DATA!), ["letter"]);
  const start = await cut.run("serve");
  assert.equal(start.code, 2);
  assert.match(start.stderr, /A restore into .* is running or was interrupted/);
  assert.equal((await command.run("check")).code, 0);
});

test("a backup needs a new or empty folder", async (t) => {
  const command = await commandLine(t);
  const server = await command.serve();
  await send(command, tokenOf(server), "a");
  const folder = backupOf(command);
  await mkdir(folder);
  assert.equal((await command.run("backup", `${folder}/`)).code, 0);
  const again = await command.run("backup", folder);
  assert.equal(again.code, 2);
  assert.match(again.stderr, /is not empty\. Choose a new folder/);
  await mkdir(`${folder}2.partial`);
  const atWork = await command.run("backup", `${folder}2`);
  assert.equal(atWork.code, 2);
  assert.match(atWork.stderr, /backup2\.partial exists: another backup is running/);
  const nowhere = await command.run("backup", `${folder}/missing/folder`);
  assert.equal(nowhere.code, 2);
  assert.match(nowhere.stderr, /^parley: ENOENT.*\n$/);
  assert.equal((await checkFolder(t, folder)).code, 0);
});

test("a backup of an older schema is restored unchanged, and migrated by the next start", async (t) => {
  const command = await commandLine(t);
  const folder = backupOf(command);
  await mkdir(folder);
  const key = "0f".repeat(16);
  const ids = { conversation_id: "cnv_1", user_id: "usr_1" };
  const file = {
    ...{ id: "att_1", conversation_id: "cnv_1", message_id: "msg_1", uploader_id: "usr_1", filename: "a" },
    ...{ file_type: "text/plain", file_size: 4, sha256: Buffer.from(sha256(Buffer.from("data")), "hex") },
    ...{ blob_key: key, created_at: 1, version: 1 },
  };
  // Like a manual copy of a stopped server's folder.
  makeOldSqlite(join(folder, "parley.db"), 1, [
    ["users", { id: "usr_1", username: "ada", username_key: "ada", conversation_id: "cnv_1", created_at: 1 }],
    ["attachments", file],
    ["messages", { id: "msg_1", conversation_id: "cnv_1", sender_id: "usr_1", created_at: 1 }],
    ["members", { ...ids, joined_at: 1 }],
    ["grants", { ...ids, attachment_id: "att_1" }],
  ]);
  await mkdir(join(folder, "blobs/0f"), { recursive: true });
  await writeFile(join(folder, "blobs/0f", key), "data");
  const ended = await command.run("restore", folder);
  assert.equal(ended.code, 0, ended.stderr);
  assert.match(ended.stderr, /has no secret\. Set PARLEY_SECRET/);
  const path = join(command.env.PARLEY_DATA!, "parley.db");
  const version = () => {
    const restored = new DatabaseSync(path, { readOnly: true });
    const { user_version } = restored.prepare("PRAGMA user_version").get() as { user_version: number };
    restored.close();
    return user_version;
  };
  assert.equal(version(), 1);
  await (await command.serve()).stop();
  assert.ok(version() > 1);
  assert.equal((await command.run("check")).code, 0);
});
