// Uploads by valid, odd and damaged forms, and file names.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { parse as parseDisposition } from "content-disposition";
import fc from "fast-check";
import { damage, damages, oneOf, texts } from "./damage.ts";
import { fuzz, type Subject, startSubject } from "./fuzz.ts";
import { ask, json, preview } from "./wire.ts";

interface Part {
  headers: string[];
  body: Buffer;
}

interface Form {
  boundary: string;
  type: string;
  parts: Part[];
  preamble: string;
  epilogue: string;
  /** If undefined, the form is sent whole, with a Content-Length. */
  chunkSizes: number[] | undefined;
  harm: Parameters<typeof damage>[1];
  /** The file of a form that must be accepted. */
  sane: { filename: string; body: Buffer } | undefined;
}

interface Attachment {
  id: string;
  filename: string;
  file_url: string;
  file_size: number;
}

const boundaries = fc.oneof(
  fc.string({ unit: fc.constantFrom(..."09azAZ'()+_,-./:=?"), minLength: 1, maxLength: 70 }),
  oneOf("-|--|b|----WebKitFormBoundaryAbC123|a b"),
);

/** Generates bodies that resemble the end of a part. Some are too large for the database and are stored on disk. */
function bodies(boundary: string): fc.Arbitrary<Buffer> {
  const pieces = fc.constantFrom("\r", "\n", "\r\n", "--", "\r\n\r\n", "\r\n--", boundary, " ", "\0", "\xff");
  return fc
    .oneof(
      fc.array(pieces, { maxLength: 12 }).map((all) => Buffer.from(all.join(""), "latin1")),
      fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
      fc.nat(199_999).map((size) => Buffer.alloc(size, "\r\n-")),
    )
    .filter((body) => !`\r\n${body.toString("latin1")}`.includes(`\r\n--${boundary}`));
}

const quoted = (text: string) => `"${text.replace(/["\\]/g, "\\$&")}"`;
const part = (body: Buffer, ...headers: string[]): Part => ({ headers, body });
const disposition = (name: string, filename?: string) =>
  `Content-Disposition: form-data; name=${quoted(name)}${filename === undefined ? "" : `; filename=${quoted(filename)}`}`;

/**
 * Returns the file name by the rules of docs/api/attachments.md, after decoding browsers' escapes and removing the
 * path; undefined if it is refused.
 */
function nameOf(text: string): string | undefined {
  const unescaped = text.replace(/%22/g, '"').replace(/%0d/gi, "\r").replace(/%0a/gi, "\n");
  return validName(unescaped.split(/[/\\]/).at(-1)!);
}

function validName(text: string): string | undefined {
  const name = text.replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "");
  const size = Buffer.byteLength(name);
  const odd = /\p{Cc}|[/\\]/u.test(name) || name === "." || name === ".." || !name.isWellFormed();
  return odd || size < 1 || size > 255 ? undefined : name;
}

const types = fc.option(oneOf("text/plain|image/png; a=b|text/html||x|a/b; charset=\u00e9"));

/** Generates forms with exactly one file, in all valid notations. */
function saneForms(boundary: string): fc.Arbitrary<Form> {
  const names = texts.filter(
    (text) =>
      nameOf(text) !== undefined &&
      !/\p{Cc}/u.test(text) &&
      text.isWellFormed() &&
      // With escapes it must fit into the 8 KiB of a part's headers. A path may be long if its last segment is short.
      Buffer.byteLength(text) <= 2500,
  );
  const body = bodies(boundary);
  return fc
    .record({
      name: names,
      body,
      type: types,
      framing: framings,
      epilogue: fc.constantFrom("", "\r\n", " \t\r\n\r\n"),
    })
    .map(({ name, body, type, framing, epilogue }) => ({
      boundary,
      type: `multipart/form-data; boundary="${boundary}"`,
      parts: [part(body, disposition("file", name), ...(type === null ? [] : [`Content-Type: ${type}`]))],
      preamble: "",
      epilogue,
      chunkSizes: framing,
      harm: [],
      sane: { filename: nameOf(name)!, body },
    }));
}

const framings = fc.option(fc.array(fc.integer({ min: 1, max: 5000 }), { maxLength: 20 }), {
  nil: undefined,
});

function oddParts(boundary: string): fc.Arbitrary<Part> {
  const some = (...headers: string[]) => bodies(boundary).map((body) => part(body, ...headers));
  const odd = [
    [],
    ["Content-Disposition: form-data"],
    ["Content-Disposition: attachment; name=file; filename=x"],
    [disposition("file", "a"), disposition("file", "b")],
    ["Content-Disposition: form-data; name=file; name=file; filename=x"],
    [disposition("file", "a"), "Content-Transfer-Encoding: base64"],
    [disposition("file", "a"), "Content-Type: multipart/mixed; boundary=b"],
    [disposition("file", "a"), "Content-Digest: sha-256=:AAAA:"],
    [disposition("file", "a"), `X-Long: ${"x".repeat(9000)}`],
    [disposition("file", "a"), ...Array.from({ length: 300 }, (_, i) => `X-${i}: ${i}`)],
    ["Content-Disposition: form-data; name=file; filename*=UTF-8''%ff"],
    ["Content-Disposition: form-data; name=file; filename*=UTF-8''n%C3%A4me; filename=x"],
    [disposition("__proto__", "a")],
    [disposition("file", "../../../etc/passwd")],
    [disposition("file", "..\\..\\a\0b")],
    [disposition("message_id")],
  ];
  return fc.oneof(
    fc.constantFrom(...odd).chain((headers) => some(...headers)),
    fc.tuple(texts, fc.option(texts)).chain(([name, file]) => some(disposition(name, file ?? undefined))),
    texts.chain((name) => some(disposition("file", name))),
    oneOf("cnv_|cnv_01m7yvg6r2e5abk2w3v9p0x1qd|x").map((id) =>
      part(Buffer.from(id), disposition("conversation_id")),
    ),
  );
}

function oddForms(boundary: string): fc.Arbitrary<Form> {
  const types = [
    `multipart/form-data; boundary=${boundary}`,
    `multipart/form-data; boundary="${boundary}"`,
    `MULTIPART/FORM-DATA ; x=y; Boundary="${boundary}"; charset=utf-8`,
    `multipart/form-data; boundary="${boundary}x"`,
    "multipart/form-data",
    `multipart/form-data; boundary=${"b".repeat(71)}`,
    `multipart/mixed; boundary=${boundary}`,
    `multipart/form-data, application/json; boundary=${boundary}`,
  ];
  return fc.record({
    boundary: fc.constant(boundary),
    type: fc.oneof({ weight: 5, arbitrary: fc.constant(types[1]!) }, fc.constantFrom(...types)),
    parts: fc.array(oddParts(boundary), { maxLength: 4 }),
    preamble: fc.constantFrom("", "", "\r\n", "preamble\r\n", `--${boundary}--\r\n`, "x".repeat(9000)),
    epilogue: fc.constantFrom("", "\r\n", "epilogue", "\r\n".repeat(5000), `\r\n--${boundary}--`),
    chunkSizes: framings,
    harm: fc.oneof(fc.constant([]), damages),
    sane: fc.constant(undefined),
  });
}

const forms = boundaries.chain((boundary) => {
  const hurt = fc
    .tuple(saneForms(boundary), damages)
    .map(([form, harm]) => ({ ...form, harm, sane: undefined }));
  return fc.oneof(saneForms(boundary), hurt, oddForms(boundary));
});

function bytesOf({ boundary, parts, preamble, epilogue, harm }: Form): Buffer {
  const pieces = parts.flatMap(({ headers, body }) => [
    Buffer.from([`--${boundary}`, ...headers, "", ""].join("\r\n")),
    body,
    Buffer.from("\r\n"),
  ]);
  return damage(
    Buffer.concat([Buffer.from(preamble), ...pieces, Buffer.from(`--${boundary}--${epilogue}`)]),
    harm,
  );
}

/** Encodes chunks of these sizes, repeated. */
function chunked(bytes: Buffer, sizes: readonly number[]): Buffer {
  const pieces: Buffer[] = [];
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const chunk = bytes.subarray(at, at + (sizes[i % sizes.length] ?? 5000));
    pieces.push(Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from("\r\n"));
    at += chunk.length;
  }
  return Buffer.concat([...pieces, Buffer.from("0\r\n\r\n")]);
}

async function send({ url, mine }: Subject, form: Form, bytes: Buffer) {
  const framing: Record<string, string> =
    form.chunkSizes === undefined ? {} : { "transfer-encoding": "chunked" };
  const headers = { ...mine.headers, "content-type": form.type, ...framing };
  const body = form.chunkSizes === undefined ? bytes : chunked(bytes, form.chunkSizes);
  return ask(url, { method: "POST", target: "/v1/attachments", headers, body });
}

/** Returns the path and query of a URL. */
const targetOf = (address: string) => address.replace(/^http:\/\/[^/]*/, "");

/** Asserts that an acknowledged file is stored byte for byte under its name, and gone after its delete. */
async function isKept({ url, mine }: Subject, made: Attachment, sent: Buffer): Promise<Buffer> {
  const item = { target: `/v1/attachments/${made.id}`, headers: mine.headers };
  // A link is signed anew each hour.
  assert.deepEqual({ ...json<Attachment>(await ask(url, item)), file_url: made.file_url }, made);
  const file = await ask(url, { target: targetOf(made.file_url) });
  assert.equal(file.status, 200);
  assert.equal(file.body.length, made.file_size);
  assert.ok(sent.includes(file.body), `not of ${preview(sent)}`);
  const digest = createHash("sha256").update(file.body).digest("base64");
  assert.equal(file.headers.get("repr-digest"), `sha-256=:${digest}:`);
  const { filename } = parseDisposition(file.headers.get("content-disposition")!).parameters;
  assert.equal(filename, made.filename);
  assert.equal((await ask(url, { ...item, method: "DELETE" })).status, 204);
  assert.equal((await ask(url, { target: targetOf(made.file_url) })).status, 404);
  return file.body;
}

/** Renames a file, and asserts that its old link still works. */
async function rename({ url, mine }: Subject, made: Attachment, filename: string): Promise<Attachment> {
  const item = {
    target: `/v1/attachments/${made.id}`,
    headers: { ...mine.headers, "content-type": "application/json" },
  };
  const answer = await ask(url, { ...item, method: "PUT", body: Buffer.from(JSON.stringify({ filename })) });
  const name = validName(filename);
  assert.equal(answer.status, name === undefined ? 400 : 200, JSON.stringify(filename));
  if (name === undefined) return made;
  const renamed = json<Attachment>(answer);
  assert.equal(renamed.filename, name);
  const old = await ask(url, { target: targetOf(made.file_url) });
  if (name === made.filename) assert.equal(old.status, 200);
  else assert.equal(old.headers.get("location")?.split("?")[0], renamed.file_url.split("?")[0]);
  return renamed;
}

test("a form is accepted whole and stored unchanged, or refused without a trace", async (t) => {
  const subject = await startSubject(t);
  await fuzz(t, subject, "forms", fc.record({ form: forms, name: texts }), async ({ form, name }) => {
    const bytes = bytesOf(form);
    const answer = await send(subject, form, bytes);
    const about = `${answer.status} ${answer.body} to ${preview(bytes)}`;
    if (form.sane !== undefined) assert.equal(answer.status, 201, about);
    if (answer.status !== 201) return assert.ok([400, 404, 413, 415].includes(answer.status), about);
    const made = json<Attachment>(answer);
    if (form.sane) assert.equal(made.filename, form.sane.filename);
    const kept = await isKept(subject, await rename(subject, made, name), bytes);
    if (form.sane) assert.ok(kept.equals(form.sane.body), about);
  });
});
