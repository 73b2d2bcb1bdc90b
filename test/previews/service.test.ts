// Previews of uploaded pictures.
import assert from "node:assert/strict";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import sharp from "sharp";
import { thumbHashToApproximateAspectRatio } from "thumbhash";
import { type AttachmentRow, findVisibleAttachment } from "../../src/db/queries/files/attachments.ts";
import { sql } from "../../src/db/sql.ts";
import { startPreviewSweep } from "../../src/jobs/previews.ts";
import { previewFolder, startOn, type TestApp, type TestUser, testConfig, upload } from "../support/app.ts";
import { testDatabase } from "../support/engines/postgres.ts";
import { eventually } from "../support/files-on-disk.ts";
import { noise, twoColours } from "./pictures.ts";

interface Site {
  server: TestApp;
  ann: TestUser;
  folder: string;
}

async function site(t: TestContext, databaseUrl: string | null = null): Promise<Site> {
  const config = { ...(await testConfig(t)), databaseUrl, secrets: ["s".repeat(32)] };
  const folder = previewFolder(config);
  const server = await startOn(t, { ...config, previews: { folder, maxBytes: 10_000_000 } });
  return { server, ann: await server.user(), folder };
}

async function give({ server, ann }: Site, bytes: Uint8Array, name = "a.jpg") {
  const response = await upload(server.url, ann, new File([Uint8Array.from(bytes)], name));
  assert.equal(response.status, 201);
  const { id } = (await response.json()) as { id: string };
  return (await findVisibleAttachment(server.app.core.db, id))!;
}

async function placeholderOf({ server }: Site, id: string): Promise<string | null> {
  const row = await server.app.core.db.get(
    sql<{ placeholder: string | null }>`SELECT placeholder FROM attachments WHERE id = ${id}`,
  );
  return row!.placeholder;
}

async function shapeOf(preview: Uint8Array | null): Promise<unknown[]> {
  const { format, width, height } = await sharp(preview!).metadata();
  return [format, width, height];
}

for (const engine of ["sqlite", "postgres"]) {
  test(`${engine}: files in the database and in the store have previews and placeholders`, async (t) => {
    const place = await site(t, engine === "postgres" ? await testDatabase(t) : null);
    const previews = place.server.app.core.previews!;
    for (const picture of [twoColours(700, 700), noise(700, 700)]) {
      const row = await give(place, await picture.jpeg().toBuffer());
      const made = (await previews.get(row, 320))!;
      assert.deepEqual(await shapeOf(made), ["webp", 320, 320]);
      const placeholder = await placeholderOf(place, row.id);
      assert.equal(thumbHashToApproximateAspectRatio(Buffer.from(placeholder!, "base64")), 1);
      assert.deepEqual(Buffer.from((await previews.get(row, 320))!), Buffer.from(made));
      assert.deepEqual(await shapeOf(await previews.get(row, 640)), ["webp", 640, 640]);
      assert.equal(await placeholderOf(place, row.id), placeholder);
    }
  });
}

test("concurrent requests share one preview", async (t) => {
  const place = await site(t);
  const previews = place.server.app.core.previews!;
  const row = await give(place, await noise(700, 700).jpeg().toBuffer());
  const [one, other, larger] = await Promise.all([
    previews.get(row, 640),
    previews.get(row, 640),
    previews.get(row, 1280),
  ]);
  assert.equal(one, other);
  assert.deepEqual(await shapeOf(one), ["webp", 640, 640]);
  assert.deepEqual(await shapeOf(larger), ["webp", 700, 700]);
});

test("a picture without a preview is remembered, and other types are not tried", async (t) => {
  const place = await site(t);
  const previews = place.server.app.core.previews!;
  const jpeg = await noise(700, 700).jpeg().toBuffer();
  const text = await give(place, Buffer.from("text"), "a.jpg.txt");
  assert.equal(await previews.get(text, 320), null);
  assert.deepEqual(await readdir(place.folder), []);
  const damaged = await give(place, jpeg.subarray(0, jpeg.length / 2));
  assert.equal(await previews.get(damaged, 320), null);
  assert.deepEqual(await readdir(place.folder), [`${damaged.id}-0.webp`]);
  // Read from the cache: the file itself has changed.
  const whole = await give(place, jpeg);
  for (const width of [320, 640, 1280])
    assert.equal(await previews.get({ ...whole, id: damaged.id }, width), null);
  assert.equal(await placeholderOf(place, damaged.id), null);
});

test("a file that cannot be read has no preview for now", async (t) => {
  const place = await site(t);
  const { previews } = place.server.app.core;
  const row = await give(place, await noise(700, 700).jpeg().toBuffer());
  await assert.rejects(previews!.get({ ...row, crc32: 1 }, 640), /are damaged/);
  assert.ok(!(await readdir(place.folder)).includes(`${row.id}-640.webp`));
  assert.ok(await previews!.get(row, 640));
});

test("a file deleted before its preview is made is gone, not damaged", async (t) => {
  const place = await site(t);
  const { previews } = place.server.app.core;
  const row = await give(place, await twoColours(64, 64).png().toBuffer());
  const gone = { method: "DELETE", headers: place.ann.headers };
  assert.equal((await fetch(`${place.server.url}/v1/attachments/${row.id}`, gone)).status, 204);
  await assert.rejects(previews!.get(row, 640), { code: "attachment_not_found" });
});

test("the first preview is made in the background", async (t) => {
  const place = await site(t);
  const previews = place.server.app.core.previews!;
  const rows: AttachmentRow[] = [];
  for (let i = 0; i < 3; i++) rows.push(await give(place, await noise(600, 600).jpeg().toBuffer()));
  await give(place, Buffer.from("text"), "a.txt");
  assert.ok(await eventually(async () => (await placeholderOf(place, rows[2]!.id)) !== null));
  const names = rows.map(({ id }) => `${id}-320.webp`);
  assert.deepEqual((await readdir(place.folder)).sort(), names.sort());
  // Large enough for the store, where the key is not the id.
  const small = await give(place, await noise(200, 200).png().toBuffer(), "a.png");
  assert.ok(await eventually(async () => (await placeholderOf(place, small.id)) !== null));
  const alias = (number: number) => ({ ...small, id: `${small.id.slice(0, -3)}${number}` });
  const isMade = async (row: AttachmentRow) => (await previews.cache.find(row.id, 320)) !== undefined;
  for (let i = 0; i < 150; i++) previews.prepare(alias(100 + i));
  assert.ok(await eventually(() => isMade(alias(199))));
  const last = alias(999);
  previews.prepare(last);
  assert.ok(await eventually(() => isMade(last)));
  // A hundred waited and one may have been running; the rest are made on request.
  const made = (await readdir(place.folder)).length - (rows.length + 1) - 1;
  assert.ok(made === 100 || made === 101, `${made} were made`);
});

test("the sweep removes previews of deleted attachments and leftovers of a crash", async (t) => {
  const place = await site(t);
  const { server, ann, folder } = place;
  const { core } = server.app;
  const bytes = await noise(600, 600).jpeg().toBuffer();
  const [kept, gone] = [await give(place, bytes), await give(place, bytes)];
  for (const row of [kept, gone]) for (const width of [320, 640]) await core.previews!.get(row, width);
  const left = `${kept.id}-1280.webp.new`;
  await writeFile(join(folder, left), "x");
  await writeFile(join(folder, "notes.txt"), "x");
  const response = await fetch(`${server.url}/v1/attachments/${gone.id}`, {
    method: "DELETE",
    headers: ann.headers,
  });
  assert.equal(response.status, 204);
  const job = startPreviewSweep(core, core.previews!, assert.ifError);
  t.after(() => job.stop());
  const expected = [`${kept.id}-320.webp`, `${kept.id}-640.webp`, "notes.txt"].sort();
  const isClean = async () => JSON.stringify((await readdir(folder)).sort()) === JSON.stringify(expected);
  assert.ok(await eventually(isClean), (await readdir(folder)).join());
});

test("the service runs without the setting, and stops while a preview is being made", async (t) => {
  const plain = await startOn(t, await testConfig(t));
  assert.equal(plain.app.core.previews, null);
  const place = await site(t);
  const row = await give(place, await noise(3000, 2000).jpeg().toBuffer());
  const { previews } = place.server.app.core;
  // Enough that the last is not made first, but few enough that none is refused.
  const rows = Array.from({ length: 29 }, (_, i) => ({ ...row, id: `${row.id.slice(0, -2)}${10 + i}` }));
  const making = rows.map((each) =>
    previews!.get(each, 1280).catch((error: { code?: string }) => error.code),
  );
  t.after(() => previews!.close());
  await place.server.app.stop();
  const pending = new Promise((resolve) => setImmediate(resolve, "still being made"));
  assert.equal(await Promise.race([making.at(-1), pending]), "unavailable");
  assert.ok(!(await readdir(place.folder)).includes(`${rows.at(-1)!.id}-1280.webp`));
});
