import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { attachment, attachments, call, json, newContact, problem, seeded } from "../client.ts";
import { fieldPart, filePart, multipart, newAttachment, post, upload } from "../upload.ts";

/** Creates an empty conversation, for uploads that must leave nothing. */
async function untouched(): Promise<{ query: string; check: () => Promise<void> }> {
  const query = `?conversation_id=${(await newContact()).conversation_id}`;
  const check = async () => {
    assert.deepEqual(attachments(await call("GET", `/v1/attachments${query}`)).data, []);
  };
  return { query, check };
}

test("an upload without a file is 400", async () => {
  const { query, check } = await untouched();
  problem(await post([], query), 400);
  problem(await post([fieldPart("conversation_id", query.slice(query.indexOf("=") + 1))]), 400);
  await check();
});

test("two files are 400, and neither is stored", async () => {
  const { query, check } = await untouched();
  problem(await post([filePart("one.txt"), filePart("two.txt")], query), 400);
  problem(await post([filePart("one.txt", ""), filePart("two.txt", randomBytes(300_000))], query), 400);
  await check();
});

test("a file in a field with another name is 400 and not stored", async () => {
  const { query, check } = await untouched();
  const other = { head: 'Content-Disposition: form-data; name="upload"; filename="a.txt"', body: "x" };
  problem(await post([other], query), 400);
  problem(await post([filePart("one.txt"), other], query), 400);
  await check();
});

test("a text value in place of the file is 400 with the hint to send a file", async () => {
  const { query, check } = await untouched();
  const { detail } = problem(await post([fieldPart("file", "notes.txt")], query), 400);
  assert.ok(detail.includes("-F file=@"), detail);
  problem(await post([fieldPart("file", "text"), filePart("one.txt")], query), 400);
  problem(await post([filePart("one.txt"), fieldPart("file", "text")], query), 400);
  await check();
});

test("an upload that is not a multipart form is 415", async () => {
  const { query, check } = await untouched();
  const bodies = [
    json({ file: "x" }),
    { headers: { "content-type": "application/x-www-form-urlencoded" }, body: "file=x" },
    { headers: { "content-type": "image/png" }, body: Buffer.from("x") },
    { body: Buffer.from("x") },
  ];
  for (const options of bodies) problem(await call("POST", `/v1/attachments${query}`, options), 415);
  await check();
});

test("a form without a boundary, or truncated, is 400 and nothing is stored", async () => {
  const { query, check } = await untouched();
  const path = `/v1/attachments${query}`;
  const whole = multipart([filePart("one.txt")]);
  const body = Buffer.from(whole.body as Buffer);
  problem(await call("POST", path, { headers: { "content-type": "multipart/form-data" }, body }), 400);
  problem(await call("POST", path, multipart([filePart("one.txt")], "")), 400);
  for (const cut of [10, 60, body.length - 40, body.length - 8, body.length - 4]) {
    problem(await call("POST", path, { ...whole, body: body.subarray(0, cut) }), 400);
  }
  problem(await call("POST", path, { ...whole, body: Buffer.alloc(0) }), 400);
  problem(await call("POST", path, { ...whole, body: Buffer.from("no form at all") }), 400);
  await check();
});

test("a part with invalid headers is 400 and nothing is stored", async () => {
  const { query, check } = await untouched();
  problem(
    await post([{ head: "Content-Disposition form-data", body: "x" }, filePart("one.txt")], query),
    400,
  );
  problem(
    await post([{ head: "Content-Disposition: form-data", body: "x" }, filePart("one.txt")], query),
    400,
  );
  await check();
});

test("a file is stored byte for byte, even if it looks like the surrounding form", async () => {
  const { headers } = multipart([]);
  const boundary = headers?.["content-type"]?.split("boundary=")[1] ?? "";
  const bodies = [
    "\r\n",
    "\r\n--",
    `a\n--${boundary}--\n`,
    `\r\n--${boundary.slice(0, -1)}`,
    `\r\n-${boundary}\r\n\r\n--\r`,
    "a\rb\nc\0d\u001ae",
    "\ufeffwith a mark",
  ];
  for (const body of bodies) {
    const made = attachment(await post([filePart("odd.bin", body, "application/octet-stream")]), 201);
    assert.equal(made.file_size, Buffer.byteLength(body));
    assert.deepEqual((await call("GET", made.file_url, { token: null })).bytes, Buffer.from(body));
  }
});

test("a file of arbitrary bytes is returned as sent", async (t) => {
  const sizes = fc.constantFrom(1, 4095, 4096, 4097, 65_535, 65_536, 65_537, 1_048_577);
  await fc.assert(
    fc.asyncProperty(fc.oneof(sizes, fc.nat(200_000)), async (size) => {
      const bytes = randomBytes(size);
      const made = await newAttachment({ name: "any.bin", type: "application/octet-stream", bytes });
      assert.equal(made.file_size, size);
      const got = await call("GET", made.file_url, { token: null });
      assert.ok(got.bytes.equals(bytes), `${size} bytes came back as ${got.bytes.length} others`);
    }),
    { seed: seeded(t), numRuns: 15 },
  );
});

test("concurrent uploads do not mix", async () => {
  const { conversation_id } = await newContact();
  const sent = Array.from({ length: 8 }, () => randomBytes(150_000));
  const made = await Promise.all(
    sent.map((bytes, at) =>
      newAttachment({ bytes, name: `${at}.bin`, after: [["conversation_id", conversation_id]] }),
    ),
  );
  for (const [at, { file_url, filename }] of made.entries()) {
    assert.equal(filename, `${at}.bin`);
    assert.ok((await call("GET", file_url, { token: null })).bytes.equals(sent[at]!));
  }
  const listed = attachments(await call("GET", `/v1/attachments?conversation_id=${conversation_id}`)).data;
  assert.deepEqual(listed.map(({ id }) => id).toSorted(), made.map(({ id }) => id).toSorted());
});

test("a field with a control character is 400 or like an unknown id, never accepted", async () => {
  const { query, check } = await untouched();
  const id = query.slice(query.indexOf("=") + 1);
  for (const value of [`${id}\0`, `${id}\n`, ` ${id}`]) {
    const reply = await upload({ before: [["conversation_id", value]] });
    assert.ok(reply.status === 400 || reply.status === 404, `answered ${reply.status}`);
    problem(reply, reply.status);
  }
  await check();
});
