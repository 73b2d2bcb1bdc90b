import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { chmod, copyFile, mkdir, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { createApp } from "../../../src/app.ts";
import { startApp, startOn, testConfig, upload } from "../../support/app.ts";
import { commandLine } from "../../support/command.ts";
import { eventually, storedFiles } from "../../support/files-on-disk.ts";
import { beginRequest, beginUpload, FORM_HEAD, FORM_TAIL, readAnswer } from "../../support/raw-socket.ts";
import { attachment, aUser } from "../../support/rows.ts";

test("a database of a newer schema is refused and unlocked again", async (t) => {
  const config = await testConfig(t);
  await mkdir(config.dataFolder, { recursive: true });
  const path = join(config.dataFolder, "parley.db");
  const db = new DatabaseSync(path);
  db.exec("PRAGMA user_version = 9999");
  db.close();
  await assert.rejects(createApp(config), /schema version 9999/);
  await assert.rejects(createApp(config), /schema version 9999/);
});

test("only the owner can read the data folder", async (t) => {
  const { config } = await startApp(t);
  assert.equal((await stat(config.dataFolder)).mode & 0o777, 0o700);
});

test("a start warns of a data folder that others may write to", async (t) => {
  const command = await commandLine(t);
  await mkdir(command.env.PARLEY_DATA!, { recursive: true });
  for (const [mode, isTold] of [
    [0o755, false],
    [0o777, true],
  ] as const) {
    await chmod(command.env.PARLEY_DATA!, mode);
    const server = await command.serve();
    assert.equal(await server.stop(), 0);
    assert.equal(/Other users of this machine.*chmod go-w/.test(server.stderr()), isTold);
  }
});

test("a start keeps the files of live rows and erases others that a crash left", async (t) => {
  const config = await testConfig(t);
  const first = await createApp(config);
  await first.start();
  const live = "11".repeat(16);
  const orphan = "22".repeat(16);
  const half = "33".repeat(16);
  const target = { conversationId: await notes(first) };
  const file = { blobKey: live, fileSize: 4 };
  await first.core.db.write("createAttachment", attachment("usr_1", 1, target, file));
  await first.stop();
  for (const key of [live, orphan])
    await writeFile(join(config.dataFolder, "blobs", key.slice(0, 2), key), "data");
  for (const key of [live, orphan, half]) await writeFile(join(config.dataFolder, "tmp", key), "data");
  await startOn(t, config);
  const expected = [join(config.dataFolder, "blobs", "11", live)];
  assert.ok(await eventually(async () => (await storedFiles(config)).join() === expected.join()));
});

test("a start empties the WAL that a crash left, because it contains deleted data", async (t) => {
  const config = await testConfig(t);
  const first = await createApp(config);
  await first.stop();
  const path = join(config.dataFolder, "parley.db");
  const log = `${path}-wal`;
  const db = new DatabaseSync(path);
  db.exec("UPDATE revocations SET count = count + 1");
  await copyFile(log, `${log}.crashed`);
  db.close();
  await rename(`${log}.crashed`, log);
  assert.ok((await stat(log)).size > 0);
  await startOn(t, config);
  assert.equal((await stat(log)).size, 0);
});

async function notes(app: { core: Awaited<ReturnType<typeof createApp>>["core"] }): Promise<string> {
  await app.core.db.write("createUser", aUser("usr_1", { conversationId: "cnv_1" }));
  return "cnv_1";
}

test("file links work after a restart", async (t) => {
  const config = { ...(await testConfig(t)), publicUrl: "http://files.example" };
  const first = await startOn(t, config);
  const user = await first.user();
  const port = (app: string) => new URL(app).host;
  assert.equal(port(first.url), "files.example");
  const address = `http://127.0.0.1:${first.app.port()}`;
  const made = (await (await upload(address, user, new File(["x"], "a.txt"))).json()) as { file_url: string };
  assert.ok(made.file_url.startsWith("http://files.example/files/att_"));
  await first.app.stop();
  const second = await startOn(t, config);
  const link = new URL(made.file_url);
  const response = await fetch(`http://127.0.0.1:${second.app.port()}${link.pathname}${link.search}`);
  assert.equal(await response.text(), "x");
});

test("a stop lets a running upload finish, and refuses new connections", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const body = `${FORM_HEAD}late${FORM_TAIL}`;
  const socket = await beginUpload(server.url, user, { "content-length": body.length });
  socket.write(body.slice(0, 90));
  assert.ok(await eventually(async () => server.app.core.runningUploads.has(user.id)));
  const stopped = server.app.stop();
  await assert.rejects(eventually(async () => (await fetch(`${server.url}/healthz`)).ok && false));
  socket.write(body.slice(90));
  assert.match(await readAnswer(socket), /^HTTP\/1\.1 201 /);
  await stopped;
});

test("a stop interrupts a long sweep", async (t) => {
  const config = await testConfig(t);
  const first = await createApp(config);
  await first.start();
  await first.stop();
  const names = Array.from({ length: 20_000 }, (_, i) => i.toString(16).padStart(32, "0"));
  for (const name of names) writeFileSync(join(config.dataFolder, "tmp", name), "");
  const second = await createApp(config);
  await second.start();
  await second.stop();
  assert.ok((await storedFiles(config)).length > 1000, "the sweep was not interrupted");
});

test("a stop ends within its limit even if a client stalls", async (t) => {
  const server = await startApp(t, { shutdownTimeoutMs: 300 });
  const user = await server.user();
  const type = { "content-type": "application/json", "content-length": 100 };
  const socket = await beginRequest(server.url, "POST /v1/contacts", user, type);
  socket.write("{");
  await new Promise((resolve) => setTimeout(resolve, 50));
  await server.app.stop();
  assert.equal(socket.destroyed || (await eventually(async () => socket.destroyed)), true);
});
