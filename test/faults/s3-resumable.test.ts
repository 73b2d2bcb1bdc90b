// F7: the S3 store fails and loses its answers while a resumable upload goes on, which must lose and leave nothing.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { type TestContext, test } from "node:test";
import { sql } from "../../src/db/sql.ts";
import { startOn, testConfig } from "../support/app.ts";
import { contentOf, noS3, testBucket } from "../support/engines/s3.ts";
import { type StoreFault, startStub } from "../support/engines/s3-stub.ts";
import { eventually } from "../support/files-on-disk.ts";

/** Whole parts, and a tail between them. */
const BYTES = randomBytes(20 * 1024 * 1024 + 5);
const CUTS = [5_000_000, 9_000_000, 18_000_000, BYTES.length];
/** After this time the intents of what nobody continues have lapsed. */
const LAPSED_MS = 40 * 60_000;
/** More than the attempts of one request to the store. */
const FAULTS = 5;
const MAX_TRIES = 30;

async function start(t: TestContext) {
  const settings = testBucket(t);
  const stub = await startStub(t, settings);
  const config = { ...(await testConfig(t)), store: stub.settings };
  const server = await startOn(t, config);
  const { headers } = await server.user();
  const tus = (method: string, path: string, more: Record<string, string>, body: Uint8Array | null = null) =>
    fetch(server.url + path, {
      method,
      headers: { ...headers, "tus-resumable": "1.0.0", ...more },
      body: body as Uint8Array<ArrayBuffer> | null,
    });

  /** Sends all bytes in parts, each until it is in, and returns the id of the attachment. */
  async function uploadAll(): Promise<string> {
    const metadata = `filename ${Buffer.from("a.bin").toString("base64")}`;
    const created = await tus("POST", "/v1/uploads", {
      "upload-length": `${BYTES.length}`,
      "upload-metadata": metadata,
    });
    assert.equal(created.status, 201);
    const path = new URL(created.headers.get("location")!).pathname;
    let known = 0;
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const head = await tus("HEAD", path, {});
      if (head.status === 503) continue;
      assert.equal(head.status, 200);
      const id = head.headers.get("parley-attachment");
      if (id !== null) return id;
      const offset = Number(head.headers.get("upload-offset"));
      assert.ok(offset >= known, `${offset} bytes, and ${known} were acknowledged`);
      const end = CUTS.find((cut) => cut > offset)!;
      const type = { "content-type": "application/offset+octet-stream", "upload-offset": `${offset}` };
      const answer = await tus("PATCH", path, type, BYTES.subarray(offset, end));
      assert.ok([204, 503].includes(answer.status), await answer.clone().text());
      if (answer.status === 204) known = Number(answer.headers.get("upload-offset"));
    }
    throw new Error("the upload did not end");
  }

  /** The file has its bytes, and another node leaves nothing else once intents have lapsed. */
  async function settled(id: string): Promise<void> {
    stub.fault = () => undefined;
    const attachment = await fetch(`${server.url}/v1/attachments/${id}`, { headers });
    const { file_url } = (await attachment.json()) as { file_url: string };
    const file = Buffer.from(await (await fetch(file_url)).arrayBuffer());
    assert.ok(file.equals(BYTES), "the file has other bytes");
    const rows = await server.app.core.db.all(sql<{ blob_key: string }>`SELECT blob_key FROM attachments`);
    await server.app.stop();
    const later = await startOn(t, config, { clock: () => Date.now() + LAPSED_MS });
    const isClean = async () => {
      const { objects, uploads } = await contentOf(settings);
      return uploads.length === 0 && objects.join() === rows[0]!.blob_key;
    };
    assert.ok(await eventually(isClean), JSON.stringify(await contentOf(settings)));
    await later.app.stop();
  }

  return { stub, uploadAll, settled };
}

const REQUESTS: [what: string, request: RegExp][] = [
  ["a tail is stored", /^PUT \?x-id/],
  ["an upload in parts is begun", /^POST \?uploads/],
  ["a part is stored", /^PUT \?partNumber=2/],
  ["the parts are listed", /^GET \?.*uploadId/],
  ["the parts are made an object", /^POST \?uploadId/],
];

for (const fault of [503, "reset", "late"] satisfies StoreFault[]) {
  for (const [what, request] of REQUESTS) {
    test(`F7 ${fault} where ${what}: the upload goes on, and nothing stays over`, {
      skip: noS3,
    }, async (t) => {
      const { stub, uploadAll, settled } = await start(t);
      let left = FAULTS;
      stub.fault = (asked) => (request.test(asked) && left-- > 0 ? fault : undefined);
      const id = await uploadAll();
      assert.ok(left < FAULTS, "the fault struck");
      await settled(id);
    });
  }
}
