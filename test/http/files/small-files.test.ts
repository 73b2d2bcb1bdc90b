import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import type { Config } from "../../../src/config/settings.ts";
import { startApp, type TestApp, type TestUser, upload } from "../../support/app.ts";
import { commandLine } from "../../support/command.ts";
import { eventually, storedFiles } from "../../support/files-on-disk.ts";

const LARGEST = 32 * 1024;

interface Made {
  id: string;
  file_url: string;
}

async function send(
  server: TestApp,
  user: TestUser,
  bytes: string | Uint8Array<ArrayBuffer>,
  form = {},
): Promise<Made> {
  const response = await upload(server.url, user, new File([bytes], "a.bin"), form);
  assert.equal(response.status, 201);
  return (await response.json()) as Made;
}

/** Returns the ids of attachments whose bytes are in the database. */
function inDatabase(config: Config): unknown[] {
  const db = new DatabaseSync(join(config.dataFolder, "parley.db"), { readOnly: true });
  const ids = db.prepare("SELECT attachment_id AS id FROM small_files ORDER BY 1").all();
  db.close();
  return ids.map((row) => row.id);
}

test("files up to 32 KiB are in the database, larger ones in the store, and all are downloaded unchanged", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const small: string[] = [];
  for (const size of [0, 1, 4096, LARGEST - 1, LARGEST, LARGEST + 1, 100_000]) {
    const bytes = randomBytes(size);
    const { id, file_url } = await send(server, user, bytes);
    if (size <= LARGEST) small.push(id);
    assert.deepEqual(Buffer.from(await (await fetch(file_url)).arrayBuffer()), bytes, String(size));
    if (size < 2) continue;
    const part = await fetch(file_url, { headers: { range: "bytes=1-9" } });
    assert.equal(part.headers.get("content-range"), `bytes 1-9/${size}`);
    assert.deepEqual(Buffer.from(await part.arrayBuffer()), bytes.subarray(1, 10));
  }
  assert.deepEqual(inDatabase(server.config), small.sort());
  assert.equal((await storedFiles(server.config)).length, 2);
});

test("the bytes of a deleted small file leave the data folder within seconds", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const secrets = ["one", "two", "three"].map((name) => `${name} ${randomBytes(16).toString("hex")}`);
  const body = new URLSearchParams({ username: "ada", phone_number: "555-0100" });
  const made = await fetch(`${server.url}/v1/contacts`, { method: "POST", headers: user.headers, body });
  const contact = (await made.json()) as { id: string; conversation_id: string };
  const first = await send(server, user, secrets[0]!);
  await send(server, user, secrets[1]!.repeat(500), { conversation_id: contact.conversation_id });
  const kept = await send(server, user, secrets[2]!);
  const found = async () => {
    const files = await readdir(server.config.dataFolder, { withFileTypes: true });
    const paths = files.filter((file) => file.isFile()).map((file) => join(file.parentPath, file.name));
    const bytes = Buffer.concat(await Promise.all(paths.map((path) => readFile(path))));
    return secrets.filter((secret) => bytes.includes(secret));
  };
  assert.deepEqual(await found(), secrets);
  for (const path of [`attachments/${first.id}`, `contacts/${contact.id}`]) {
    const gone = await fetch(`${server.url}/v1/${path}`, { method: "DELETE", headers: user.headers });
    assert.equal(gone.status, 204);
  }
  assert.ok(await eventually(async () => (await found()).join() === secrets[2]));
  assert.deepEqual(inDatabase(server.config), [kept.id]);
});

test("the small files of a user removed by the command line leave the data folder of an idle server", async (t) => {
  const command = await commandLine(t);
  await command.serve();
  await command.run("user", "add", "bob");
  const token = (await command.run("token", "create", "bob")).stdout.trim();
  const secret = randomBytes(16).toString("hex");
  const form = new FormData();
  form.set("file", new File([secret], "a.txt"));
  const headers = { authorization: `Bearer ${token}` };
  const made = await fetch(`${command.url}/v1/attachments`, { method: "POST", headers, body: form });
  assert.equal(made.status, 201);
  await new Promise((resolve) => setTimeout(resolve, 3000));
  assert.equal((await command.run("user", "remove", "bob")).code, 0);
  const folder = command.env.PARLEY_DATA!;
  const isGone = async () => {
    const files = ["parley.db", "parley.db-wal"].map((name) => readFile(join(folder, name)));
    return !Buffer.concat(await Promise.all(files)).includes(secret);
  };
  assert.ok(await eventually(isGone));
});
