// Sizes and previews of pictures, and removing their metadata.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { type TestContext, test } from "node:test";
import sharp from "sharp";
import { type Attachment, Parley } from "../../../packages/parley-client/src/index.ts";
import { previewFolder, startOn, testConfig, upload } from "../../support/app.ts";
import { noS3, testBucket } from "../../support/engines/s3.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { postgresConfig } from "../../support/on-engines.ts";
import { code, filesOf, pair, person, read, send } from "../../support/people.ts";

type Shown = Attachment;

const PLACE = "the beach of Brighton";
const SERIAL = "serial number 4711";

/** Returns a picture with a rotated orientation and its location in the metadata. */
async function photo(width = 1600, height = 1200): Promise<Buffer> {
  const noise = { type: "gaussian" as const, mean: 128, sigma: 40 };
  return sharp({ create: { width, height, channels: 3, background: "#357", noise } })
    .jpeg()
    .withExif({
      IFD0: { ImageDescription: PLACE, Model: SERIAL },
      IFD3: { GPSLatitudeRef: "N", GPSLatitude: "51/1 30/1 3230/100" },
    })
    .withMetadata({ orientation: 6 })
    .toBuffer();
}

const PLACES = [
  { name: "SQLite and a folder", skip: false, config: async () => ({}) },
  {
    name: "PostgreSQL and S3",
    skip: noS3,
    config: async (t: TestContext) => ({ ...(await postgresConfig(t)), store: testBucket(t) }),
  },
];

for (const { name, skip, config } of PLACES) {
  async function start(t: TestContext, previews = true) {
    const own = await testConfig(t);
    const place = previews ? { previews: { folder: previewFolder(own), maxBytes: 1e8 } } : {};
    const server = await startOn(t, { ...own, ...(await config(t)), ...place });
    const { ann, bob, conversation: conversation_id } = await pair(server);
    const show = async (id: string, who = bob) =>
      read<Shown>(send(server, who, "GET", `/v1/attachments/${id}?include=image`), 200);
    return { server, ann, bob, conversation_id, show };
  }

  test(`${name}: include=image shows size, placeholder and previews, however a picture was uploaded`, {
    skip,
  }, async (t) => {
    const { server, ann, bob, conversation_id, show } = await start(t);
    const bytes = await photo();
    const file = () => new File([Uint8Array.from(bytes)], "beach.jpg");
    const one = await read<Shown>(upload(server.url, ann, file(), { conversation_id }), 201);
    assert.ok(!("image" in one));
    const client = new Parley({ url: server.url, token: ann.token });
    const parts = await client.uploads.send(file(), { conversation_id });
    const message = await client.messages.create({ conversation_id, text: "look" }, { files: [file()] });
    const plain = await client.attachments.upload(new File(["text"], "a.txt"), { conversation_id });
    const ids = [one.id, parts.id, message.attachments[0]!.id];
    for (const id of ids) {
      assert.equal((await show(id)).image?.width, 1200, "The size is known at once.");
      assert.ok(
        await eventually(async () => typeof (await show(id)).image?.placeholder === "string"),
        "The server makes it by itself.",
      );
      const { image } = await show(id);
      assert.deepEqual([image!.width, image!.height], [1200, 1600], "turned upright");
      assert.match(image!.placeholder!, /^[A-Za-z0-9+/]{20,40}=*$/);
      assert.deepEqual(
        image!.previews.map(({ width }) => width),
        [320, 640],
        "none that would be larger",
      );
    }
    assert.equal((await show(plain.id)).image, null);

    const all = "/v1/attachments?include=image,sender,unscanned";
    const { data } = await read<{ data: (Shown & { sender: object; unscanned: boolean })[] }>(
      send(server, bob, "GET", all),
      200,
    );
    assert.deepEqual(data.map(({ image }) => image?.width).sort(), [1200, 1200, 1200, undefined]);
    assert.ok(data.every(({ sender, unscanned }) => sender !== undefined && unscanned === false));

    const inMessages = [
      `/v1/messages?conversation_id=${conversation_id}&include=image`,
      `/v1/messages?conversation_id=${conversation_id}&around=${message.id}&include=image`,
      "/v1/messages?q=look&include=image",
    ];
    for (const path of inMessages) {
      const list = await read<{ data: { id: string; attachments: Shown[] }[] }>(
        send(server, bob, "GET", path),
        200,
      );
      const found = list.data.find(({ id }) => id === message.id)!;
      assert.equal(found.attachments[0]!.image!.width, 1200, path);
    }
    const again = await client.messages.retrieve(message.id, { include: "image,unscanned" });
    assert.equal(again.attachments[0]!.image!.height, 1600);
    assert.equal(
      await code(send(server, bob, "GET", "/v1/attachments?include=image,faces"), 400),
      "invalid_parameter",
    );
  });

  test(`${name}: previews are small, cacheable and free of metadata`, { skip }, async (t) => {
    const { server, ann, bob, conversation_id, show } = await start(t);
    const bytes = await photo();
    const file = new File([Uint8Array.from(bytes)], "beach.jpg");
    const { id } = await read<Shown>(upload(server.url, ann, file, { conversation_id }), 201);
    const { image, file_url } = await show(id);
    for (const { width, url } of image!.previews) {
      const answer = await fetch(url);
      assert.deepEqual(
        [answer.status, answer.headers.get("content-type")],
        [200, "image/webp"],
        await answer.clone().text(),
      );
      assert.match(answer.headers.get("cache-control")!, /^private, max-age=\d+$/);
      assert.match(answer.headers.get("content-disposition")!, /^inline; filename="?beach\.webp"?$/);
      const saved = await fetch(`${url}&download=1`, { method: "HEAD" });
      assert.match(saved.headers.get("content-disposition")!, /^attachment; filename="?beach\.webp"?$/);
      const preview = Buffer.from(await answer.arrayBuffer());
      const made = await sharp(preview).metadata();
      assert.deepEqual(
        [made.width, made.height, made.exif],
        [width, Math.round((width / 1200) * 1600), undefined],
      );
      assert.ok(preview.length < bytes.length / 2);
      const etag = answer.headers.get("etag")!;
      assert.equal((await fetch(url, { headers: { "if-none-match": etag } })).status, 304);
      const head = await fetch(url, { method: "HEAD" });
      assert.deepEqual([head.status, head.headers.get("content-length")], [200, String(preview.length)]);
    }
    const bare = file_url.split("?")[0]!;
    const byToken = (who: { headers: Record<string, string> }, width: string) =>
      fetch(`${bare}?width=${width}`, { headers: who.headers });
    assert.equal((await byToken(bob, "1280")).status, 200, "A smaller picture has it in its own size.");
    assert.equal(await code(byToken(bob, "500"), 400), "invalid_parameter");
    assert.equal(await code(byToken(await person(server, "eve"), "320"), 404), "attachment_not_found");
    assert.equal((await fetch(`${bare}?width=320`)).status, 403);
    const original = await fetch(file_url);
    assert.ok(Buffer.from(await original.arrayBuffer()).equals(bytes), "The original is untouched.");

    const text = await read<Shown>(upload(server.url, ann, new File(["text"], "a.txt"), {}), 201);
    assert.equal(await code(fetch(`${text.file_url}&width=320`), 404), "preview_not_found");
    assert.equal((await send(server, ann, "DELETE", `/v1/attachments/${id}`)).status, 204);
    assert.equal(await code(fetch(image!.previews[0]!.url), 404), "attachment_not_found");
  });

  test(`${name}: without PARLEY_PREVIEWS include=image still shows sizes`, {
    skip,
  }, async (t) => {
    const { server, ann, bob, conversation_id, show } = await start(t, false);
    const file = new File([Uint8Array.from(await photo())], "beach.jpg");
    const { id } = await read<Shown>(upload(server.url, ann, file, { conversation_id }), 201);
    const { image, file_url } = await show(id);
    assert.deepEqual(image, { width: 1200, height: 1600, placeholder: null, previews: [] });
    assert.equal(await code(fetch(`${file_url}&width=320`), 404), "preview_not_found");
    const inMessages = `/v1/messages?conversation_id=${conversation_id}`;
    for (const path of [`/v1/attachments/${id}`, "/v1/attachments", inMessages]) {
      const plain = await (await send(server, bob, "GET", path)).text();
      assert.ok(plain.includes(id) && !plain.includes('"image":'), plain);
    }
  });

  test(`${name}: strip_metadata removes metadata before anything is stored`, {
    skip,
  }, async (t) => {
    const { server, ann, bob, conversation_id, show } = await start(t, false);
    const bytes = await photo(200, 100);
    assert.ok(bytes.includes(PLACE) && bytes.includes(SERIAL));
    const form = (...parts: [name: string, value: string | File][]) => {
      const made = new FormData();
      for (const [part, value] of parts) made.append(part, value);
      return made;
    };
    const file = new File([Uint8Array.from(bytes)], "beach.jpg");
    const post = (path: string, body: FormData, key?: string) =>
      fetch(server.url + path, {
        method: "POST",
        headers: { ...ann.headers, ...(key && { "idempotency-key": key }) },
        body,
      });
    const bytesOf = async ({ file_url }: { file_url: string }) =>
      Buffer.from(await (await fetch(file_url)).arrayBuffer());

    const kept = await read<Shown>(post("/v1/attachments", form(["file", file])), 201);
    assert.ok((await bytesOf(kept)).equals(bytes));
    const query = await read<Shown>(post("/v1/attachments?strip_metadata=true", form(["file", file])), 201);
    const field = form(["strip_metadata", "true"], ["conversation_id", conversation_id], ["file", file]);
    const stripped = await read<Shown>(post("/v1/attachments", field, "once"), 201);
    const repeated = await read<Shown>(post("/v1/attachments", field, "once"), 201);
    assert.equal(repeated.id, stripped.id);
    const sent = form(
      ["strip_metadata", "true"],
      ["conversation_id", conversation_id],
      ["file", file],
      ["file", file],
    );
    const message = await read<{ attachments: Shown[] }>(post("/v1/messages", sent), 201);
    for (const each of [query, stripped, ...message.attachments]) {
      const left = await bytesOf(each);
      assert.ok(!left.includes(PLACE) && !left.includes(SERIAL) && left.length < bytes.length);
      assert.equal((await sharp(left).metadata()).orientation, 6);
      assert.deepEqual(
        await sharp(left).raw().toBuffer(),
        await sharp(bytes).raw().toBuffer(),
        "the same pixels",
      );
    }
    const { image } = await show(stripped.id);
    assert.deepEqual([image!.width, image!.height], [100, 200]);

    const before = (await filesOf(server, ann)).length;
    const late = form(["file", file], ["strip_metadata", "true"]);
    assert.equal(await code(post("/v1/attachments", late), 400), "invalid_parameter");
    const lateInMessage = form(
      ["conversation_id", conversation_id],
      ["file", file],
      ["strip_metadata", "true"],
    );
    assert.equal(await code(post("/v1/messages", lateInMessage), 400), "invalid_parameter");
    const cut = new File([Uint8Array.from(bytes.subarray(0, 300))], "cut.jpg");
    for (const other of [new File(["text"], "a.txt"), cut]) {
      const refused = post("/v1/attachments?strip_metadata=true", form(["file", other]));
      assert.equal(await code(refused, 422), "metadata_not_removable");
    }
    assert.equal((await filesOf(server, ann)).length, before);
    assert.equal((await filesOf(server, bob)).length, 3);
  });
}

test("Content-Digest is checked against the sent bytes, even with strip_metadata", async (t) => {
  const server = await startOn(t, await testConfig(t));
  const ann = await person(server, "ann");
  const bytes = await photo(200, 100);
  const sha256 = (of: Uint8Array) => `sha-256=:${createHash("sha256").update(of).digest("base64")}:`;
  /** The digest of the part, or of the whole body. */
  const send = async (digest: string | undefined, query = "?strip_metadata=true") => {
    const line = digest ? `Content-Digest: ${digest}\r\n` : "";
    const body = Buffer.concat([
      Buffer.from(`--b\r\nContent-Disposition: form-data; name="file"; filename="a.jpg"\r\n${line}\r\n`),
      bytes,
      Buffer.from("trailing\r\n--b--\r\n"),
    ]);
    const type = { "content-type": "multipart/form-data; boundary=b" };
    const whole: Record<string, string> = digest ? {} : { "content-digest": sha256(body) };
    const headers = { ...ann.headers, ...type, ...whole };
    return fetch(`${server.url}/v1/attachments${query}`, { method: "POST", headers, body });
  };
  const right = sha256(Buffer.concat([bytes, Buffer.from("trailing")]));
  const { file_url } = await read<Shown>(send(right), 201);
  const answer = await fetch(file_url);
  const left = Buffer.from(await answer.arrayBuffer());
  assert.ok(!left.includes(PLACE) && !left.includes("trailing"));
  assert.equal(answer.headers.get("repr-digest"), sha256(left));
  for (const wrong of [left, bytes]) assert.equal(await code(send(sha256(wrong)), 400), "digest_mismatch");
  assert.equal((await filesOf(server, ann)).length, 1);
  await read(send(undefined), 201);
  await read(send(right, ""), 201);
});

test("resumable uploads refuse strip_metadata", async (t) => {
  const server = await startOn(t, await testConfig(t));
  const ann = await person(server, "ann");
  const inBase64 = `filename ${btoa("a.jpg")},strip_metadata ${btoa("true")}`;
  const requests: [query: string, headers: Record<string, string>][] = [
    ["?filename=a.jpg&strip_metadata=true", { "upload-complete": "?0" }],
    ["", { "tus-resumable": "1.0.0", "upload-length": "3", "upload-metadata": inBase64 }],
  ];
  for (const [query, headers] of requests) {
    const sent = fetch(`${server.url}/v1/uploads${query}`, {
      method: "POST",
      headers: { ...ann.headers, ...headers },
    });
    assert.equal(await code(sent, 400), "unknown_parameter");
  }
});
