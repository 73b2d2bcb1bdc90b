// Scanning of uploads: refused files, accepted files, and failures of the scanner.
import assert from "node:assert/strict";
import { readdir, readlink } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Config } from "../../../src/config/settings.ts";
import type { TestApp } from "../../support/app.ts";
import { contentOf, noS3, testBucket } from "../../support/engines/s3.ts";
import { honest, type TestScanner } from "../../support/engines/scanner.ts";
import { eventually, storedFiles } from "../../support/files-on-disk.ts";
import { postgresConfig } from "../../support/on-engines.ts";
import { add, code, filesOf, person, read, send } from "../../support/people.ts";
import { beginUpload, FORM_HEAD, FORM_TAIL, readAnswer } from "../../support/raw-socket.ts";
import { clean, give, infected, LARGE, MAX_BYTES, SIZES, type Site, site } from "./scan-site.ts";

async function entries({ server }: Site, action: string) {
  const admin = await server.user({ scopes: ["admin"] });
  const { data } = await read<{ data: Record<string, unknown>[] }>(
    send(server, admin, "GET", "/v1/audit?limit=100"),
    200,
  );
  return data.filter((each) => each.action === action);
}

interface Place {
  name: string;
  skip?: string | false;
  config(t: TestContext): Promise<Partial<Config>>;
  /** Returns the number of files in the store. */
  count(server: TestApp): Promise<number>;
}

const onDisk = async ({ config }: TestApp) => (await storedFiles(config)).length;
const PLACES: Place[] = [
  { name: "SQLite and a folder", config: async () => ({}), count: onDisk },
  { name: "PostgreSQL and a folder", config: postgresConfig, count: onDisk },
  {
    name: "PostgreSQL and S3",
    skip: noS3,
    config: async (t) => ({ ...(await postgresConfig(t)), store: testBucket(t) }),
    count: async ({ config }) => (await contentOf(config.store!)).objects.length,
  },
];

for (const { name, skip = false, config, count } of PLACES) {
  test(`${name}: an infected file is refused, leaves nothing, and is in the audit trail`, {
    skip,
  }, async (t) => {
    const place = await site(t, {}, await config(t));
    const { server, scanner, ann } = place;
    const { conversation_id } = await read<{ conversation_id: string }>(
      send(server, ann, "GET", "/v1/me"),
      200,
    );
    for (const size of SIZES) {
      const problem = await read<{ code: string; param: string; detail: string }>(
        give(place, infected(size)),
        422,
      );
      assert.deepEqual([problem.code, problem.param], ["file_infected", "file"]);
      assert.match(problem.detail, /Eicar-Test-Signature/);
      assert.equal((await give(place, clean(size))).status, 201);
      const form = new FormData();
      form.set("conversation_id", conversation_id);
      form.set("text", "two files");
      form.append("file", new File([clean(size)], "clean"));
      form.append("file", new File([infected(size)], "infected"));
      const message = fetch(`${server.url}/v1/messages`, {
        method: "POST",
        headers: ann.headers,
        body: form,
      });
      assert.equal(await code(message, 422), "file_infected");
    }
    assert.deepEqual(
      scanner.files.map((file) => file.length).sort((a, b) => a - b),
      SIZES.flatMap((size) => [size, size, size, size]),
    );
    assert.ok(
      scanner.files.every((file) => file.equals(infected(file.length)) || file.equals(clean(file.length))),
    );
    assert.equal((await filesOf(server, ann)).length, 2);
    const kept = server.config.store ? 2 : 1;
    assert.ok(await eventually(async () => (await count(server)) === kept));
    const refused = await entries(place, "attachment.refused");
    assert.equal(refused.length, 4);
    for (const { actor_id, object_id, details } of refused) {
      assert.equal(actor_id, ann.id);
      assert.match(String(object_id), /^att_/);
      const { found, filename, sha256 } = details as Record<string, string>;
      assert.equal(found, "Eicar-Test-Signature");
      assert.match(`${filename} ${sha256}`, /^(a\.txt|infected) [0-9a-f]{64}$/);
    }
    const messages = send(server, ann, "GET", `/v1/messages?conversation_id=${conversation_id}`);
    assert.equal((await read<{ data: [] }>(messages, 200)).data.length, 2, "all or nothing");
  });

  test(`${name}: files waiting for the scanner are scanned from the store`, { skip }, async (t) => {
    const place = await site(t, { atOnce: 1 }, await config(t));
    const files = Array.from({ length: 8 }, (_, i) => (i % 2 === 0 ? clean(LARGE + i) : infected(LARGE + i)));
    const answers = await Promise.all(files.map((bytes) => give(place, bytes)));
    assert.deepEqual(
      answers.map(({ status }) => status),
      files.map((_, i) => (i % 2 === 0 ? 201 : 422)),
    );
    const bySize = (a: Buffer, b: Buffer) => a.length - b.length;
    assert.deepEqual(place.scanner.files.sort(bySize), files.sort(bySize));
    assert.ok(await eventually(async () => (await count(place.server)) === 4));
  });

  test(`${name}: without its scanner the server refuses files, or marks them as unscanned`, {
    skip,
  }, async (t) => {
    const [refusing, passing] = [
      await site(t, {}, await config(t)),
      await site(t, { passUnscanned: true }, await config(t)),
    ];
    await refusing.scanner.stop();
    await passing.scanner.stop();
    for (const size of SIZES) {
      const answer = await give(refusing, clean(size));
      assert.equal(answer.headers.get("retry-after"), "10");
      assert.equal(await code(Promise.resolve(answer), 503), "unavailable");
    }
    assert.equal((await give(refusing, Buffer.alloc(0))).status, 201, "nothing is in an empty file");
    assert.equal((await filesOf(refusing.server, refusing.ann)).length, 1);
    assert.ok(await eventually(async () => (await count(refusing.server)) === 0));
    await checkMarks(passing);
  });
}

/** Asserts what a recipient sees of files accepted without a scan, and of scanned ones. */
async function checkMarks(place: Site) {
  const { server, ann } = place;
  const bob = await person(server, "bob");
  const { conversation_id } = await add(server, ann, "bob");
  await add(server, bob, "ann");
  const ids: string[] = [];
  for (const size of SIZES) {
    const made = await read<Record<string, unknown>>(give(place, clean(size), { conversation_id }), 201);
    assert.ok(!("unscanned" in made));
    ids.push(String(made.id));
  }
  const none = await read<{ id: string }>(give(place, Buffer.alloc(0), { conversation_id }), 201);
  const list = await read<{ data: { id: string; unscanned: boolean; file_url: string }[] }>(
    send(server, bob, "GET", "/v1/attachments?include=unscanned"),
    200,
  );
  assert.deepEqual(
    list.data.map(({ id, unscanned }) => [id, unscanned]),
    [[none.id, false], ...ids.reverse().map((id) => [id, true])],
  );
  for (const { file_url, unscanned } of list.data) {
    for (const method of ["GET", "HEAD"]) {
      const { headers } = await fetch(file_url, { method });
      assert.equal(headers.get("parley-unscanned"), unscanned ? "true" : null);
    }
  }
  const both = await read<{ sender: { id: string }; unscanned: boolean }>(
    send(server, bob, "GET", `/v1/attachments/${ids[0]}?include=sender,unscanned`),
    200,
  );
  assert.deepEqual([both.sender.id, both.unscanned], [ann.id, true]);
  const plain = await read<object>(send(server, bob, "GET", `/v1/attachments/${ids[0]}`), 200);
  assert.ok(!("unscanned" in plain));
  const created = await entries(place, "attachment.created");
  const marked = created.filter(({ details }) => details !== null);
  assert.deepEqual(
    marked.map(({ object_id, details }) => [object_id, details]),
    ids.map((id) => [id, { unscanned: true }]),
  );
}

/** Sends the head of an upload of this size, and the first bytes of its file. */
async function begin({ server, ann }: Site, size: number, first: Buffer) {
  const length = FORM_HEAD.length + size + FORM_TAIL.length;
  const socket = await beginUpload(server.url, ann, { "content-length": length });
  socket.write(Buffer.concat([Buffer.from(FORM_HEAD), first]));
  return socket;
}

test("a large file is scanned once, while it arrives", async (t) => {
  const place = await site(t);
  let received = 0;
  place.scanner.behaviour = (socket, file, isComplete) => {
    received = file.length;
    honest(socket, file, isComplete);
  };
  const bytes = clean(LARGE);
  const socket = await begin(place, LARGE, bytes.subarray(0, 200_000));
  assert.ok(await eventually(async () => received > 100_000), "before the rest is sent");
  socket.write(bytes.subarray(200_000));
  socket.write(FORM_TAIL);
  assert.match(await readAnswer(socket), /^HTTP\/1\.1 201 /);
  assert.deepEqual(place.scanner.files, [bytes]);
});

test("aborting an upload ends its scan", async (t) => {
  const place = await site(t, { atOnce: 1 });
  const socket = await begin(place, LARGE, clean(200_000));
  assert.ok(await eventually(async () => place.scanner.open === 1));
  socket.destroy();
  assert.ok(await eventually(async () => place.scanner.open === 0));
  assert.equal((await give(place, clean(LARGE))).status, 201);
  assert.equal((await storedFiles(place.server.config)).length, 1);
});

test("a slow upload releases the scanner, and is scanned again at its end", async (t) => {
  const place = await site(t, { atOnce: 1, timeoutMs: 3000 });
  const bytes = infected(LARGE);
  const socket = await begin(place, LARGE, bytes.subarray(0, 200_000));
  assert.ok(await eventually(async () => place.scanner.open === 1));
  assert.ok(await eventually(async () => place.scanner.open === 0), "it is given up after a while");
  assert.equal((await give(place, clean(LARGE))).status, 201);
  socket.write(bytes.subarray(200_000));
  socket.write(FORM_TAIL);
  assert.match(await readAnswer(socket), /^HTTP\/1\.1 422 .*file_infected/s);
  assert.equal((await filesOf(place.server, place.ann)).length, 1);
  assert.ok(await eventually(async () => (await storedFiles(place.server.config)).length === 1));
});

test("a scan that is cut within a file is repeated from the store", async (t) => {
  const place = await site(t);
  let cuts = 0;
  place.scanner.behaviour = (socket, file, isComplete) => {
    if (cuts > 0) return honest(socket, file, isComplete);
    cuts++;
    socket.destroy();
  };
  const bytes = infected(LARGE);
  const socket = await begin(place, LARGE, bytes.subarray(0, 200_000));
  assert.ok(await eventually(async () => cuts === 1 && place.scanner.open === 0));
  socket.write(bytes.subarray(200_000));
  socket.write(FORM_TAIL);
  assert.match(await readAnswer(socket), /^HTTP\/1\.1 422 /);
  assert.deepEqual(place.scanner.files, [bytes]);
});

for (const [what, behaviour] of [
  ["is silent", () => {}],
  ["says nothing and closes", (socket, _, isComplete) => isComplete && socket.end()],
  ["resets the connection", (socket, _, isComplete) => isComplete && socket.resetAndDestroy()],
  ["sends garbage", (socket, _, isComplete) => isComplete && socket.end("\x01\x02\xff\0")],
  ["sends too much", (socket, _, isComplete) => isComplete && socket.write("stream: OK".repeat(10_000))],
  ["ends its answer too early", (socket, _, isComplete) => isComplete && socket.end("stream: OK")],
  ["answers twice", (socket, _, isComplete) => isComplete && socket.end("stream: OK\0stream: OK\0")],
  ["answers before the end", (socket) => socket.end("stream: OK\0")],
  ["reports an error", (socket, _, isComplete) => isComplete && socket.end("Can't allocate memory ERROR\0")],
  ["refuses the size", (socket) => socket.end("INSTREAM size limit exceeded. ERROR\0")],
] as [string, TestScanner["behaviour"]][]) {
  test(`a scanner that ${what} accepts no file`, async (t) => {
    const place = await site(t, { timeoutMs: 3000 });
    place.scanner.behaviour = behaviour;
    // A small file is sent completely before an early verdict can arrive.
    const sizes = what === "answers before the end" ? [MAX_BYTES] : [...SIZES, MAX_BYTES];
    for (const size of sizes) assert.equal(await code(give(place, clean(size)), 503), "unavailable");
    assert.deepEqual(await filesOf(place.server, place.ann), []);
    assert.ok(await eventually(async () => (await storedFiles(place.server.config)).length === 0));
    place.scanner.behaviour = honest;
    assert.equal((await give(place, clean(LARGE))).status, 201, "it recovers with its scanner");
  });
}

test("a slow verdict is awaited, and an early FOUND counts", async (t) => {
  const place = await site(t);
  place.scanner.behaviour = (socket, file, isComplete) => {
    if (isComplete) setTimeout(() => honest(socket, file, true), 300);
  };
  assert.equal((await give(place, clean(LARGE))).status, 201);
  assert.equal(await code(give(place, infected(LARGE)), 422), "file_infected");
  place.scanner.behaviour = (socket) => socket.end("stream: Early FOUND\0");
  for (const size of SIZES) {
    assert.match((await read<{ detail: string }>(give(place, clean(size)), 422)).detail, /Early/);
  }
});

test("the limit of concurrent scans holds, and all files are scanned", async (t) => {
  const place = await site(t, { atOnce: 2 });
  place.scanner.mostOpen = 0;
  const sizes = Array.from({ length: 20 }, (_, i) => SIZES[i % 2]!);
  const answers = await Promise.all(sizes.map((size) => give(place, clean(size))));
  assert.ok(answers.every(({ status }) => status === 201));
  assert.equal(place.scanner.files.length, 20);
  assert.ok(place.scanner.mostOpen <= 2, `${place.scanner.mostOpen} at once`);
});

test("files that wait too long for the scanner are refused and closed", async (t) => {
  const place = await site(t, { atOnce: 1, timeoutMs: 3000 });
  place.scanner.behaviour = () => {};
  const answers = await Promise.all(Array.from({ length: 5 }, () => give(place, clean(LARGE))));
  assert.ok(answers.every(({ status }) => status === 503));
  assert.deepEqual(await filesOf(place.server, place.ann), []);
  assert.deepEqual(await openBlobs(place.server.config.dataFolder), []);
  place.scanner.behaviour = honest;
  assert.equal((await give(place, clean(LARGE))).status, 201, "no place was lost");
});

/** Returns the files of the store that this process has open. */
async function openBlobs(dataFolder: string): Promise<string[]> {
  const descriptors = await readdir("/proc/self/fd");
  const paths = await Promise.all(
    descriptors.map((each) => readlink(`/proc/self/fd/${each}`).catch(() => "")),
  );
  return paths.filter((path) => path.startsWith(join(dataFolder, "blobs")));
}

test("files above PARLEY_SCAN_MAX_SIZE are accepted as unscanned", async (t) => {
  const place = await site(t, { maxBytes: LARGE });
  const large = await read<{ id: string }>(give(place, infected(LARGE + 1)), 201);
  assert.equal(await code(give(place, infected(LARGE)), 422), "file_infected");
  const path = `/v1/attachments/${large.id}?include=unscanned`;
  const { unscanned } = await read<{ unscanned: boolean }>(send(place.server, place.ann, "GET", path), 200);
  assert.equal(unscanned, true);
});

test("a replay of an upload is not scanned again", async (t) => {
  const place = await site(t);
  const { server, ann, scanner } = place;
  const again = () => {
    const form = new FormData();
    form.set("file", new File([clean(LARGE)], "a"));
    const headers = { ...ann.headers, "idempotency-key": "k" };
    return fetch(`${server.url}/v1/attachments`, { method: "POST", headers, body: form });
  };
  const { id } = await read<{ id: string }>(again(), 201);
  await scanner.stop();
  assert.equal((await read<{ id: string }>(again(), 201)).id, id);
});
