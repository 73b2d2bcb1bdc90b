// Uploads that resume after a lost connection, and in another process.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Parley } from "../../packages/parley-client/src/index.ts";
import { startApp, startOn } from "../support/app.ts";
import { proxy } from "../support/proxy.ts";
import { clientOf, onEngines } from "./engines.ts";
import { failure } from "./failure.ts";

const BYTES = randomBytes(12 * 1024 * 1024 + 7);

async function assertStored({ attachments }: Parley, id: string, bytes: Buffer): Promise<void> {
  const download = await attachments.download(id);
  assert.ok(bytes.equals(Buffer.from(await (await download.blob()).arrayBuffer())), "it has other bytes");
}

onEngines("an upload continues at the server's offset after cut connections", async (t, config) => {
  const server = await startOn(t, config);
  const between = await proxy(t, server.url, () => "pass");
  const parley = await clientOf(server, { url: between.url });
  const folder = await mkdtemp(join(tmpdir(), "parley-client-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, "large.bin");
  await writeFile(path, BYTES);
  let cuts = 0;
  const reports: number[] = [];
  const made = await parley.uploads.send(path, {
    onProgress({ sent, total }) {
      assert.equal(total, BYTES.length);
      reports.push(sent);
      if (sent < (cuts + 1) * 4_000_000 || cuts === 2) return;
      cuts++;
      between.cut();
    },
  });
  assert.equal(cuts, 2);
  assert.equal(reports.at(-1), BYTES.length);
  await assertStored(parley, made.id, BYTES);
  const creations = between.seen.filter(({ method }) => method === "POST");
  assert.equal(creations.length, 1, "it began once");
  assert.ok(between.seen.filter(({ method }) => method === "HEAD").length >= 2);
});

test("an upload whose last answer was lost is recognized as complete", async (t) => {
  const server = await startApp(t);
  const between = await proxy(t, server.url, (_path, seen) =>
    seen.length === 1 ? "lose the answer" : "pass",
  );
  const parley = await clientOf(server, { url: between.url });
  const made = await parley.uploads.send(new File([BYTES], "a.bin"));
  await assertStored(parley, made.id, BYTES);
  assert.deepEqual(
    between.seen.slice(0, 3).map(({ method }) => method),
    ["POST", "PATCH", "HEAD"],
  );
  assert.equal((await parley.attachments.list()).data.length, 1);
});

test("another process resumes with the id, unless the source is a stream", async (t) => {
  const server = await startApp(t);
  const parley = await clientOf(server);
  const upload = await parley.uploads.create({ filename: "a.bin", length: BYTES.length });
  await parley.uploads.append(upload.id, BYTES.subarray(0, 5_000_000), { offset: 0, isLast: false });
  async function* stream() {
    yield BYTES;
  }
  const given = parley.uploads.send(stream(), { filename: "a.bin", size: BYTES.length, resume: upload.id });
  await assert.rejects(given, /stream cannot be read again/);
  const made = await parley.uploads.send(new File([BYTES], "a.bin"), { resume: upload.id });
  await assertStored(parley, made.id, BYTES);
});

test("an upload fails when attempts make no progress, or at once if the server refuses it", async (t) => {
  const server = await startApp(t, { maxFileBytes: 1000 });
  const between = await proxy(t, server.url, (path) =>
    path.includes("upl_") ? { status: 503, headers: { "retry-after": "0" } } : "pass",
  );
  const parley = await clientOf(server, { url: between.url, maxRetries: 1 });
  const small = new File(["small"], "a.txt");
  assert.equal((await failure(parley.uploads.send(small))).status, 503);
  const refused = await failure(parley.uploads.send(new File([BYTES], "a.bin")));
  assert.equal(refused.code, "file_too_large");
});
