// F7: the S3 store fails and loses answers during a resumable upload, which must lose and leave nothing.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { type TestContext, test } from "node:test";
import { sql } from "../../src/db/sql.ts";
import { startOn, testConfig } from "../support/app.ts";
import { contentOf, noS3, testBucket } from "../support/engines/s3.ts";
import { type StoreFault, startStub } from "../support/engines/s3-stub.ts";
import { eventually } from "../support/files-on-disk.ts";
import { uploadInParts } from "../support/tus.ts";

/** Whole parts, and a partial one between them. */
const BYTES = randomBytes(20 * 1024 * 1024 + 5);
const CUTS = [5_000_000, 9_000_000, 18_000_000, BYTES.length];
/** The time after which the intents of abandoned uploads expire. */
const LAPSED_MS = 40 * 60_000;
/** More than the attempts of one request to the store. */
const FAULTS = 5;

async function start(t: TestContext) {
  const settings = testBucket(t);
  const stub = await startStub(t, settings);
  const config = { ...(await testConfig(t)), store: stub.settings };
  const server = await startOn(t, config);
  const user = await server.user();

  /** Asserts that the file has its bytes, and that another node leaves nothing else once intents have expired. */
  async function settled(id: string): Promise<void> {
    stub.fault = () => undefined;
    // If one arrived after its intent has expired, its bytes would stay: intents outlast all requests.
    await stub.lateRequests();
    const attachment = await fetch(`${server.url}/v1/attachments/${id}`, { headers: user.headers });
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

  return { stub, upload: () => uploadInParts(server, user, BYTES, CUTS), settled };
}

const REQUESTS: [what: string, request: RegExp][] = [
  ["a partial part is stored", /^PUT \?x-id/],
  ["a multipart upload is started", /^POST \?uploads/],
  ["a part is stored", /^PUT \?partNumber=2/],
  ["the parts are listed", /^GET \?.*uploadId/],
  ["the parts are completed", /^POST \?uploadId/],
];

for (const fault of [503, "reset", "late"] satisfies StoreFault[]) {
  for (const [what, request] of REQUESTS) {
    test(`F7 ${fault} when ${what}: the upload continues, and nothing is left over`, {
      skip: noS3,
    }, async (t) => {
      const { stub, upload, settled } = await start(t);
      let left = FAULTS;
      stub.fault = (asked) => (request.test(asked) && left-- > 0 ? fault : undefined);
      const { id } = await upload();
      assert.ok(left < FAULTS, "the fault struck");
      await settled(id);
    });
  }
}
