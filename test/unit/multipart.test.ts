import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { MultipartReader } from "../../src/http/protocol/multipart.ts";
import { holds } from "../support/property.ts";
import {
  byteByByte,
  encodeForm,
  MAX_HEADER_BYTES,
  readForm,
  refused,
  type SentPart,
  sourceOf,
  split,
} from "./multipart-form.ts";

const BOUNDARY_CHARACTERS = "0123456789ABCXYZabcxyz'()+_,-./:=?";

const boundaries = fc.oneof(
  fc.string({ unit: fc.constantFrom(...BOUNDARY_CHARACTERS), minLength: 1, maxLength: 70 }),
  fc.constantFrom("-", "--", "b", "----WebKitFormBoundaryAbC123", "a b"),
);

// Excludes names with browser escapes: those decode to other characters.
const names = fc
  .oneof(
    fc.string({ unit: "grapheme", maxLength: 30 }),
    fc.string({ unit: fc.constantFrom(..."ab\\\";:= '%\u2028é😀"), maxLength: 30 }),
  )
  .filter((name) => !/%(?:22|0d|0a)|\p{Cc}/iu.test(name));

const types = fc.constantFrom("text/plain", "image/png; a=b", "", "x", "text/plain; charset=UTF-8");

/** Generates bodies from pieces that resemble the end of a part. */
function bodies(boundary: string): fc.Arbitrary<Buffer> {
  const delimiter = `\r\n--${boundary}`;
  const piece = fc.oneof(
    fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
    fc
      .constantFrom("\r", "\n", "\r\n", "--", "\r\n\r\n", "\r\n--", boundary, " ")
      .map((text) => Buffer.from(text)),
    fc.nat(delimiter.length - 1).map((length) => Buffer.from(delimiter.slice(0, length))),
  );
  return fc
    .array(piece, { maxLength: 12 })
    .map((pieces) => Buffer.concat(pieces))
    .filter((body) => !Buffer.concat([Buffer.from("\r\n"), body]).includes(delimiter));
}

const forms = boundaries.chain((boundary) => {
  const part: fc.Arbitrary<SentPart> = fc.record(
    {
      name: names,
      filename: fc.option(names, { nil: undefined }),
      type: fc.option(types, { nil: undefined }),
      body: bodies(boundary),
    },
    { noNullPrototype: true },
  );
  return fc.record({ boundary: fc.constant(boundary), parts: fc.array(part, { maxLength: 4 }) });
});

const chunkings = fc.oneof(
  fc.constant("whole" as const),
  fc.constant("bytes" as const),
  fc.array(fc.nat(5000), { maxLength: 30 }),
);

function chunked(bytes: Buffer, how: "whole" | "bytes" | number[]): Buffer[] {
  if (how === "whole") return [bytes];
  return how === "bytes" ? byteByByte(bytes) : split(bytes, how);
}

test("a form returns exactly its parts, however its bytes are chunked", () =>
  holds(
    fc.asyncProperty(forms, chunkings, async ({ boundary, parts }, how) => {
      const read = await readForm(chunked(encodeForm(parts, boundary), how), boundary);
      assert.deepEqual(read, parts);
    }),
    1000,
  ));

test("text after the closing boundary and a preamble change nothing", () =>
  holds(
    fc.asyncProperty(
      forms,
      chunkings,
      fc.constantFrom("\r\n", "\r\nThis is a form.\r\n", "--\r\n", "\n\r\n", "--b\r\n\r\n", "\r\r\n"),
      fc.constantFrom("\r\n", "\r\n\r\n", "\n", " \t\r\n"),
      async ({ boundary, parts }, how, preamble, epilogue) => {
        fc.pre(!`\r\n${preamble}`.includes(`\r\n--${boundary}`));
        const form = encodeForm(parts, boundary);
        const bytes = Buffer.concat([Buffer.from(preamble), form, Buffer.from(epilogue)]);
        assert.deepEqual(await readForm(chunked(bytes, how), boundary), parts);
      },
    ),
  ));

test("a truncated form is refused and never ends cleanly", () =>
  holds(
    fc.asyncProperty(forms, chunkings, fc.nat(), async ({ boundary, parts }, how, at) => {
      const form = encodeForm(parts, boundary);
      const cut = form.subarray(0, at % form.length);
      await assert.rejects(readForm(cut.length === 0 ? [] : chunked(cut, how), boundary), {
        code: "malformed_body",
      });
    }),
    1000,
  ));

test("a form with two parts is refused when truncated at any byte", async () => {
  const parts: SentPart[] = [
    { name: "a", filename: undefined, type: undefined, body: Buffer.from("\r\n--x\r\n") },
    { name: "file", filename: "a.txt", type: "text/plain", body: Buffer.from("--\r\n\r") },
  ];
  const form = encodeForm(parts, "xy");
  assert.deepEqual(await readForm([form], "xy"), parts);
  for (let length = 0; length < form.length; length++) await refused(form.subarray(0, length), "xy");
});

const edits = fc.array(
  fc.record({
    at: fc.nat(5000),
    remove: fc.nat(3),
    insert: fc.constantFrom(
      "",
      "\r",
      "\n",
      "\r\n",
      "-",
      "--",
      '"',
      ";",
      ":",
      "\\",
      "\0",
      "é",
      "\xff",
      "\r\n\r\n",
    ),
  }),
  { minLength: 1, maxLength: 3 },
);

test("damaged forms have the same result in one piece and byte by byte", () =>
  holds(
    fc.asyncProperty(forms, edits, async ({ boundary, parts }, changes) => {
      let bytes = encodeForm(parts, boundary);
      for (const { at, remove, insert } of changes) {
        const place = at % (bytes.length + 1);
        const rest = bytes.subarray(place + remove);
        bytes = Buffer.concat([bytes.subarray(0, place), Buffer.from(insert, "latin1"), rest]);
      }
      const outcome = (chunks: Buffer[]) =>
        readForm(chunks, boundary).catch((error: { code?: string }) => {
          assert.equal(error.code, "malformed_body");
          return "refused";
        });
      assert.deepEqual(await outcome(byteByByte(bytes)), await outcome([bytes]));
    }),
    1000,
  ));

const MEBIBYTE = 2 ** 20;
const HARD_TO_READ: [what: string, unit: string][] = [
  ["carriage returns", "\r"],
  ["line ends", "\r\n"],
  ["line ends with a dash", "\r\n-"],
  ["delimiters without their last character", `\r\n--${"b".repeat(69)}`],
  ["plain bytes", "x"],
];

for (const [what, unit] of HARD_TO_READ) {
  test(`the reader holds back at most a boundary's length of 4 MiB of ${what}`, async () => {
    const boundary = `${"b".repeat(69)}c`;
    const head = Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="a"\r\n\r\n`);
    const chunk = Buffer.alloc(65_521, unit);
    let given = 0;
    let calls = 0;
    let taken = 0;
    let most = 0;
    function* body(): Generator<Buffer> {
      yield head;
      for (; given < 4 * MEBIBYTE; given += chunk.length) {
        most = Math.max(most, given - taken);
        yield chunk;
      }
      most = Math.max(most, given - taken);
      yield Buffer.from(`\r\n--${boundary}--`);
    }
    const reader = new MultipartReader(sourceOf(body()), boundary, MAX_HEADER_BYTES);
    const part = await reader.next();
    for await (const piece of part!.body) {
      taken += piece.length;
      calls++;
    }
    assert.equal(await reader.next(), null);
    assert.equal(taken, given);
    assert.ok(most <= `\r\n--${boundary}`.length, `${most} bytes held back`);
    assert.ok(calls <= 2 * (given / chunk.length + 1), `${calls} pieces`);
  });
}

/** Returns endless chunks, and counts how many were read. */
function endless(head: string, unit: string) {
  const counted = { taken: 0, chunks: forever() };
  function* forever(): Generator<Buffer> {
    yield Buffer.from(head);
    while (counted.taken < 1000) {
      counted.taken++;
      yield Buffer.alloc(1024, unit);
    }
    assert.fail("a megabyte was read");
  }
  return counted;
}

const ENDLESS: [what: string, head: string, unit: string][] = [
  ["a preamble", "x", "x"],
  ["a preamble of line ends", "\r\n", "\r\n"],
  ["what follows the closing boundary", "--b--", "\r\n"],
  ["a header", '--b\r\nContent-Disposition: form-data; name="a', "a"],
  ["headers", '--b\r\nContent-Disposition: form-data; name="a"', "\r\nA: b"],
  ["a header after another part", '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n\r\n--b\r\n', "x"],
];

for (const [what, head, unit] of ENDLESS) {
  test(`${what} without an end is refused beyond the header limit`, async () => {
    const body = endless(head, unit);
    await assert.rejects(readForm(body.chunks, "b"), { code: "malformed_body" });
    assert.ok(body.taken <= MAX_HEADER_BYTES / 1024 + 1, `${body.taken} KiB were read`);
  });
}

test("the body of a part is passed on before all of it has arrived", async () => {
  const body = endless('--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n', "x");
  const reader = new MultipartReader(sourceOf(body.chunks), "b", MAX_HEADER_BYTES);
  const part = await reader.next();
  for await (const piece of part!.body) {
    assert.equal(piece.length, 1024);
    if (body.taken === 3) break;
  }
  assert.equal(body.taken, 3);
});

test("an error of the source is passed on unchanged", async () => {
  const failure = new Error("the connection ended");
  function* broken(): Generator<Buffer> {
    yield Buffer.from('--b\r\nContent-Disposition: form-data; name="a"\r\n\r\nx');
    throw failure;
  }
  await assert.rejects(readForm(broken(), "b"), (error) => error === failure);
});
