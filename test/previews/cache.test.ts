// The cache folder of previews.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { OperatorError } from "../../src/errors.ts";
import { PreviewCache } from "../../src/previews/cache.ts";
import { createIds } from "../../src/util/ids.ts";

const NOW = Date.UTC(2026, 0, 1);
const HOUR_MS = 60 * 60 * 1000;
const newId = createIds(
  () => NOW,
  (bytes) => void bytes.fill(7),
);
const ids = Array.from({ length: 10 }, () => newId("att"));
const [a, b, c, d] = ids as [string, string, string, string];

async function testFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "parley-previews-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return join(folder, "of", "previews");
}

const open = (folder: string, maxBytes = 1_000_000, clock = () => NOW) =>
  PreviewCache.open({ folder, maxBytes }, clock);
const bytesOf = (length: number, value: number) => new Uint8Array(length).fill(value);
const names = async (folder: string) => (await readdir(folder)).sort();

test("a stored preview survives a restart, and other users of the machine cannot read it", async (t) => {
  const folder = await testFolder(t);
  const cache = await open(folder);
  assert.equal(await cache.find(a, 320), undefined);
  await cache.store(a, 320, bytesOf(5000, 1));
  await cache.store(a, 640, bytesOf(0, 0));
  for (const each of [cache, await open(folder)]) {
    assert.deepEqual(new Uint8Array((await each.find(a, 320))!), bytesOf(5000, 1));
    assert.equal((await each.find(a, 640))!.length, 0);
    assert.equal(await each.find(a, 1280), undefined);
    assert.equal(await each.find(b, 320), undefined);
    assert.deepEqual([...each.files()], [a]);
  }
  assert.deepEqual(await names(folder), [`${a}-320.webp`, `${a}-640.webp`]);
  assert.equal((await stat(folder)).mode & 0o777, 0o700);
  assert.equal((await stat(join(folder, `${a}-320.webp`))).mode & 0o777, 0o600);
});

test("a full cache removes the least recently used previews, and counts empty files", async (t) => {
  const folder = await testFolder(t);
  // Room for four files of one block each.
  const cache = await open(folder, 4 * 4096);
  await cache.store(a, 320, bytesOf(4096, 1));
  await cache.store(b, 320, bytesOf(0, 0));
  await cache.store(c, 320, bytesOf(1, 1));
  await cache.store(d, 320, bytesOf(100, 1));
  assert.equal((await names(folder)).length, 4);
  await cache.find(a, 320);
  await cache.store(ids[4]!, 320, bytesOf(10, 1));
  assert.deepEqual(await names(folder), [a, c, d, ids[4]!].map((id) => `${id}-320.webp`).sort());
  assert.equal(await cache.find(b, 320), undefined);
  await cache.store(ids[5]!, 320, bytesOf(4097, 1));
  assert.deepEqual(await names(folder), [a, ids[4]!, ids[5]!].map((id) => `${id}-320.webp`).sort());
  // Storing the same preview again takes no more room.
  for (let i = 0; i < 5; i++) await cache.store(a, 320, bytesOf(4096, i));
  assert.equal((await names(folder)).length, 3);
  await cache.store(ids[6]!, 320, bytesOf(5 * 4096, 1));
  assert.deepEqual(await names(folder), []);
});

test("the use of a preview is recorded once an hour and survives a restart", async (t) => {
  const folder = await testFolder(t);
  let now = NOW;
  const cache = await open(folder, 1_000_000, () => now);
  for (const id of [a, b, c]) await cache.store(id, 320, bytesOf(1, 1));
  const past = new Date(NOW - HOUR_MS);
  for (const id of [a, b, c]) await utimes(join(folder, `${id}-320.webp`), past, past);
  const mtimeOf = async (id: string) => (await stat(join(folder, `${id}-320.webp`))).mtimeMs;
  now += HOUR_MS - 1;
  await cache.find(a, 320);
  assert.equal(await mtimeOf(a), past.getTime());
  now += 1;
  await cache.find(a, 320);
  assert.equal(await mtimeOf(a), now);
  const marked = now;
  now += 1000;
  await cache.find(a, 320);
  assert.equal(await mtimeOf(a), marked);
  // With a smaller limit one preview stays, and one more fits.
  const smaller = await open(folder, 2 * 4096, () => now);
  await smaller.store(d, 320, bytesOf(1, 1));
  assert.deepEqual(await names(folder), [a, d].map((id) => `${id}-320.webp`).sort());
});

test("a lost or unreadable preview can be stored again", async (t) => {
  const folder = await testFolder(t);
  const cache = await open(folder);
  await cache.store(a, 320, bytesOf(1, 1));
  await rm(join(folder, `${a}-320.webp`));
  assert.equal(await cache.find(a, 320), undefined);
  assert.deepEqual([...cache.files()], []);
  await rm(folder, { recursive: true });
  await assert.rejects(cache.store(a, 320, bytesOf(1, 1)), { code: "ENOENT" });
  await mkdir(folder);
  await cache.store(a, 320, bytesOf(1, 2));
  assert.deepEqual(new Uint8Array((await cache.find(a, 320))!), bytesOf(1, 2));
});

test("leftovers of a crash are removed, and unrelated files are kept", async (t) => {
  const folder = await testFolder(t);
  const cache = await open(folder, 10_000_000);
  await cache.store(a, 320, bytesOf(1, 1));
  const others = ["notes.txt", "att_x-320.webp", `${b}-320.webp.bak`, `x${b}-320.webp`, `${b}-320.png`];
  for (const name of [...others, `${b}-320.webp`, `${c}-640.webp.new`])
    await writeFile(join(folder, name), "x");
  await mkdir(join(folder, "folder"));
  // A preview that is being written right now.
  const storing = cache.store(d, 320, bytesOf(2_000_000, 1));
  await cache.removeLeftovers();
  await storing;
  assert.deepEqual(await names(folder), [...others, "folder", `${a}-320.webp`, `${d}-320.webp`].sort());
  assert.equal(await readFile(join(folder, "notes.txt"), "utf8"), "x");
});

test("all previews of an attachment can be removed", async (t) => {
  const folder = await testFolder(t);
  const cache = await open(folder);
  for (const id of [a, b, c]) for (const width of [320, 640]) await cache.store(id, width, bytesOf(1, 1));
  await cache.remove(new Set([a, c]));
  assert.deepEqual(await names(folder), [`${b}-320.webp`, `${b}-640.webp`]);
  assert.equal(await cache.find(a, 320), undefined);
  assert.deepEqual([...cache.files()], [b]);
});

test("an unusable folder is refused", async (t) => {
  const folder = await testFolder(t);
  await mkdir(join(folder, ".."), { recursive: true });
  await writeFile(folder, "");
  await assert.rejects(
    open(folder),
    (error) =>
      error instanceof OperatorError &&
      error.message.startsWith(`PARLEY_PREVIEWS=${folder} cannot be used: `),
  );
});
