// Uploads: sources, names, progress, and uploads that end early.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { appendFileSync, createReadStream, truncateSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type {
  Parley,
  UploadOptions,
  UploadProgress,
  UploadSource,
} from "../../packages/parley-client/src/index.ts";
import { startApp, startOn } from "../support/app.ts";
import { eventually, storedFiles } from "../support/files-on-disk.ts";
import { proxy } from "../support/proxy.ts";
import { clientOf, onEngines } from "./engines.ts";
import { failure } from "./failure.ts";

const BYTES = randomBytes(3_000_001);

async function folderOf(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "parley-client-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function* chunks(bytes = BYTES, size = 100_000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** Uploads, and checks that the file is identical and that progress rises from 0 to the whole. */
async function uploads(
  { attachments }: Parley,
  source: UploadSource,
  options: UploadOptions = {},
  bytes = BYTES,
) {
  const reports: UploadProgress[] = [];
  const made = await attachments.upload(source, {
    ...options,
    onProgress: (progress) => reports.push(progress),
  });
  assert.equal(made.file_size, bytes.length);
  const download = await attachments.download(made.id);
  assert.ok(bytes.equals(Buffer.from(await (await download.blob()).arrayBuffer())));
  const sent = reports.map((progress) => progress.sent);
  assert.deepEqual([sent[0], sent.at(-1)], [0, bytes.length]);
  assert.deepEqual(
    sent,
    sent.toSorted((a, b) => a - b),
  );
  if (bytes === BYTES) assert.ok(sent.length > 10, "Progress is reported during the upload.");
  return { made, total: reports[0]!.total };
}

onEngines("each kind of source uploads unchanged, with progress", async (t, config) => {
  const parley = await clientOf(await startOn(t, config));
  const path = join(await folderOf(t), "from a path.bin");
  await writeFile(path, BYTES);
  const size = BYTES.length;
  const named = { filename: "named.bin" };
  const sources: [UploadSource, UploadOptions, name: string, total: number | undefined][] = [
    [path, {}, "from a path.bin", size],
    [path, named, "named.bin", size],
    [new File([BYTES], "from a file.bin"), {}, "from a file.bin", size],
    [new Blob([BYTES]), named, "named.bin", size],
    [new Uint8Array(BYTES), named, "named.bin", size],
    [BYTES, named, "named.bin", size],
    [new Blob([BYTES]).stream(), named, "named.bin", undefined],
    [new Blob([BYTES]).stream(), { ...named, size }, "named.bin", size],
    [chunks(), named, "named.bin", undefined],
    [chunks(), { ...named, size }, "named.bin", size],
    [createReadStream(path), named, "named.bin", undefined],
  ];
  for (const [source, options, name, total] of sources) {
    const sent = await uploads(parley, source, options);
    assert.deepEqual([sent.made.filename, sent.total], [name, total]);
  }
  assert.equal((await parley.me()).storage.used, sources.length * size);
});

test("empty files, and files around the size of a chunk, are uploaded", async (t) => {
  const parley = await clientOf(await startApp(t));
  const path = join(await folderOf(t), "file");
  for (const size of [0, 1, 65_535, 65_536, 65_537]) {
    const bytes = BYTES.subarray(0, size);
    await writeFile(path, bytes);
    await uploads(parley, path, {}, bytes);
    await uploads(parley, new File([bytes], "blob"), {}, bytes);
    await uploads(parley, chunks(bytes), { filename: "stream" }, bytes);
  }
});

test("names in any script are kept", async (t) => {
  const { attachments } = await clientOf(await startApp(t));
  const names = [
    ...["grüße.txt", "文件 名.txt", "ملف.txt", "кот 🐈‍⬛.png", "e\u0301.txt", "名".repeat(85)],
    ...['"quoted".txt', "100%22.txt", "a;b=c.txt", "it's (1)*.txt", " spaces .txt", "filename*=utf-8''x.txt"],
  ];
  for (const name of names) {
    const made = await attachments.upload(new Blob(["x"]), { filename: name });
    assert.equal(made.filename, name);
    assert.equal((await attachments.download(made)).filename, name);
  }
  const folder = await folderOf(t);
  await writeFile(join(folder, "文件 名.txt"), "x");
  assert.equal((await attachments.upload(join(folder, "文件 名.txt"))).filename, "文件 名.txt");
});

test("the type is the option's, else the Blob's, else detected by the server", async (t) => {
  const { attachments } = await clientOf(await startApp(t));
  const typed = new Blob(["x"], { type: "application/x-blob" });
  const filename = "x.csv";
  const typeOf = async (source: UploadSource, contentType?: string) =>
    (await attachments.upload(source, { filename, contentType })).file_type;
  assert.equal(await typeOf(typed), "application/x-blob");
  assert.equal(await typeOf(typed, "application/x-option"), "application/x-option");
  assert.equal(await typeOf(new Blob(["x"])), "text/csv");
  await assert.rejects(typeOf(typed, "a/b\r\nContent-Digest: x"), TypeError);
});

test("an unnamed or missing file fails before anything is sent", async (t) => {
  const { attachments } = await clientOf(await startApp(t));
  await assert.rejects(attachments.upload(new Blob(["x"])), /^TypeError: The source has no name/);
  await assert.rejects(attachments.upload("/nowhere/file"), { code: "ENOENT" });
  await assert.rejects(
    attachments.upload(new Blob(["x"]), { filename: "x", signal: AbortSignal.abort("no") }),
    (e) => e === "no",
  );
  assert.deepEqual((await attachments.list()).data, []);
});

test("text cut within a character is refused, also beside files", async (t) => {
  const parley = await clientOf(await startApp(t));
  const { messages } = parley;
  const { conversation_id } = await parley.me();
  const files = [new File(["x"], "x")];
  const cut = { conversation_id, text: "\u{1f600}".slice(0, 1) };
  await assert.rejects(messages.create(cut), { code: "invalid_parameter", param: "text" });
  await assert.rejects(messages.create(cut, { files }), /^TypeError: text has a lone surrogate/);
  await assert.rejects(messages.create({ conversation_id, data: { a: cut.text } }, { files }), {
    code: "invalid_parameter",
    param: "data",
  });
  assert.deepEqual((await messages.list({ conversation_id })).data, []);
});

onEngines("an aborted upload leaves nothing on the server or in the process", async (t, config) => {
  const server = await startOn(t, config);
  const parley = await clientOf(server);
  const path = join(await folderOf(t), "file");
  await writeFile(path, BYTES);
  let isClosed = false;
  async function* endless() {
    try {
      for (;;) yield new Uint8Array(100_000);
    } finally {
      isClosed = true;
    }
  }
  for (const source of [path, endless(), new Blob([BYTES])]) {
    const stop = new AbortController();
    const reason = new Error("enough");
    const onProgress = ({ sent }: UploadProgress) => sent > 500_000 && stop.abort(reason);
    const sending = parley.attachments.upload(source, { filename: "x", signal: stop.signal, onProgress });
    await assert.rejects(sending, (error) => error === reason);
  }
  assert.ok(await eventually(async () => isClosed));
  assert.ok(await eventually(async () => !(await openFiles()).includes(path)));
  assert.ok(await eventually(async () => (await storedFiles(config)).length === 0));
  assert.deepEqual((await parley.attachments.list()).data, []);
  assert.equal((await parley.me()).storage.used, 0);
});

async function openFiles(): Promise<string[]> {
  const { readlink } = await import("node:fs/promises");
  const names = await readdir("/proc/self/fd");
  return Promise.all(names.map((name) => readlink(`/proc/self/fd/${name}`).catch(() => "")));
}

test("a source that fails ends the upload with its own error, and is not read again", async (t) => {
  const server = await startApp(t);
  const { attachments } = await clientOf(server);
  let asked = 0;
  async function* failing() {
    asked++;
    yield BYTES;
    throw new RangeError("the source is broken");
  }
  await assert.rejects(
    attachments.upload(failing(), { filename: "x" }),
    /^RangeError: the source is broken$/,
  );
  assert.equal(asked, 1);
  assert.deepEqual((await attachments.list()).data, []);
  assert.ok(await eventually(async () => (await storedFiles(server.config)).length === 0));
});

test("a stream whose size differs from the announced one is not stored", async (t) => {
  const { attachments } = await clientOf(await startApp(t));
  for (const size of [0, BYTES.length - 1, BYTES.length + 1]) {
    const error = await failure(attachments.upload(chunks(), { filename: "x", size }));
    assert.equal(error.code, "source_changed");
    assert.match(
      error.detail,
      size > BYTES.length ? /has 3000001 bytes, not 3000002/ : /more than \d+ bytes/,
    );
  }
  assert.deepEqual((await attachments.list()).data, []);
});

test("a file that shrinks or grows during the upload fails", async (t) => {
  const server = await startApp(t);
  const { url, seen } = await proxy(t, server.url, () => "pass");
  const { attachments } = await clientOf(server, { url });
  const path = join(await folderOf(t), "log.txt");
  const during = async (change: () => void) => {
    await writeFile(path, Buffer.alloc(10_000_000));
    return attachments.upload(path, { onProgress: ({ sent }) => sent === 0 && change() });
  };
  const error = await failure(during(() => truncateSync(path, 100)));
  assert.equal(error.code, "source_changed");
  assert.match(error.detail, /not 10000000: it has changed/);
  assert.equal(seen.length, 1);
  assert.deepEqual((await attachments.list()).data, []);
  assert.equal((await during(() => appendFileSync(path, "more"))).file_size, 10_000_000);
});

test("a stream of strings is refused with what it must yield", async (t) => {
  const { attachments } = await clientOf(await startApp(t));
  async function* texts() {
    yield "text";
  }
  for (const source of [texts(), ReadableStream.from(["text"])]) {
    const upload = attachments.upload(source as never, { filename: "x" });
    await assert.rejects(upload, /^TypeError: The chunks of a stream must be Uint8Array, not string/);
  }
});

test("a file refused during the upload fails with the server's code", async (t) => {
  const limits = { maxFileBytes: 1_000_000, userQuotaBytes: 1_500_000 };
  const { attachments } = await clientOf(await startApp(t, limits));
  const path = join(await folderOf(t), "file");
  await writeFile(path, Buffer.alloc(20_000_000));
  for (const source of [path, new Blob([await readFile(path)]), chunks(Buffer.alloc(20_000_000))]) {
    const error = await failure(attachments.upload(source, { filename: "x" }));
    assert.deepEqual([error.code, error.status], ["file_too_large", 413]);
  }
  const filename = "x";
  await attachments.upload(new Uint8Array(900_000), { filename });
  assert.equal(
    (await failure(attachments.upload(new Uint8Array(900_000), { filename }))).code,
    "quota_exceeded",
  );
  const conversation_id = "cnv_00000000000000000000000000";
  const error = await failure(attachments.upload(path, { conversation_id }));
  assert.equal(error.code, "conversation_not_found");
});

test("the idle timeout covers neither a slow source nor a long upload", async (t) => {
  const { attachments } = await clientOf(await startApp(t), { timeoutMs: 2000, maxRetries: 0 });
  async function* slow() {
    for (const ms of [3000, 100, 100, 100]) {
      await new Promise((resolve) => setTimeout(resolve, ms));
      yield new Uint8Array(1000);
    }
  }
  assert.equal((await attachments.upload(slow(), { filename: "slow" })).file_size, 4000);
});
