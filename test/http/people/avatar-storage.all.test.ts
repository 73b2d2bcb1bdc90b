// Pictures of users: with the durability of uploads, on each engine and store, and in commands beside the server.
import assert from "node:assert/strict";
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import sharp from "sharp";
import type { Config } from "../../../src/config/settings.ts";
import { SCOPES } from "../../../src/core/people/tokens.ts";
import { raw, sql } from "../../../src/db/sql.ts";
import { startOn, type TestApp, testConfig } from "../../support/app.ts";
import { form, large, MINE, plain, put, type Shown, setAvatar } from "../../support/avatars.ts";
import { commandLine, tokenOf } from "../../support/command.ts";
import { contentOf, noS3, testBucket } from "../../support/engines/s3.ts";
import { EICAR, testScanner } from "../../support/engines/scanner.ts";
import { eventually, storedFiles } from "../../support/files-on-disk.ts";
import { postgresConfig } from "../../support/on-engines.ts";
import { checkOrphans } from "../../support/orphans.ts";
import { code, done, read, send } from "../../support/people.ts";
import { pngChunk, pngHeader } from "../../support/picture-bytes.ts";
import { picturesWithSecrets, secretsIn } from "../../support/pictures.ts";

interface Place {
  name: string;
  skip: false | string;
  config: (t: TestContext) => Promise<Partial<Config>>;
  /** The number of files in the store. */
  count: (server: TestApp) => Promise<number>;
}

const onDisk = async ({ config }: TestApp) => (await storedFiles(config)).length;
const PLACES: readonly Place[] = [
  { name: "SQLite and a folder", skip: false, config: async () => ({}), count: onDisk },
  { name: "PostgreSQL and a folder", skip: false, config: postgresConfig, count: onDisk },
  {
    name: "PostgreSQL and S3 with redirects",
    skip: noS3,
    config: async (t) => ({ ...(await postgresConfig(t)), store: testBucket(t), redirectFiles: true }),
    count: async ({ config }) => (await contentOf(config.store!)).objects.length,
  },
];

for (const { name, skip, config, count } of PLACES) {
  const start = async (t: TestContext) => startOn(t, { ...(await testConfig(t)), ...(await config(t)) });

  test(`${name}: a picture is served to everybody, without metadata, until another replaces it`, {
    skip,
  }, async (t) => {
    const server = await start(t);
    const ann = await server.user();
    const secret = (await picturesWithSecrets()).find((each) => each.name === "6-progressive.jpg")!;
    const small = await setAvatar(server, ann, secret.bytes);
    assert.match(small, new RegExp(`^${server.url}/v1/avatars/${ann.id}/avt_[0-7][0-9a-z]{25}$`));
    const answer = await fetch(small);
    const headers = Object.fromEntries(answer.headers);
    const shown = Buffer.from(await answer.arrayBuffer());
    assert.deepEqual([answer.status, secretsIn(shown), answer.redirected], [200, [], false]);
    assert.equal((await sharp(shown).metadata()).orientation, 6);
    for (const [name, value] of Object.entries({
      "content-type": "image/jpeg",
      "content-length": String(shown.length),
      "cache-control": "public, max-age=31536000, immutable",
      "x-content-type-options": "nosniff",
      "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
      "cross-origin-resource-policy": "cross-origin",
      "content-disposition": "inline; filename=avatar.jpeg",
      "referrer-policy": "no-referrer",
    }))
      assert.equal(headers[name], value, name);
    assert.equal((await fetch(small, { headers: { "if-none-match": headers.etag! } })).status, 304);
    const head = await fetch(small, { method: "HEAD" });
    assert.deepEqual([head.status, head.headers.get("content-length")], [200, String(shown.length)]);
    assert.equal((await fetch(small, { headers: { range: "bytes=0-3" } })).status, 206);
    assert.equal(
      await count(server),
      server.config.store ? 1 : 0,
      "in a folder, small ones are in the database",
    );

    const pictures = [await large("#357"), await large("#753")];
    let before = small;
    for (const picture of pictures) {
      const now = await setAvatar(server, ann, picture);
      assert.notEqual(now, before);
      assert.equal(await code(fetch(before), 404), "avatar_not_found");
      const stored = await fetch(now);
      assert.deepEqual([stored.status, stored.redirected], [200, false]);
      assert.deepEqual(
        await sharp(Buffer.from(await stored.arrayBuffer()))
          .raw()
          .toBuffer(),
        await sharp(picture).raw().toBuffer(),
      );
      assert.ok(await eventually(async () => (await count(server)) === 1), "the one before is erased");
      before = now;
    }
    await checkOrphans(server.app.core.db);
    await done(send(server, ann, "DELETE", MINE));
    await done(send(server, ann, "DELETE", MINE));
    assert.equal(await code(fetch(before), 404), "avatar_not_found");
    const me = await read<Shown>(send(server, ann, "GET", "/v1/me"), 200);
    assert.equal(me.avatar_url, null);
    assert.ok(await eventually(async () => (await count(server)) === 0));
    const last = await setAvatar(server, ann, await plain(9));
    const elsewhere = { avatar_url: "https://example.com/ann.png" };
    await read(send(server, ann, "PUT", "/v1/me", elsewhere), 200);
    assert.equal(await code(fetch(last), 404), "avatar_not_found");
    await done(send(server, ann, "DELETE", MINE));
    assert.equal(
      (await read<Shown>(send(server, ann, "GET", "/v1/me"), 200)).avatar_url,
      elsewhere.avatar_url,
    );
    await assertNoRows(server);
  });

  test(`${name}: erasing a user erases the picture`, { skip }, async (t) => {
    const server = await start(t);
    const admin = await server.user({ scopes: SCOPES });
    for (const picture of [await plain(50), await large("#357")]) {
      const ann = await server.user();
      const url = await setAvatar(server, ann, picture);
      const stored = Buffer.from(await (await fetch(url)).arrayBuffer());
      await done(send(server, admin, "DELETE", `/v1/users/${ann.id}`));
      assert.equal(await code(fetch(url), 404), "avatar_not_found");
      assert.ok(await eventually(async () => (await count(server)) === 0));
      const isGone = async () => !(await folderBytes(server)).includes(stored.subarray(0, 200));
      if (!server.config.store) assert.ok(await eventually(isGone));
    }
    await assertNoRows(server);
    await checkOrphans(server.app.core.db);
  });
}

test("a crash before the commit keeps the old picture, and one after it the new one", async (t) => {
  const config = await testConfig(t);
  const first = await startOn(t, config);
  const ann = await first.user();
  const old = await setAvatar(first, ann, await large("#357"));
  const { db } = first.app.core;
  const { write } = db;
  db.write = ((name: "deleteAvatar", input: never) =>
    String(name) === "setAvatar"
      ? Promise.reject(new Error("lost"))
      : write.call(db, name, input)) as typeof write;
  assert.equal((await put(first, ann, await large("#753"))).status, 500);
  assert.equal(await onDisk(first), 3, "the old file, the new one and its intent");
  await first.app.stop();

  const second = await startOn(t, config);
  assert.ok(await eventually(async () => (await onDisk(second)) === 1));
  assert.equal((await fetch(old.replace(first.url, second.url))).status, 200);
  const { create } = second.app.core.blobs;
  second.app.core.blobs.create = async (key) => {
    const writer = await create.call(second.app.core.blobs, key);
    writer.settle = async () => {};
    return writer;
  };
  const now = await setAvatar(second, ann, await large("#753"));
  assert.ok(await eventually(async () => (await onDisk(second)) === 2), "the new file and its intent");
  await second.app.stop();

  const third = await startOn(t, config);
  assert.ok(await eventually(async () => (await onDisk(third)) === 1));
  assert.equal((await fetch(now.replace(second.url, third.url))).status, 200, "the sweep keeps it");
});

test("parley check names missing and damaged pictures, and backups and moves have them all", async (t) => {
  const command = await commandLine(t);
  let server = await command.serve();
  const headers = { authorization: `Bearer ${tokenOf(server)}` };
  const set = async (who: Record<string, string>, picture: Buffer) => {
    const { id, avatar_url } = await read<{ id: string; avatar_url: string }>(
      fetch(command.url + MINE, { method: "PUT", headers: who, body: form(picture) }),
      200,
    );
    return { id, path: new URL(avatar_url).pathname };
  };
  const admin = await set(headers, await large("#357"));
  await command.run("user", "add", "bob");
  const token = (await command.run("token", "create", "bob")).stdout.trim();
  const bob = await set({ authorization: `Bearer ${token}` }, await plain(9));
  await server.stop();
  const healthy = await command.run("check");
  assert.equal(healthy.code, 0, healthy.stdout + healthy.stderr);

  const isServed = async (of: typeof command) => {
    server = await of.serve();
    for (const { path } of [admin, bob]) assert.equal((await fetch(of.url + path)).status, 200, path);
    await server.stop();
  };
  const backup = join(command.env.HOME!, "backup");
  assert.match((await command.run("backup", backup)).stdout, /Backed up 2 files.*0 findings/s);
  const restored = await commandLine(t);
  assert.equal((await restored.run("restore", backup)).code, 0);
  await isServed(restored);
  const moved = await commandLine(t);
  const to = moved.env.PARLEY_DATA!;
  const there = await command.run("move", "--to-database", to, "--to-store", to);
  assert.match(there.stdout, /Moved and compared 1 file of/, there.stderr);
  await isServed(moved);

  const [blob] = await storedFiles({ dataFolder: command.env.PARLEY_DATA! });
  await rm(blob!);
  const db = new DatabaseSync(join(command.env.PARLEY_DATA!, "parley.db"));
  db.exec("UPDATE small_files SET bytes = x'00'");
  db.close();
  const { code: ended, stdout } = await command.run("check", "--json");
  const found = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.equal(ended, 1);
  const kinds = found.slice(0, -1).map(({ kind, avatar_id, uploader_id }) => [kind, avatar_id, uploader_id]);
  const expected = [
    ["missing", admin.path.split("/").at(-1), admin.id],
    ["size", bob.path.split("/").at(-1), bob.id],
  ];
  assert.deepEqual(kinds.sort(), expected);
  for (const { hint } of found.slice(0, -1)) assert.match(hint, /DELETE \/v1\/users\/usr_\w+\/avatar\./);
});

test("a picture in which the scanner finds something is refused, or withdrawn by a later scan", async (t) => {
  const command = await commandLine(t, { PARLEY_MAX_FILE_SIZE: "1MB" });
  const served = await command.serve();
  const headers = { authorization: `Bearer ${tokenOf(served)}` };
  const set = () => {
    const picture = Buffer.concat([pngHeader(1, 1), pngChunk("IDAT", Buffer.from(EICAR)), pngChunk("IEND")]);
    return fetch(command.url + MINE, { method: "PUT", headers, body: form(picture) });
  };
  const { avatar_url } = await read<{ avatar_url: string }>(set(), 200);
  const scanner = await testScanner(t);
  command.env.PARLEY_SCAN = scanner.url;
  assert.match((await command.run("check", "--scan")).stdout, /1 finding/);
  assert.equal(await code(fetch(avatar_url), 404), "avatar_not_found");
  await served.stop();
  const scanning = await command.serve();
  assert.equal(await code(set(), 422), "file_infected");
  await scanning.stop();
});

async function assertNoRows({ app }: TestApp): Promise<void> {
  for (const table of ["avatars", "small_files", "tombstones"]) {
    const rows = () => app.core.db.all(sql`SELECT 1 AS one FROM ${raw(table)}`);
    assert.ok(await eventually(async () => (await rows()).length === 0), table);
  }
}

/** Returns the bytes of all files of the data folder, the database with its log included. */
async function folderBytes({ config }: TestApp): Promise<Buffer> {
  const entries = await readdir(config.dataFolder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  return Buffer.concat(await Promise.all(files.map((path) => readFile(path))));
}
