import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { type TestContext, test } from "node:test";
import type { BlobStore, BlobWriter } from "../../../src/blobs/store.ts";

/** A store under test. `crash` drops the state that a dead process loses, and opens the same files again. */
export interface StoreUnderTest {
  store: BlobStore;
  crash(): Promise<BlobStore>;
}

type Open<T> = (t: TestContext) => Promise<T>;

const newKey = () => randomBytes(16).toString("hex");
const live = async () => true;
const dead = async () => false;

async function put(store: BlobStore, bytes: Buffer): Promise<BlobWriter> {
  const writer = await store.create(newKey());
  for (let at = 0; at < bytes.length; at += 70_000) await writer.write(bytes.subarray(at, at + 70_000));
  await writer.store();
  return writer;
}

/** Copies each chunk, which is valid only until the next one. */
async function bytesOf(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const copies: Uint8Array[] = [];
  for await (const chunk of chunks) copies.push(new Uint8Array(chunk));
  return Buffer.concat(copies);
}

async function read(store: BlobStore, key: string, size: number): Promise<Buffer> {
  return bytesOf(await store.read(key, 0, size - 1));
}

async function keysOf(store: BlobStore): Promise<(string | null)[]> {
  const found: (string | null)[] = [];
  for await (const entries of store.list()) found.push(...entries.map((entry) => entry.key));
  return found.sort();
}

/** The rules of every blob store. `skip` is the reason why one cannot be tested here. */
export function blobContract(
  name: string,
  open: Open<Pick<StoreUnderTest, "store">>,
  skip: string | false = false,
): void {
  const contract: Contract = (rule, check) => test(`${name}: ${rule}`, { skip }, check);
  writerContract(contract, open);
  readerContract(contract, open);
}

type Contract = (rule: string, check: (t: TestContext) => Promise<void>) => void;

function writerContract(contract: Contract, open: Open<Pick<StoreUnderTest, "store">>): void {
  contract("a stored blob is read back, whole and by range", async (t) => {
    const { store } = await open(t);
    const bytes = randomBytes(1_000_001);
    const { key } = await put(store, bytes);
    assert.deepEqual(await read(store, key, bytes.length), bytes);
    for (const [start, end] of [
      [0, 0],
      [1, 1],
      [999_999, 1_000_000],
      [262_143, 262_144],
      [500, 700_000],
    ] as const) {
      assert.deepEqual(await bytesOf(await store.read(key, start, end)), bytes.subarray(start, end + 1));
    }
  });

  contract("an empty blob can be stored and removed", async (t) => {
    const { store } = await open(t);
    const writer = await put(store, Buffer.alloc(0));
    await writer.settle();
    await store.remove(writer.key);
  });

  contract("keys are unique", async (t) => {
    const { store } = await open(t);
    const writers = await Promise.all(Array.from({ length: 50 }, () => store.create(newKey())));
    assert.equal(new Set(writers.map((writer) => writer.key)).size, 50);
    await Promise.all(writers.map((writer) => writer.discard()));
  });

  contract("a discarded blob cannot be read, whether it was stored or not", async (t) => {
    const { store } = await open(t);
    const early = await store.create(newKey());
    await early.write(Buffer.from("x"));
    await early.discard();
    const late = await put(store, Buffer.from("x"));
    await late.discard();
    for (const { key } of [early, late]) await assert.rejects(async () => read(store, key, 1));
  });

  contract("a removed blob cannot be read, and removing it again is no error", async (t) => {
    const { store } = await open(t);
    const writer = await put(store, Buffer.from("x"));
    await writer.settle();
    await store.remove(writer.key);
    await assert.rejects(async () => read(store, writer.key, 1));
    await store.remove(writer.key);
  });
}

function readerContract(contract: Contract, open: Open<Pick<StoreUnderTest, "store">>): void {
  contract("a malformed key is refused without a lookup", async (t) => {
    const { store } = await open(t);
    for (const key of ["", "..", "../secret", "/etc/passwd", "a".repeat(31), "A".repeat(32)]) {
      await assert.rejects(async () => read(store, key, 1), /Not a key/);
      await assert.rejects(async () => store.remove(key), /Not a key/);
    }
  });

  contract("the size of a blob is returned, and undefined if it does not exist", async (t) => {
    const { store } = await open(t);
    const writer = await put(store, Buffer.alloc(70_001));
    await writer.settle();
    assert.equal(await store.size(writer.key), 70_001);
    await store.remove(writer.key);
    assert.equal(await store.size(writer.key), undefined);
  });

  contract("a stored blob is listed by its key", async (t) => {
    const { store } = await open(t);
    const keys: string[] = [];
    for (const text of ["a", "b", "c"]) {
      const writer = await put(store, Buffer.from(text));
      await writer.settle();
      keys.push(writer.key);
    }
    await store.remove(keys.pop()!);
    assert.deepEqual(await keysOf(store), keys.sort());
  });
}

/** The rules of a store that separates interrupted uploads from files by intents. */
export function intentContract(name: string, open: Open<StoreUnderTest>): void {
  listContract(name, open);
  sweepContract(name, open);
}

function listContract(name: string, open: Open<StoreUnderTest>): void {
  test(`${name}: a blob with an intent is listed as one until the intent is settled`, async (t) => {
    const { store } = await open(t);
    const settled = [await put(store, Buffer.from("a")), await put(store, Buffer.from("b"))];
    for (const writer of settled) await writer.settle();
    const waiting = await put(store, Buffer.from("c"));
    const known = settled.map((writer) => writer.key).sort();
    assert.deepEqual(await keysOf(store), known);
    assert.deepEqual(await store.intents!.list(), [waiting.key]);
    await waiting.settle();
    assert.deepEqual(await keysOf(store), [...known, waiting.key].sort());
    assert.deepEqual(await store.intents!.list(), []);
  });
}

function sweepContract(name: string, open: Open<StoreUnderTest>): void {
  test(`${name}: the sweep skips the writers of this process`, async (t) => {
    const { store } = await open(t);
    const writing = await store.create(newKey());
    await writing.write(Buffer.from("still "));
    const stored = await put(store, Buffer.from("x"));
    assert.equal(await store.intents!.sweep(dead, assert.ifError, () => false), 0);
    await writing.write(Buffer.from("here"));
    await writing.store();
    assert.equal((await read(store, writing.key, 10)).toString(), "still here");
    assert.equal((await read(store, stored.key, 1)).toString(), "x");
  });

  test(`${name}: after a crash the sweep erases blobs without a row and keeps those with one`, async (t) => {
    const { store, crash } = await open(t);
    const half = await store.create(newKey());
    await half.write(Buffer.from("half"));
    const orphan = await put(store, Buffer.from("orphan"));
    const committed = await put(store, Buffer.from("committed"));
    const again = await crash();
    assert.equal(
      await again.intents!.sweep(
        async (key) => key === committed.key,
        assert.ifError,
        () => false,
      ),
      2,
    );
    await assert.rejects(async () => read(again, orphan.key, 6));
    assert.equal((await read(again, committed.key, 9)).toString(), "committed");
    assert.equal(
      await again.intents!.sweep(dead, assert.ifError, () => false),
      0,
      "a settled blob is no business of the sweep",
    );
    await half.discard(); // A real crash would close the file descriptor.
    assert.equal((await read(again, committed.key, 9)).toString(), "committed");
  });

  test(`${name}: a settled blob is never swept`, async (t) => {
    const { store, crash } = await open(t);
    const writer = await put(store, Buffer.from("x"));
    await writer.settle();
    const again = await crash();
    assert.equal(await again.intents!.sweep(dead, assert.ifError, () => false), 0);
    assert.equal((await read(again, writer.key, 1)).toString(), "x");
    assert.equal(await again.intents!.sweep(live, assert.ifError, () => false), 0);
  });
}
