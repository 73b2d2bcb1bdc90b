import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { openDiskStore } from "../../../src/blobs/disk.ts";
import { createFuse } from "../../../src/util/fuse.ts";
import { blobContract, intentContract, type StoreUnderTest } from "./blobs.ts";

async function onDisk(t: TestContext): Promise<StoreUnderTest> {
  const folder = await mkdtemp(join(tmpdir(), "parley-blobs-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const open = () => openDiskStore(folder, createFuse(assert.ifError));
  return { store: await open(), crash: open };
}

blobContract("disk", onDisk);
intentContract("disk", onDisk);
