// Expensive pictures of some users do not delay cheap ones of others.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type PreviewParts, Previews } from "../../src/core/node/previews.ts";
import type { AttachmentRow } from "../../src/db/queries/files/attachments.ts";
import { PreviewCache } from "../../src/previews/cache.ts";
import { findSharp } from "../../src/previews/command.ts";
import { CHEAP, type Size, toCost } from "../../src/previews/cost.ts";
import type { Picture } from "../../src/previews/maker.ts";
import { PreviewMakers } from "../../src/previews/makers.ts";
import { createIds } from "../../src/util/ids.ts";
import { MAX_PIXELS } from "../../src/util/sizes.ts";
import { eventually } from "../support/files-on-disk.ts";
import { endless, twoColours } from "./pictures.ts";

const SMALL: Size = { width: 400, height: 300 };
const LARGE: Size = { width: 9990, height: 9990 };
const small = () => twoColours(SMALL.width, SMALL.height).png().toBuffer();

function testMakers(t: TestContext): PreviewMakers {
  const makers = new PreviewMakers(findSharp(), assert.ifError);
  t.after(() => makers.close());
  return makers;
}

const pictureOf = (shape: Size | null, size: number, read: Picture["read"]) => ({
  ...{ shape, size, read },
  uploaderId: "usr",
});

test("the cost of a preview counts pixels decoded, pixels encoded and bytes read", () => {
  const cost = (width: number, height: number, size: number, wanted: number) =>
    toCost({ shape: { width, height }, size }, wanted);
  assert.equal(cost(200, 100, 50, 320), 200 * 100 + 8 * 200 * 100 + 2 * 50);
  assert.equal(cost(6400, 3200, 0, 320), 6400 * 3200 + 8 * 320 * 160);
  // The preview of a strip is narrower: 80 by 1280.
  assert.equal(cost(640, 10_240, 0, 320), 640 * 10_240 + 8 * 80 * 1280);
  assert.ok(cost(1600, 1200, 250_000, 320) < CHEAP);
  assert.ok(cost(4000, 3000, 0, 320) > CHEAP);
  assert.ok(cost(1280, 960, 0, 1280) > CHEAP);
  assert.ok(cost(8, 8, 2_000_000, 320) > CHEAP);
  assert.ok(toCost({ shape: null, size: 1 }, 320) > MAX_PIXELS);
});

test("a cheap preview does not wait for an expensive one or for one that nobody requested", async (t) => {
  const bytes = await small();
  for (const [shape, isUrgent] of [
    [LARGE, true],
    [null, true],
    [SMALL, false],
  ] as const) {
    const makers = testMakers(t);
    const { read, isReading } = endless(bytes);
    const dear = makers.make(pictureOf(shape, bytes.length, read), 320, isUrgent);
    await isReading;
    assert.ok(
      await makers.make(
        pictureOf(SMALL, bytes.length, async () => bytes),
        320,
        true,
      ),
    );
    await Promise.all([assert.rejects(dear, { code: "unavailable" }), makers.close()]);
  }
});

test("a picture larger than its row says has no cheap preview", async (t) => {
  const makers = testMakers(t);
  const bytes = await twoColours(2000, 2000).png().toBuffer();
  const make = (shape: Size) =>
    makers.make(
      pictureOf(shape, bytes.length, async () => bytes),
      320,
      true,
    );
  assert.equal(await make(SMALL), null);
  assert.ok(await make({ width: 2000, height: 2000 }));
});

/** Starts previews whose files are read as the test says. */
async function testPreviews(t: TestContext, parts: Pick<PreviewParts, "open" | "findShape">) {
  const folder = await mkdtemp(join(tmpdir(), "parley-previews-"));
  const previews = new Previews({
    ...parts,
    cache: await PreviewCache.open({ folder, maxBytes: 10_000_000 }, Date.now),
    makers: testMakers(t),
    storePlaceholder: async () => {},
    onFailure: assert.ifError,
  });
  t.after(async () => {
    await previews.close();
    await rm(folder, { recursive: true });
  });
  return previews;
}

test("a request waits neither for background previews nor for expensive ones", async (t) => {
  const bytes = await small();
  const newId = createIds(Date.now, (random) => void crypto.getRandomValues(random));
  const row = (): AttachmentRow =>
    ({
      id: newId("att"),
      file_type: "image/png",
      file_size: bytes.length,
      uploader_id: "usr",
    }) as AttachmentRow;
  const [dear, waiting] = [row(), row()];
  const { read, isReading } = endless(bytes);
  const previews = await testPreviews(t, {
    open: ({ id }) => (id === dear.id ? read() : Promise.resolve(bytes)),
    findShape: async (id) => (id === dear.id ? LARGE : SMALL),
  });
  const refused = assert.rejects(previews.get(dear, 320), { code: "unavailable" });
  await isReading;
  previews.prepare(waiting);
  let made: Uint8Array | null = null;
  const isMade = async () => made !== null;
  void previews.get(waiting, 320).then((preview) => {
    made = preview;
  }, assert.ifError);
  assert.ok(await eventually(isMade));
  await Promise.all([refused, previews.close()]);
});
