import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { rm, truncate, writeFile } from "node:fs/promises";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import type { Limits } from "../../../src/config/limits.ts";
import { SCOPES } from "../../../src/core/people/tokens.ts";
import { sql } from "../../../src/db/sql.ts";
import {
  sharedApp,
  startApp,
  startOn,
  type TestApp,
  type TestUser,
  testConfig,
  upload,
} from "../../support/app.ts";
import { noS3, testBucket } from "../../support/engines/s3.ts";
import { eventually, storedFiles } from "../../support/files-on-disk.ts";
import { addFiles } from "../../support/many-files.ts";
import { startOnEngine } from "../../support/on-engines.ts";
import { code, pair, read, send } from "../../support/people.ts";
import { refusals, scenarios } from "../../support/scenarios.ts";
import { noPython, readByPython, unzip } from "../../support/zip.ts";

const MIB = 1024 * 1024;

interface Archive {
  url: string;
  filename: string;
  file_count: number;
  size: number;
  expires_at: number;
}

interface Made {
  id: string;
  created_at: number;
  file_url: string;
}

async function give(
  server: TestApp,
  who: TestUser,
  name: string,
  bytes: string | Uint8Array<ArrayBuffer>,
  conversation_id?: string,
): Promise<Made> {
  const form = conversation_id === undefined ? {} : { conversation_id };
  return read<Made>(upload(server.url, who, new File([bytes], name), form), 201);
}

const pack = (server: TestApp, who: TestUser, files: object) =>
  read<Archive>(send(server, who, "POST", "/v1/archives", files), 201);

async function unpack(url: string): Promise<Record<string, string>> {
  const answer = await fetch(url);
  assert.equal(answer.status, 200);
  const bytes = Buffer.from(await answer.arrayBuffer());
  assert.equal(answer.headers.get("content-length"), String(bytes.length));
  return Object.fromEntries(unzip(bytes).map(({ name, bytes }) => [name, bytes.toString()]));
}

const ENGINES: Record<string, (t: TestContext, limits?: Partial<Limits>) => Promise<TestApp>> = {
  "SQLite and a disk": (t, limits) => startApp(t, limits),
  "PostgreSQL and a disk": (t, limits) => startOnEngine(t, "PostgreSQL", limits),
};
if (!noS3)
  ENGINES["SQLite and S3"] = async (t, limits) =>
    startOn(t, { ...(await testConfig(t, limits)), store: testBucket(t) });

for (const [engines, start] of Object.entries(ENGINES)) {
  test(`${engines}: an archive has files of any size in the requested order`, async (t) => {
    const server = await start(t);
    const user = await server.user();
    const sizes = [0, 1, 32 * 1024, 32 * 1024 + 1, 256 * 1024, 256 * 1024 + 1, 9 * MIB];
    const contents = sizes.map((size) => randomBytes(size));
    const made: Made[] = [];
    for (const bytes of contents) made.push(await give(server, user, "a.bin", bytes));
    const ids = made.map(({ id }) => id).reverse();
    const archive = await pack(server, user, { attachment_ids: [...ids, ids[0]] });
    assert.equal(archive.file_count, sizes.length);
    assert.match(archive.filename, /^files-\d{4}-\d\d-\d\d\.zip$/);
    const answer = await fetch(archive.url);
    assert.equal(answer.headers.get("content-length"), String(archive.size));
    assert.equal(answer.headers.get("content-type"), "application/zip");
    assert.equal(answer.headers.get("content-disposition"), `attachment; filename=${archive.filename}`);
    assert.equal(answer.headers.get("cache-control"), "private, no-store");
    assert.equal(answer.headers.get("referrer-policy"), "no-referrer");
    const bytes = Buffer.from(await answer.arrayBuffer());
    const files = unzip(bytes);
    assert.deepEqual(
      files.map(({ name }) => name),
      ["a.bin", ...[2, 3, 4, 5, 6, 7].map((n) => `a (${n}).bin`)],
    );
    for (const [i, { bytes, hasDescriptor, modified }] of files.reverse().entries()) {
      assert.ok(bytes.equals(contents[i]!), String(sizes[i]));
      assert.equal(hasDescriptor, false);
      assert.equal(modified, made[i]!.created_at);
    }
    if (noPython) return t.diagnostic(noPython);
    const path = join(server.config.dataFolder, "..", "a.zip");
    await writeFile(path, bytes);
    assert.equal(readByPython(path).bad, null);
  });

  test(`${engines}: an archive of a conversation has the files its creator sees at the download, and none newer`, async (t) => {
    const server = await start(t);
    const { ann, bob, conversation } = await pair(server);
    await give(server, ann, "notes", "not of this conversation");
    const [first, second] = [
      await give(server, ann, "1.txt", "one", conversation),
      await give(server, bob, "2.txt", "two", conversation),
    ];
    await give(server, bob, "3.txt", "three", conversation);
    const [mine, his] = [
      await pack(server, ann, { conversation_id: conversation }),
      await pack(server, bob, { conversation_id: conversation }),
    ];
    assert.equal(mine.file_count, 3);
    const all = { "1.txt": "one", "2.txt": "two", "3.txt": "three" };
    assert.deepEqual(Object.entries(await unpack(mine.url)), Object.entries(all));
    assert.deepEqual(await unpack(his.url), all);
    await give(server, bob, "4.txt", "four", conversation);
    await send(server, bob, "DELETE", `/v1/attachments/${second.id}`);
    await send(server, ann, "PUT", `/v1/attachments/${first.id}`, { filename: "renamed.txt" });
    assert.deepEqual(await unpack(mine.url), { "renamed.txt": "one", "3.txt": "three" });
    // The member who leaves sees none of the files, and the other keeps them.
    const [contact] = (await read<{ data: { id: string }[] }>(send(server, ann, "GET", "/v1/contacts"), 200))
      .data;
    await send(server, ann, "DELETE", `/v1/contacts/${contact!.id}`);
    assert.equal(await code(fetch(mine.url), 404), "attachment_not_found");
    assert.deepEqual(await unpack(his.url), { "renamed.txt": "one", "3.txt": "three" });
    const admin = await server.user({ scopes: SCOPES });
    await send(server, admin, "DELETE", `/v1/users/${bob.id}`);
    assert.equal(await code(fetch(his.url), 404), "attachment_not_found");
  });
}

test("an archive of an erased user is 404 even before the rows are erased", async (t) => {
  const server = await startApp(t);
  const { ann, conversation } = await pair(server);
  await give(server, ann, "1.txt", "one", conversation);
  const { url } = await pack(server, ann, { conversation_id: conversation });
  // As between two steps of erasing.
  await server.app.stop();
  using db = new DatabaseSync(join(server.config.dataFolder, "parley.db"));
  db.exec(`PRAGMA foreign_keys = OFF; DELETE FROM users WHERE id = '${ann.id}'`);
  const again = await startOn(t, server.config);
  const members = await again.app.core.db.all(sql`SELECT 1 AS one FROM members WHERE user_id = ${ann.id}`);
  assert.ok(members.length > 0);
  assert.equal(await code(fetch(url.replace(server.url, again.url)), 404), "attachment_not_found");
});

test("HEAD of an archive has the size and counts no download", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const { id } = await give(server, user, "a.txt", "hello");
  const { url, size } = await pack(server, user, { attachment_ids: [id] });
  const head = await fetch(url, { method: "HEAD" });
  assert.deepEqual(
    [head.status, head.headers.get("content-length"), await head.text()],
    [200, String(size), ""],
  );
  assert.equal(server.app.core.downloadLog.take().counted.length, 0);
  assert.equal(server.app.core.runningArchives.size, 0);
  await unpack(url);
  assert.deepEqual(server.app.core.downloadLog.take().counted, [
    { attachmentId: id, address: "127.0.0.1", count: 1 },
  ]);
});

test("an archive of a conversation has up to maxArchiveFiles files", async (t) => {
  const server = await startApp(t, { maxArchiveFiles: 600 });
  const { ann, bob, conversation } = await pair(server);
  const { id } = await give(server, ann, "a.txt", "", conversation);
  addFiles(server, ann.id, id, "0000", 599);
  const { file_count, url } = await pack(server, ann, { conversation_id: conversation });
  assert.equal(file_count, 600);
  assert.equal(Object.keys(await unpack(url)).length, 600);
  await give(server, bob, "b.txt", "", conversation);
  const refused = await read<{ code: string; detail: string }>(
    send(server, ann, "POST", "/v1/archives", { conversation_id: conversation }),
    409,
  );
  assert.equal(refused.code, "count_limit_reached");
  assert.match(refused.detail, /more than 600 files/);
});

test("the address of an archive of 250 files is short enough for proxies", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const { id } = await give(server, user, "a.txt", "");
  addFiles(server, user.id, id, "0000", 250);
  const rows = await server.app.core.db.all<{ id: string }>(sql`SELECT id FROM attachments ORDER BY id`);
  const ids = rows.map((row) => row.id);
  assert.equal(ids.length, 251);
  const { url } = await pack(server, user, { attachment_ids: ids.slice(0, 250) });
  // nginx refuses request lines of 8,192 bytes.
  assert.ok(url.length < 8100, String(url.length));
  assert.equal(Object.keys(await unpack(url)).length, 250);
  const body = new URLSearchParams(
    ids.slice(0, 250).map((each): [string, string] => ["attachment_ids", each]),
  );
  const byForm = await fetch(`${server.url}/v1/archives`, { method: "POST", headers: user.headers, body });
  assert.equal((await read<Archive>(Promise.resolve(byForm), 201)).url, url);
  assert.equal(
    await code(send(server, user, "POST", "/v1/archives", { attachment_ids: ids }), 400),
    "invalid_parameter",
  );
});

test("a file without a stored checksum is archived with a data descriptor", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const bytes = randomBytes(300_000);
  const { id } = await give(server, user, "old.bin", bytes);
  const { id: other } = await give(server, user, "new.bin", bytes);
  await server.app.stop();
  using db = new DatabaseSync(join(server.config.dataFolder, "parley.db"));
  db.exec(`UPDATE attachments SET crc32 = NULL WHERE id = '${id}'`);
  const again = await startOn(t, server.config);
  const { url, size } = await pack(again, user, { attachment_ids: [id, other] });
  const archive = Buffer.from(await (await fetch(url)).arrayBuffer());
  assert.equal(archive.length, size);
  const [old, known] = unzip(archive);
  assert.ok(old!.bytes.equals(bytes) && known!.bytes.equals(bytes));
  assert.deepEqual([old!.hasDescriptor, known!.hasDescriptor], [true, false]);
});

/** Returns how many bytes of an answer arrived before its connection closed. */
async function come(url: string): Promise<{ status: number; promised: number; came: number }> {
  const [answer] = (await once(httpRequest(url).end(), "response")) as [IncomingMessage];
  let came = 0;
  const chunks = answer.on("data", (chunk) => {
    came += chunk.length;
  });
  await new Promise((resolve) => chunks.on("end", resolve).on("error", resolve));
  return { status: answer.statusCode!, promised: Number(answer.headers["content-length"]), came };
}

for (const [damage, hurt] of [
  ["missing", (path: string) => rm(path)],
  ["cut", (path: string) => truncate(path, 100)],
  ["changed", (path: string) => writeFile(path, randomBytes(MIB))],
] as const) {
  test(`a ${damage} file aborts the download of the archive`, async (t) => {
    const server = await startApp(t);
    const user = await server.user();
    const [before, hit, after] = [
      await give(server, user, "before", "x"),
      await give(server, user, "hit", randomBytes(MIB)),
      await give(server, user, "after", "y"),
    ];
    const { url, size } = await pack(server, user, { attachment_ids: [before.id, hit.id, after.id] });
    const [path] = await storedFiles(server.config);
    await hurt(path!);
    const { status, promised, came } = await come(url);
    assert.deepEqual([status, promised], [200, size]);
    assert.ok(came < size - 100, `${came} of ${size}`);
    await assert.rejects(fetch(url).then((answer) => answer.arrayBuffer()));
    assert.ok(await eventually(async () => server.app.core.runningArchives.size === 0));
  });
}

test("one more concurrent archive than the limit is 429, and an aborted one ends at once", async (t) => {
  const server = await startApp(t, { archivesPerUser: 2 });
  const [user, other] = [await server.user(), await server.user()];
  const large = new Uint8Array(30 * MIB);
  const archive = await pack(server, user, { attachment_ids: [(await give(server, user, "a", large)).id] });
  const another = await pack(server, other, { attachment_ids: [(await give(server, other, "b", "b")).id] });
  const stalled = [httpRequest(archive.url).end(), httpRequest(archive.url).end()];
  for (const each of stalled) await once(each, "response");
  const refused = await fetch(archive.url);
  assert.equal(refused.headers.get("retry-after"), "5");
  assert.equal(await code(Promise.resolve(refused), 429), "rate_limited");
  assert.deepEqual(await unpack(another.url), { b: "b" });
  for (const each of stalled) each.destroy();
  assert.ok(await eventually(async () => server.app.core.runningArchives.size === 0));
  assert.equal((await fetch(archive.url, { method: "HEAD" })).status, 200);
});

test("an archive that nobody reads stops reading files", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const bytes = randomBytes(20 * MIB);
  const made: Made[] = [];
  for (let i = 0; i < 5; i++) made.push(await give(server, user, `${i}.bin`, bytes));
  const { url, size } = await pack(server, user, { attachment_ids: made.map(({ id }) => id) });
  const [answer] = (await once(httpRequest(url).end(), "response")) as [IncomingMessage];
  answer.pause();
  await new Promise((resolve) => setTimeout(resolve, 1000));
  const noted = server.app.core.downloadLog.take().counted.length;
  assert.ok(noted < made.length, `${noted} files were opened`);
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  const archive = Buffer.concat(chunks);
  assert.equal(archive.length, size);
  for (const file of unzip(archive)) assert.ok(file.bytes.equals(bytes), file.name);
});

scenarios(
  sharedApp(),
  async (server) => {
    const { ann, conversation } = await pair(server);
    return {
      server,
      people: { ann },
      ids: { ann: ann.id, conversation, file: (await give(server, ann, "a", "a")).id },
    };
  },
  [
    ...refusals("POST /v1/archives", 400, "missing_parameter", [[{}, "attachment_ids"]]),
    ...refusals("POST /v1/archives", 400, "invalid_parameter", [
      [{ attachment_ids: ["<file>"], conversation_id: "<conversation>" }, "conversation_id"],
      ...[[], "<file>", [1], ["<ann>"]].map((ids) => [{ attachment_ids: ids }, "attachment_ids"] as const),
    ]),
    ...refusals("POST /v1/archives", 404, "attachment_not_found", [
      [{ attachment_ids: ["<file>", "att_00000000000000000000000000"] }, "attachment_ids"],
      // That conversation has no files.
      [{ conversation_id: "<conversation>" }, "conversation_id"],
    ]),
    ...refusals("POST /v1/archives", 404, "conversation_not_found", [
      [{ conversation_id: "x" }, "conversation_id"],
    ]),
  ],
);
