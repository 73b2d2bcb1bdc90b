import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { type TestContext, test } from "node:test";
import { openS3Store } from "../../../src/blobs/s3.ts";
import type { BlobStore, BlobWriter } from "../../../src/blobs/store.ts";
import { clientOf, contentOf, noS3, testBucket } from "../../support/engines/s3.ts";
import { type StoreFault, startStub } from "../../support/engines/s3-stub.ts";
import { blobContract } from "./blobs.ts";

const PART_BYTES = 8 * 1024 * 1024;
const options = { skip: noS3 };
const newKey = () => randomBytes(16).toString("hex");

async function openStore(t: TestContext) {
  const settings = testBucket(t);
  return { settings, store: await openS3Store(settings, { redirect: false, mayMake: async () => true }) };
}

async function send(store: BlobStore, bytes: Uint8Array): Promise<BlobWriter> {
  const writer = await store.create(newKey());
  for (let at = 0; at < bytes.length; at += 100_000) await writer.write(bytes.subarray(at, at + 100_000));
  return writer;
}

async function bytesOf(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const copies: Uint8Array[] = [];
  for await (const chunk of chunks) copies.push(new Uint8Array(chunk));
  return Buffer.concat(copies);
}

blobContract("s3", openStore, noS3);

test(
  "s3: files of about one part and of several parts are read back, whole and across parts",
  options,
  async (t) => {
    const { settings, store } = await openStore(t);
    for (const size of [
      PART_BYTES - 1,
      PART_BYTES,
      PART_BYTES + 1,
      3 * PART_BYTES,
      3 * PART_BYTES + 12_345,
    ]) {
      const bytes = randomBytes(size);
      const writer = await send(store, bytes);
      await writer.store();
      assert.ok((await bytesOf(await store.read(writer.key, 0, size - 1))).equals(bytes), String(size));
      const [start, end] = [Math.max(0, PART_BYTES - 100), Math.min(size - 1, PART_BYTES + 100)];
      assert.deepEqual(
        await bytesOf(await store.read(writer.key, start, end)),
        bytes.subarray(start, end + 1),
      );
      assert.equal(await store.size(writer.key), size);
      await store.remove(writer.key);
    }
    assert.deepEqual(await contentOf(settings), { objects: [], uploads: [] });
  },
);

test("s3: only a file larger than one part is uploaded in parts", options, async (t) => {
  const settings = testBucket(t);
  const stub = await startStub(t, settings);
  const sent: string[] = [];
  stub.fault = (request) => void sent.push(request.replace(/uploadId=[^&]+/, "uploadId"));
  const store = await openS3Store(stub.settings, { redirect: false, mayMake: async () => true });
  sent.length = 0;
  await (await send(store, randomBytes(PART_BYTES))).store();
  assert.deepEqual(sent, ["PUT ?x-id=PutObject"]);
  sent.length = 0;
  await (await send(store, randomBytes(PART_BYTES + 1))).store();
  assert.deepEqual(
    sent.map((request) => request.replace(/&?x-id=\w+/, "")),
    ["POST ?uploads=", "PUT ?partNumber=1&uploadId", "PUT ?partNumber=2&uploadId", "POST ?uploadId"],
  );
});

test(
  "s3: discarding a multipart upload leaves nothing, before and after it is stored",
  options,
  async (t) => {
    const { settings, store } = await openStore(t);
    const early = await send(store, randomBytes(PART_BYTES + 100_000));
    assert.deepEqual(await contentOf(settings), { objects: [], uploads: [early.key] });
    await early.discard();
    const late = await send(store, randomBytes(PART_BYTES + 100_000));
    await late.store();
    assert.deepEqual(await contentOf(settings), { objects: [late.key], uploads: [] });
    await late.discard();
    assert.deepEqual(await contentOf(settings), { objects: [], uploads: [] });
  },
);

test(
  "s3: removing a key aborts multipart uploads that a dead server started, and no others",
  options,
  async (t) => {
    const { settings, store } = await openStore(t);
    const dead = await send(store, randomBytes(2 * PART_BYTES + 1));
    const other = await send(store, randomBytes(PART_BYTES + 1));
    const again = await openS3Store(settings, { redirect: false, mayMake: async () => true });
    await again.remove(dead.key);
    assert.deepEqual(await contentOf(settings), { objects: [], uploads: [other.key] });
    await other.store();
    assert.deepEqual(await contentOf(settings), { objects: [other.key], uploads: [] });
  },
);

test(
  "s3: the store refuses bytes that changed in transit, as one object and as a part",
  options,
  async (t) => {
    const settings = testBucket(t);
    const stub = await startStub(t, settings);
    const store = await openS3Store(stub.settings, { redirect: false, mayMake: async () => true });
    const flip = (request: string): StoreFault | undefined =>
      request.startsWith("PUT") ? "flip" : undefined;
    for (const size of [70_000, PART_BYTES + 1]) {
      stub.fault = flip;
      const writer = await store.create(newKey());
      const failed = async () => {
        await writer.write(randomBytes(size));
        await writer.store();
      };
      await assert.rejects(failed(), { code: "unavailable" });
      stub.fault = () => undefined;
      assert.deepEqual((await contentOf(settings)).objects, [], String(size));
      // A failed request may still create the object, so the key is removed later.
      await assert.rejects(writer.discard(), /outcome of a failed request/);
      await store.remove(writer.key);
      assert.deepEqual(await contentOf(settings), { objects: [], uploads: [] });
    }
  },
);

test("s3: if a reader stops early, the rest of the file is not requested", options, async (t) => {
  const { store } = await openStore(t);
  const size = 3 * PART_BYTES;
  const writer = await send(store, randomBytes(size));
  await writer.store();
  for (let i = 0; i < 20; i++) {
    for await (const chunk of await store.read(writer.key, 0, size - 1)) {
      assert.ok(chunk.length < size);
      break;
    }
  }
  // Connections that stay open would keep this process running.
  assert.equal(await store.size(writer.key), size);
});

test(
  "s3: a part beyond the end of the object is an error, and so is a missing object",
  options,
  async (t) => {
    const { store } = await openStore(t);
    const writer = await send(store, Buffer.from("four"));
    await writer.store();
    await assert.rejects(store.read(writer.key, 0, 9), /4 of 10 bytes/);
    await assert.rejects(store.read(writer.key, 4, 9), { name: "InvalidRange" });
    await assert.rejects(store.read(newKey(), 0, 0), { name: "NoSuchKey" });
  },
);

test("s3: an object of another program in the bucket is listed without a key", options, async (t) => {
  const { settings, store } = await openStore(t);
  await clientOf(settings).putObject({ Bucket: settings.bucket, Key: "notes/a.txt", Body: "x" });
  const found = [];
  for await (const entries of store.list()) found.push(...entries);
  assert.deepEqual(found, [{ name: "notes/a.txt", key: null }]);
});

test("s3: the bucket is created, even if two servers start at once, and kept", options, async (t) => {
  const settings = testBucket(t);
  const open = () => openS3Store(settings, { redirect: false, mayMake: async () => true });
  const [first, second] = await Promise.all([open(), open()]);
  const writer = await send(first, Buffer.from("x"));
  await writer.store();
  assert.equal(await second.size(writer.key), 1);
  assert.equal(await (await open()).size(writer.key), 1);
});

test("s3: wrong credentials stop the start with a clear error", options, async (t) => {
  const settings = testBucket(t);
  const right = process.env.AWS_SECRET_ACCESS_KEY!;
  process.env.AWS_SECRET_ACCESS_KEY = "wrong";
  const refused = openS3Store(settings, { redirect: false, mayMake: async () => true }).finally(() => {
    process.env.AWS_SECRET_ACCESS_KEY = right;
  });
  await assert.rejects(refused, {
    message: /^PARLEY_STORE: .* refuses the credentials \(403\).*AWS_SECRET_ACCESS_KEY/,
  });
});

test("s3: an unreachable or failing store stops the start with a clear error", options, async (t) => {
  const settings = testBucket(t);
  const nobody = { ...settings, endpoint: "http://127.0.0.1:9" };
  await assert.rejects(openS3Store(nobody, { redirect: false, mayMake: async () => true }), {
    message: /^PARLEY_STORE: the bucket parley-test-\S+ at http:\/\/127\.0\.0\.1:9 .* does not answer/,
  });
  const stub = await startStub(t, settings);
  stub.fault = () => 503;
  await assert.rejects(openS3Store(stub.settings, { redirect: false, mayMake: async () => true }), {
    message: /the store answers 503/,
  });
});

test("s3: the memory of all uploads is limited, and an ended upload frees its share", options, async (t) => {
  const { store } = await openStore(t);
  const writers: BlobWriter[] = [];
  await assert.rejects(
    async () => {
      // 512 MiB in buffers of 64 KiB.
      while (writers.length <= 8192) writers.push(await store.create(newKey()));
    },
    { code: "unavailable" },
  );
  assert.equal(writers.length, 8192);
  const [one, other] = writers as [BlobWriter, BlobWriter];
  await assert.rejects(one.write(new Uint8Array(70_000)), { code: "unavailable" });
  await one.discard();
  await one.discard();
  await other.write(new Uint8Array(70_000));
  await assert.rejects(store.create(newKey()), { code: "unavailable" }, "given back once");
  await other.store();
  await store.create(newKey());
});
