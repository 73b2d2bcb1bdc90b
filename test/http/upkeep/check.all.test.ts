import assert from "node:assert/strict";
import { appendFile, mkdir, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { commandLine, type Ended, tokenOf } from "../../support/command.ts";
import { flipBit, send } from "../../support/command-writers.ts";
import { makeOldSqlite } from "../../support/old-databases.ts";

function linesOf(ended: Ended): Record<string, string | number | null>[] {
  return ended.stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

test("parley check finds nothing in a healthy folder, with and without a running server", async (t) => {
  const command = await commandLine(t);
  const server = await command.serve();
  await send(command, tokenOf(server), "a");
  for (const stop of [false, true]) {
    if (stop) await server.stop();
    const { code, stdout, stderr } = await command.run("check");
    assert.equal(code, 0, stdout + stderr);
    assert.equal(stdout, "Checked the database and 1 file, 0.1 MiB: 0 findings.\n");
  }
  const json = await command.run("check", "--json");
  assert.deepEqual(linesOf(json), [
    { kind: "summary", files: 1, bytes: 100_000, findings: 0, tombstones: 0, intents: 0 },
  ]);
});

test("parley check reads a database of 0.1.0", async (t) => {
  const command = await commandLine(t);
  makeOldSqlite(join(command.env.PARLEY_DATA!, "parley.db"), 21, []);
  const { code, stdout, stderr } = await command.run("check");
  assert.equal(code, 0, stderr);
  assert.equal(stdout, "Checked the database and 0 files, 0.0 MiB: 0 findings.\n");
});

test("parley check names each damaged file, its uploader and the fix, and ends with 1", async (t) => {
  const command = await commandLine(t);
  const server = await command.serve();
  const token = tokenOf(server);
  const good = await send(command, token, "good");
  const flipped = await send(command, token, "flipped bit");
  const short = await send(command, token, "short");
  const long = await send(command, token, "long");
  const missing = await send(command, token, "missing");
  await server.stop();
  await flipBit(flipped.path);
  await truncate(short.path, 99_999);
  await appendFile(long.path, "x");
  await rm(missing.path);
  const { code, stdout } = await command.run("check", "--json");
  assert.equal(code, 1);
  const found = linesOf(await command.run("check", "--json"));
  const expected = [
    { ...flipped, filename: "flipped bit", kind: "damaged" },
    { ...short, filename: "short", kind: "size", found: 99_999 },
    { ...long, filename: "long", kind: "size", found: 100_001 },
    { ...missing, filename: "missing", kind: "missing" },
  ];
  for (const [i, { id, key, path, ...rest }] of expected.entries()) {
    const { hint, uploader_id, ...line } = found[i]!;
    const attachment = { attachment_id: id, uploader: "admin", blob_key: key, path, file_size: 100_000 };
    assert.deepEqual(line, { ...attachment, ...rest });
    assert.match(String(uploader_id), /^usr_/);
    assert.ok(String(hint).includes(`cp BACKUP/blobs/${key.slice(0, 2)}/${key} ${path}`), String(hint));
  }
  assert.deepEqual(found.at(-1), {
    ...{ kind: "summary", files: 5, bytes: 2 * 100_000 + 99_999 + 100_001, findings: 4 },
    ...{ tombstones: 0, intents: 0 },
  });
  const words = (await command.run("check")).stdout;
  for (const { id, path, filename } of expected)
    assert.ok(words.includes(`${id} "${filename}" of admin: ${path} `), words);
  assert.match(words, /4 findings\.\n$/);
  assert.ok(!(stdout + words).includes(good.id));
});

test("parley check names files without a row, except interrupted uploads", async (t) => {
  const command = await commandLine(t);
  const server = await command.serve();
  const deleted = await send(command, tokenOf(server), "deleted");
  await server.stop();
  const folder = command.env.PARLEY_DATA!;
  const db = new DatabaseSync(join(folder, "parley.db"));
  db.exec("DELETE FROM attachments; DELETE FROM grants");
  db.exec("UPDATE storage SET used = 7");
  db.exec(`INSERT INTO tombstones VALUES ('${deleted.key}', 1)`);
  db.close();
  const orphan = join(folder, "blobs/11", "11".repeat(16));
  const misplaced = join(folder, "blobs/22", "33".repeat(16));
  const foreign = join(folder, "blobs/44/a\nb");
  const cut = "55".repeat(16);
  for (const path of [orphan, misplaced, foreign, join(folder, "tmp", cut), join(folder, "blobs/55", cut)])
    await writeFile(path, "data");
  await mkdir(join(folder, "blobs/zz"));
  await writeFile(join(folder, "blobs/zz/file"), "data");
  const ended = await command.run("check", "--json");
  assert.equal(ended.code, 1);
  const found = linesOf(ended);
  assert.deepEqual(found.pop(), {
    ...{ kind: "summary", files: 0, bytes: 0, findings: 5, tombstones: 1, intents: 1 },
  });
  const { hint: _, user_id, ...miscount } = found.pop()!;
  assert.match(String(user_id), /^usr_/);
  assert.deepEqual(miscount, { kind: "storage", username: "admin", used: 7, found: 0 });
  assert.deepEqual(found.map(({ kind, path }) => `${kind} ${path}`).sort(), [
    `foreign ${misplaced}`,
    `foreign ${foreign}`,
    `foreign ${join(folder, "blobs/zz/file")}`,
    `orphan ${orphan}`,
  ]);
  const words = (await command.run("check")).stdout;
  assert.ok(
    words.includes(`${orphan} has 4 bytes and belongs to no attachment.\n  It is unreachable`),
    words,
  );
  assert.ok(words.includes("a\\nb"), "a name is printed so that it cannot be taken for another line");
  assert.match(words, /1 deleted file to be erased.*\n1 upload in progress or interrupted/);
});

test("parley check finds a damaged database, and leaves an older schema unchanged", async (t) => {
  const command = await commandLine(t);
  await (await command.serve()).stop();
  const path = join(command.env.PARLEY_DATA!, "parley.db");
  const db = new DatabaseSync(path);
  db.exec("DROP TABLE holds; PRAGMA user_version = 1");
  assert.equal((await command.run("check")).code, 0);
  assert.equal(db.prepare("PRAGMA user_version").get()!.user_version, 1);
  // Makes an index disagree with its table.
  db.exec(`INSERT INTO messages (conversation_id, id, sender_id, type, has_files, created_at, version)
    VALUES ('cnv_1', 'msg_1', 'usr_1', 'text', 0, 1, 1)`);
  db.enableDefensive(false);
  db.exec("PRAGMA writable_schema = ON");
  db.exec("UPDATE sqlite_schema SET sql = replace(sql, '(id)', '(sender_id)') WHERE name = 'messages_by_id'");
  db.close();
  const ended = await command.run("check", "--json");
  assert.equal(ended.code, 1, ended.stderr);
  assert.equal(linesOf(ended)[0]!.kind, "database");
});

test("parley check without a database ends with 2", async (t) => {
  const command = await commandLine(t);
  const nowhere = await command.run("check");
  assert.equal(nowhere.code, 2);
  assert.match(nowhere.stderr, /^parley: There is no Parley data in/);
  await mkdir(command.env.PARLEY_DATA!);
  await writeFile(
    join(command.env.PARLEY_DATA!, "parley.db"),
    "no database, but long enough to have a header".repeat(99),
  );
  const nonsense = await command.run("check");
  assert.equal(nonsense.code, 2);
  assert.match(nonsense.stderr, /^parley: .*parley\.db cannot be used as a database: .*\n$/);
});
