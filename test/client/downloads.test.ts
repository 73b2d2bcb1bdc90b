// Downloads, whole or in part, into memory, a stream or a file. A failed one leaves nothing.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { type DownloadProgress, Parley } from "../../packages/parley-client/src/index.ts";
import { startApp, startOn } from "../support/app.ts";
import { eventually } from "../support/files-on-disk.ts";
import { proxy } from "../support/proxy.ts";
import { clientOf, onEngines } from "./engines.ts";
import { failure } from "./failure.ts";

/** Starts with text, because random bytes may look like a music file. */
const BYTES = Buffer.concat([Buffer.from("random"), randomBytes(1_999_997)]);

async function folderOf(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "parley-client-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

onEngines("a downloaded file is identical, as a stream, in memory or as a file", async (t, config) => {
  const { attachments } = await clientOf(await startOn(t, config));
  const made = await attachments.upload(new File([BYTES], "data.bin"));
  const reports: DownloadProgress[] = [];
  const download = await attachments.download(made, { onProgress: (progress) => reports.push(progress) });
  assert.deepEqual(
    [download.size, download.type, download.filename],
    [BYTES.length, "application/octet-stream", "data.bin"],
  );
  assert.ok(BYTES.equals(await buffer(download.stream)));
  assert.deepEqual(reports[0], { received: 0, total: BYTES.length });
  assert.deepEqual(reports.at(-1), { received: BYTES.length, total: BYTES.length });
  assert.ok(reports.length > 3);
  const blob = await (await attachments.download(made.id)).blob();
  assert.equal(blob.type, "application/octet-stream");
  assert.ok(BYTES.equals(Buffer.from(await blob.arrayBuffer())));
  const folder = await folderOf(t);
  await writeFile(join(folder, "data.bin"), "what was there");
  const kept = (await attachments.download(made)).saveTo(join(folder, "data.bin"), { overwrite: false });
  await assert.rejects(kept, { code: "EEXIST" });
  assert.equal(await readFile(join(folder, "data.bin"), "utf8"), "what was there");
  await (await attachments.download(made)).saveTo(join(folder, "data.bin"));
  assert.ok(BYTES.equals(await readFile(join(folder, "data.bin"))));
  await (await attachments.download(made)).saveTo(join(folder, "new.bin"), { overwrite: false });
  assert.ok(BYTES.equals(await readFile(join(folder, "new.bin"))));
  assert.deepEqual((await readdir(folder)).sort(), ["data.bin", "new.bin"]);
});

test("a file with a name of maximum length is saved", async (t) => {
  const { attachments } = await clientOf(await startApp(t));
  const folder = await folderOf(t);
  const name = `${"名".repeat(83)}.txt`;
  const made = await attachments.upload(new File(["text"], name));
  for (const overwrite of [false, true])
    await (await attachments.download(made)).saveTo(join(folder, made.filename), { overwrite });
  assert.deepEqual(await readdir(folder), [name]);
  const tooLong = (await attachments.download(made)).saveTo(join(folder, `${name}${name}`));
  await assert.rejects(tooLong, { code: "ENAMETOOLONG", syscall: "rename" });
  assert.deepEqual(await readdir(folder), [name]);
});

test("ranges of a file, and an empty file, are downloaded", async (t) => {
  const { attachments } = await clientOf(await startApp(t));
  const made = await attachments.upload(new File([BYTES], "data.bin"));
  const part = async (start: number, end?: number) => {
    const { size, stream } = await attachments.download(made, { range: { start, end } });
    const bytes = await buffer(stream);
    assert.equal(size, bytes.length);
    return bytes;
  };
  assert.ok(BYTES.subarray(10, 21).equals(await part(10, 20)));
  assert.ok(BYTES.subarray(1_999_999).equals(await part(1_999_999)));
  assert.equal((await failure(part(BYTES.length))).code, "range_not_satisfiable");
  const empty = await attachments.upload(new File([], "empty"));
  assert.equal((await (await attachments.download(empty)).blob()).size, 0);
});

test("a renamed file is still downloaded, also if the server's public URL differs from the client's", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  // The same server under another origin: `fetch` drops the token on the redirect.
  for (const url of [server.url, server.url.replace("127.0.0.1", "localhost")]) {
    const { attachments } = new Parley({ url, token: user.token });
    const made = await attachments.upload(new File(["text"], "old name.txt"));
    await attachments.update(made.id, { filename: "new name.txt" });
    const download = await attachments.download(made);
    assert.equal(await (await download.blob()).text(), "text");
    assert.equal((await attachments.download(made.id)).filename, "new name.txt");
  }
});

test("an aborted or cut download fails and leaves the previous file", async (t) => {
  const server = await startApp(t);
  const { attachments } = await clientOf(server);
  const made = await attachments.upload(new File([Buffer.alloc(30_000_000)], "data.bin"));
  const folder = await folderOf(t);
  const path = join(folder, "data.bin");
  await writeFile(path, "what was there");
  const stop = new AbortController();
  const reason = new Error("enough");
  const onProgress = ({ received }: DownloadProgress) => received > 1_000_000 && stop.abort(reason);
  const download = await attachments.download(made, { signal: stop.signal, onProgress });
  await assert.rejects(download.saveTo(path), (error) => error === reason);
  const cutting = createServer((request, response) => {
    if (request.url!.startsWith("/v1/")) return void response.end(JSON.stringify(made));
    response.writeHead(200, { "content-length": made.file_size }).write(Buffer.alloc(1_000_000));
    setTimeout(() => response.destroy(), 50);
  });
  cutting.listen(0, "127.0.0.1");
  t.after(() => cutting.close());
  await new Promise((resolve) => cutting.once("listening", resolve));
  const url = `http://127.0.0.1:${(cutting.address() as AddressInfo).port}`;
  const cut = await new Parley({ url, token: "x" }).attachments.download(made.id);
  assert.equal((await failure(cut.saveTo(path))).code, "connection_failed");
  assert.equal(await readFile(path, "utf8"), "what was there");
  assert.deepEqual(await readdir(folder), ["data.bin"]);
});

test("a download that cannot be written, or is cancelled, releases its connection", async (t) => {
  const server = await startApp(t);
  const { url, underWay } = await proxy(t, server.url, () => "pass");
  const { attachments } = await clientOf(server, { url });
  // More than the buffers in between hold, so that the server waits for the reader.
  const made = await attachments.upload(new File([Buffer.alloc(50_000_000)], "data.bin"));
  const download = await attachments.download(made);
  assert.equal(underWay(), 1);
  await assert.rejects(download.saveTo("/nowhere/at/all"), { code: "ENOENT" });
  assert.ok(await eventually(async () => underWay() === 0));
  for (let i = 0; i < 3; i++) await (await attachments.download(made)).stream.cancel();
  assert.ok(await eventually(async () => underWay() === 0));
  const reader = (await attachments.download(made)).stream.getReader();
  await reader.read();
  await reader.cancel();
  assert.ok(await eventually(async () => underWay() === 0));
  assert.equal(
    (await failure((await attachments.download(made)).blob().then(() => attachments.download("att_x"))))
      .status,
    404,
  );
});
