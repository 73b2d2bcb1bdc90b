// F7: the S3 store fails, stalls, loses answers and truncates files, and the server keeps running.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, type TestContext, test } from "node:test";
import { sql } from "../../src/db/sql.ts";
import { startOn, testConfig, upload } from "../support/app.ts";
import { contentOf, noS3, testBucket } from "../support/engines/s3.ts";
import { type StoreFault, startStub } from "../support/engines/s3-stub.ts";
import { eventually } from "../support/files-on-disk.ts";
import { scaled, seededChance } from "../support/scale.ts";

const KIB = 1024;
/** One size sent as one object, and one in parts. */
const SIZES = [100, 500 * KIB, 9 * KIB * KIB];
/** The time after which every node treats the intent of an abandoned upload as expired. */
const LAPSED_MS = 40 * 60_000;
const options = { skip: noS3 };

async function start(t: TestContext) {
  const settings = testBucket(t);
  const stub = await startStub(t, settings);
  const config = { ...(await testConfig(t)), store: stub.settings };
  const server = await startOn(t, config);
  const user = await server.user();
  const send = (size: number) => upload(server.url, user, new File([randomBytes(size)], "a.bin"));
  /** Returns the keys that rows name. */
  const rows = async (core = server.app.core, id = "%") => {
    const keys = sql<{
      blob_key: string;
    }>`SELECT blob_key FROM attachments WHERE id LIKE ${id} ORDER BY blob_key`;
    return (await core.db.all(keys)).map((row) => row.blob_key);
  };
  const ready = async () => (await fetch(`${server.url}/readyz`)).status;

  /** Asserts that each row has its object, and that another node leaves nothing else once intents have expired. */
  async function settled(): Promise<void> {
    stub.fault = () => undefined;
    assert.ok(await eventually(async () => (await ready()) === 200), "ready again by itself");
    assert.equal((await send(100)).status, 201, "uploads go on");
    const known = await rows();
    const { objects } = await contentOf(settings);
    assert.deepEqual(
      known.filter((key) => !objects.includes(key)),
      [],
      "rows without an object",
    );
    await server.app.stop();
    const later = await startOn(t, config, { clock: () => Date.now() + LAPSED_MS });
    const clean = async () => {
      const { objects, uploads } = await contentOf(settings);
      return uploads.length === 0 && objects.sort().join() === known.join();
    };
    assert.ok(await eventually(clean), JSON.stringify({ known, found: await contentOf(settings) }));
    assert.deepEqual(await rows(later.app.core), known);
    await later.app.stop();
  }

  return { server, user, stub, send, rows, ready, settled, settings };
}

function assertUnavailable(answer: Response): void {
  assert.equal(answer.status, 503);
  assert.equal(answer.headers.get("retry-after"), "1");
}

for (const status of [500, 503, 412]) {
  test(
    `F7 a store that answers ${status}: requests are 503, the server is unready, and both recover`,
    options,
    async (t) => {
      const { server, user, stub, send, rows, ready, settled } = await start(t);
      const made = (await (await send(500 * KIB)).json()) as { id: string; file_url: string };
      const before = await rows();
      stub.fault = () => status;
      for (const size of SIZES) assertUnavailable(await send(size));
      assertUnavailable(await fetch(made.file_url));
      assertUnavailable(await fetch(`${server.url}/readyz`));
      assert.deepEqual(await rows(), before);
      const gone = await fetch(`${server.url}/v1/attachments/${made.id}`, {
        method: "DELETE",
        headers: user.headers,
      });
      assert.equal(gone.status, 204, "a delete does not wait for the store");
      assert.equal((await fetch(made.file_url)).status, 404);
      assert.equal(await ready(), 503);
      await settled();
    },
  );
}

for (const [what, request] of [
  ["an object was stored", /^PUT/],
  ["a multipart upload was started", /^POST \?uploads/],
  ["a part was stored", /^PUT \?partNumber=2/],
  ["the parts were completed", /^POST \?uploadId/],
] as const) {
  test(`F7 the answer is always lost after ${what}: nothing is left over`, options, async (t) => {
    const { stub, send, rows, settled } = await start(t);
    stub.fault = (asked) => (request.test(asked) ? "reset" : undefined);
    for (const size of SIZES) {
      const hit = request.source === "^PUT" || size === SIZES.at(-1);
      const answer = await send(size);
      if (hit) assertUnavailable(answer);
      else assert.equal(answer.status, 201);
    }
    assert.equal((await rows()).length, request.source === "^PUT" ? 0 : SIZES.length - 1);
    await settled();
  });
}

test("F7 an answer that is lost once is retried, and clients notice nothing", options, async (t) => {
  const { stub, send, settled } = await start(t);
  for (const request of [/^PUT \?x-id/, /^POST \?uploads/, /^PUT \?partNumber=1/]) {
    let lost = 0;
    stub.fault = (asked) => (request.test(asked) && lost++ === 0 ? "reset" : undefined);
    for (const size of SIZES) assert.equal((await send(size)).status, 201);
    assert.ok(lost > 1, "it was asked again");
  }
  await settled();
});

test(
  "F7 an object that the store writes only after its connection was lost is erased, too",
  options,
  async (t) => {
    const { stub, send, rows, settled, settings } = await start(t);
    stub.fault = (asked) => (/^PUT \?x-id|^POST \?uploadId/.test(asked) ? "late" : undefined);
    for (const size of SIZES) assertUnavailable(await send(size));
    // If one arrived after its intent has expired, its object would stay: intents outlast all requests.
    await stub.lateRequests();
    assert.equal((await contentOf(settings)).objects.length, SIZES.length);
    assert.deepEqual(await rows(), []);
    await settled();
  },
);

// These tests only wait, so they run at the same time.
describe("F7 a silent store", { concurrency: true }, () => {
  test("is 503 within the time limit, also for /readyz", options, async (t) => {
    const { server, stub, send, rows, settled } = await start(t);
    const made = (await (await send(500 * KIB)).json()) as { file_url: string };
    const before = await rows();
    stub.fault = () => "hang";
    const answers = [send(100), send(500 * KIB), fetch(made.file_url), fetch(`${server.url}/readyz`)];
    for (const answer of await Promise.all(answers)) assertUnavailable(answer);
    assert.deepEqual(await rows(), before);
    await settled();
  });

  test("does not delay the stop of its server", options, async (t) => {
    const { server, user, stub, send } = await start(t);
    const ids: string[] = [];
    for (let i = 0; i < 3; i++) ids.push(((await (await send(100)).json()) as { id: string }).id);
    let erasing = false;
    let sending = false;
    stub.fault = (request) => {
      erasing ||= request.startsWith("GET");
      sending ||= request.startsWith("PUT");
      return "hang";
    };
    for (const id of ids) {
      const url = `${server.url}/v1/attachments/${id}`;
      assert.equal((await fetch(url, { method: "DELETE", headers: user.headers })).status, 204);
    }
    assert.ok(await eventually(async () => erasing));
    const sent = send(100).catch(() => {});
    assert.ok(await eventually(async () => sending));
    // The eraser and the upload wait for the store, and neither may delay the stop beyond its limit.
    const { shutdownTimeoutMs } = server.config.limits;
    const late = new Promise((_, reject) =>
      setTimeout(() => reject(new Error("the stop hangs")), shutdownTimeoutMs + 2000).unref(),
    );
    await Promise.race([server.app.stop(), late]);
    await sent;
  });

  for (const fault of ["cut", "stall"] as const) {
    test(
      `a download that is ${fault === "cut" ? "cut off" : "stalled"} is never a clean 200`,
      options,
      async (t) => {
        const { stub, send, settled } = await start(t);
        const made: { file_url: string; file_size: number }[] = [];
        for (const size of SIZES) made.push((await (await send(size)).json()) as (typeof made)[0]);
        stub.fault = (asked) => (asked.startsWith("GET ?x-id=GetObject") ? fault : undefined);
        const ask = async ({ file_url, file_size }: (typeof made)[0], range?: string) => {
          const answer = await fetch(file_url, range ? { headers: { range } } : {});
          // Small files are read completely before the answer begins.
          if (file_size <= 256 * KIB && !range) return assertUnavailable(answer);
          assert.equal(answer.status, range ? 206 : 200);
          await assert.rejects(answer.arrayBuffer(), `${file_size} bytes`);
        };
        await Promise.all(made.flatMap((each) => [ask(each), ask(each, "bytes=1-")]));
        stub.fault = () => undefined;
        for (const { file_url, file_size } of made)
          assert.equal((await (await fetch(file_url)).arrayBuffer()).byteLength, file_size);
        await settled();
      },
    );
  }
});

test(
  "F7 a store that fails at random: acknowledged files are stored, and nothing else is left",
  options,
  async (t) => {
    const { stub, send, settled } = await start(t);
    const chance = seededChance(t);
    const faults: StoreFault[] = [500, 503, 412, "reset", "flip"];
    stub.fault = () => (chance() < 0.3 ? faults[Math.floor(chance() * faults.length)] : undefined);
    const uploads = scaled(10, 1000);
    let kept = 0;
    const links: string[] = [];
    for (let i = 0; i < uploads; i++) {
      const answer = await send(SIZES[Math.floor(chance() * SIZES.length)]!);
      if (answer.status === 201) {
        kept++;
        links.push(((await answer.json()) as { file_url: string }).file_url);
      } else assertUnavailable(answer);
    }
    t.diagnostic(`${uploads} uploads, ${kept} acknowledged`);
    stub.fault = () => undefined;
    for (const link of links) assert.equal((await fetch(link)).status, 200);
    await settled();
  },
);
