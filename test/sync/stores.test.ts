// What each store must do. IndexedDB is in browser.all.test.ts.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { memoryStore, type Store } from "../../packages/parley-sync/src/index.ts";
import { sqliteStore } from "../../packages/parley-sync/src/sqlite.ts";
import { sharedApp } from "../support/app.ts";
import { eventually } from "../support/files-on-disk.ts";
import { pair, say } from "../support/people.ts";
import { fillStore, openDevice, settled, show } from "./device.ts";

const server = sharedApp();

async function folderOf(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "parley-sync-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function checkStore(store: Store): Promise<void> {
  await store.write(
    new Map<string, object>([
      ["a/1", { text: "one" }],
      ["a/2", { text: "two" }],
      ["b/1", new Blob(["content"], { type: "text/plain" })],
    ]),
  );
  await store.write(
    new Map<string, object | null>([
      ["a/1", { text: "first" }],
      ["a/2", null],
    ]),
  );
  assert.deepEqual(await store.scan("a/"), [["a/1", { text: "first" }]]);
  assert.equal((await store.scan("")).length, 2);
  assert.equal(await store.get("a/2"), undefined);
  const blob = (await store.get("b/1")) as Blob;
  assert.deepEqual([blob.type, await blob.text()], ["text/plain", "content"]);
}

test("the store in memory keeps entries", async () => {
  const store = memoryStore();
  await checkStore(store);
  await store.erase();
  assert.deepEqual(await store.scan(""), []);
});

test("the store in SQLite keeps entries in its file, and nothing of them once they are erased", async (t) => {
  const folder = await folderOf(t);
  const path = join(folder, "parley.db");
  const store = sqliteStore(path);
  await checkStore(store);
  await store.close();
  const again = sqliteStore(path);
  assert.deepEqual(await again.get("a/1"), { text: "first" });
  await again.erase();
  assert.deepEqual(await again.scan(""), []);
  for (const name of await readdir(folder)) {
    const bytes = await readFile(join(folder, name), "latin1");
    assert.ok(!bytes.includes("first") && !bytes.includes("content"), name);
  }
  await again.close();
});

test("a SQLite file is open in one store at a time, and free once its process is killed", async (t) => {
  const path = join(await folderOf(t), "parley.db");
  const module = JSON.stringify(import.meta.resolve("../../packages/parley-sync/src/sqlite.ts"));
  const code = `const { sqliteStore } = await import(${module});
    globalThis.store = sqliteStore(process.argv[1]);
    console.log("open");
    setInterval(() => {}, 1000);`;
  const holder = spawn(process.execPath, ["--no-warnings", "--input-type=module", "-e", code, path]);
  t.after(() => holder.kill("SIGKILL"));
  await once(holder.stdout, "data");
  assert.throws(() => sqliteStore(path), { errcode: 5 });
  holder.kill("SIGKILL");
  await once(holder, "close");
  const store = sqliteStore(path);
  assert.throws(() => sqliteStore(path), { errcode: 5 });
  await checkStore(store);
  await store.close();
});

test("a process continues with the SQLite file of the one before", async (t) => {
  const app = await server();
  const { ann, bob, conversation } = await pair(app);
  await say(app, bob, conversation, "hello");
  const path = join(await folderOf(t), "parley.db");
  const first = await openDevice(t, { url: app.url, token: ann.token }, { store: sqliteStore(path) });
  const view = show(t, first, conversation);
  assert.ok(await eventually(async () => view.getSnapshot().messages.length === 1));
  await first.sync.close();
  const offline = await openDevice(
    t,
    { url: "http://127.0.0.1:1", token: ann.token },
    { store: sqliteStore(path) },
  );
  const kept = show(t, offline, conversation);
  assert.ok(await eventually(async () => kept.getSnapshot().messages.length === 1));
  assert.equal(offline.sync.inbox().getSnapshot().items[0]!.unread_count, 1);
  const file = new File(["from the device"], "note.txt", { type: "text/plain" });
  offline.sync.send(conversation, { files: [file] });
  await offline.sync.close();
  const back = await openDevice(t, { url: app.url, token: ann.token }, { store: sqliteStore(path) });
  assert.ok(await settled(back));
  const [message] = (await back.client.messages.list({ conversation_id: conversation })).data;
  const download = await back.client.attachments.download(message!.attachments[0]!);
  assert.equal(await (await download.blob()).text(), "from the device");
});

test("rows of an SQLite file that are no JSON are dropped, and read again", async (t) => {
  const app = await server();
  const { ann, bob, conversation } = await pair(app);
  await say(app, bob, conversation, "hello");
  const path = join(await folderOf(t), "parley.db");
  const at = { url: app.url, token: ann.token };
  await fillStore(t, at, sqliteStore(path));
  const database = new DatabaseSync(path);
  database.exec("UPDATE entries SET json = '{' WHERE key LIKE 'talk/%' OR key LIKE 'contact/%'");
  database.exec("INSERT INTO entries VALUES ('user/usr_1', '{', NULL, NULL)");
  database.close();
  const store = sqliteStore(path);
  const back = await openDevice(t, at, { store });
  assert.ok(await settled(back));
  const entry = () => back.sync.inbox().getSnapshot().items[0];
  assert.ok(await eventually(async () => entry()?.last_message?.text === "hello"));
  assert.equal(back.sync.contacts().getSnapshot().items.length, 1);
  assert.deepEqual(await store.scan("user/"), []);
});

test("a copy of too many messages evicts the oldest, which are read again while they are shown", async (t) => {
  const app = await server();
  const { ann, bob, conversation } = await pair(app);
  const limits = { maxMessages: 10 };
  const store = memoryStore();
  const device = await openDevice(t, { url: app.url, token: ann.token }, { store, ...limits });
  assert.ok(await settled(device));
  for (let i = 0; i < 25; i++) await say(app, bob, conversation, String(i));
  const count = async () => (await store.scan("message/")).length;
  assert.ok(
    await eventually(async () => {
      const [entry] = device.sync.inbox().getSnapshot().items;
      return entry?.last_message?.text === "24" && (await count()) === 10;
    }),
  );
  const view = device.sync.conversation(conversation);
  const end = view.subscribe(() => {});
  assert.ok(await eventually(async () => view.getSnapshot().messages.length === 10));
  await view.loadOlder();
  assert.deepEqual(
    view.getSnapshot().messages.map(({ text }) => text),
    Array.from({ length: 25 }, (_, i) => String(i)),
  );
  end();
  await say(app, bob, conversation, "25");
  assert.ok(await eventually(async () => (await count()) === 10));
});

test("a copy that is too large keeps the conversations with the most recent messages", async (t) => {
  const app = await server();
  const { ann, bob, conversation } = await pair(app);
  const notes = await openDevice(t, { url: app.url, token: ann.token });
  const { conversation_id } = await notes.client.me();
  await notes.client.messages.create({ conversation_id, text: "x".repeat(9_000) });
  const store = memoryStore();
  const device = await openDevice(t, { url: app.url, token: ann.token }, { store, maxBytes: 5_000 });
  assert.ok(await settled(device));
  await say(app, bob, conversation, "small");
  assert.ok(
    await eventually(async () => {
      const kept = await store.scan("message/");
      return kept.length === 1 && kept[0]![0].includes(conversation);
    }),
  );
});
