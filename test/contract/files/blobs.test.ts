import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { openDiskStore } from "../../../src/blobs/disk.ts";
import { openS3Store } from "../../../src/blobs/s3.ts";
import { createFuse } from "../../../src/util/fuse.ts";
import { noS3, testBucket } from "../../support/engines/s3.ts";
import { blobContract, intentContract, type StoreUnderTest } from "./blobs.ts";

async function onDisk(t: TestContext): Promise<StoreUnderTest> {
  const folder = await mkdtemp(join(tmpdir(), "parley-blobs-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const open = () => openDiskStore(folder, createFuse(assert.ifError));
  return { store: await open(), crash: open };
}

blobContract("disk", onDisk);
intentContract("disk", onDisk);

blobContract(
  "s3",
  async (t) => ({ store: await openS3Store(testBucket(t), { redirect: false, mayMake: async () => true }) }),
  noS3,
);
