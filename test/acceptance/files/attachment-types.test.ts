import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { type Attachment, attachment, call, location } from "../client.ts";
import { createTus, finished, patchTus } from "../resumables.ts";
import { disposition, filePart, PNG, post } from "../upload.ts";

const OCTETS = "application/octet-stream";

/** Returns the type without parameters: whether those are kept is not specified. */
async function typeOf(name: string, body: string | Buffer, declared?: string): Promise<string> {
  const made = attachment(await post([filePart(name, body, declared)]), 201);
  const got = await call("GET", made.file_url, { token: null });
  assert.equal(
    bare(got.headers.get("content-type") ?? ""),
    bare(made.file_type),
    "the file is served as another type",
  );
  if (made.file_type === OCTETS) assert.equal(disposition(got).type, "attachment");
  return bare(made.file_type);
}

function bare(type: string): string {
  return type.split(";")[0]!.trim().toLowerCase();
}

for (const declared of ["text/plain", "text/html", "application/pdf", OCTETS, undefined]) {
  test(`a PNG is image/png by its bytes, declared as ${declared ?? "nothing"}`, async () => {
    assert.equal(await typeOf("page.html", PNG, declared), "image/png");
  });
}

const GIF = Buffer.from("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7", "base64");

for (const [type, bytes] of [
  ["image/gif", GIF],
  [
    "application/pdf",
    Buffer.from("%PDF-1.4\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF\n", "latin1"),
  ],
  ["application/gzip", gzipSync("some bytes\n")],
] as const) {
  test(`bytes of type ${type} have that type, whatever is declared`, async () => {
    assert.equal(await typeOf("notes.txt", bytes, "text/plain"), type);
  });
}

const ACTIVE: [string, string][] = [
  ["page.html", "text/html"],
  ["page.htm", "Text/HTML; charset=utf-8"],
  ["page.xhtml", "application/xhtml+xml"],
  ["drawing.svg", "image/svg+xml"],
  ["drawing.svg", "IMAGE/SVG+XML"],
  ["data.xml", "text/xml"],
  ["data.xml", "application/xml"],
  ["feed.rss", "application/rss+xml"],
  ["code.js", "text/javascript"],
  ["code.js", "application/javascript"],
  ["code.mjs", "application/x-javascript"],
  ["code.js", "text/ecmascript"],
];

for (const [name, declared] of ACTIVE) {
  test(`a file declared as ${declared} is ${OCTETS}`, async () => {
    assert.equal(await typeOf(name, "let x = 1;\n", declared), OCTETS);
  });
}

for (const name of [
  "page.html",
  "page.HTM",
  "page.xhtml",
  "drawing.svg",
  "data.xml",
  "code.js",
  "code.mjs",
]) {
  test(`${name} without a declared type is ${OCTETS}`, async () => {
    assert.equal(await typeOf(name, "let x = 1;\n"), OCTETS);
  });
}

for (const [what, body] of [
  ["HTML", "<!DOCTYPE html><html><script>alert(1)</script></html>"],
  ["SVG", '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'],
  ["XML", '<?xml version="1.0"?><a/>'],
  ["XML that is SVG", '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>'],
] as const) {
  test(`${what} never gets a type that browsers run`, async () => {
    for (const declared of ["text/plain", "text/html", "image/svg+xml", OCTETS, undefined]) {
      const type = await typeOf("file.bin", body, declared);
      assert.ok([OCTETS, "text/plain"].includes(type), `declared ${declared} it is ${type}`);
    }
  });
}

for (const declared of [
  "text/plain",
  "text/csv",
  "application/json",
  "application/vnd.acme.thing+json",
  "application/x-own",
]) {
  test(`the declared type ${declared} is kept if the bytes are unknown`, async () => {
    assert.equal(await typeOf("thing.unknown", "plain words\n", declared), declared);
  });
}

test("a declared type is normalized to lower case without parameters", async () => {
  assert.equal(await typeOf("thing.unknown", "plain words\n", 'Text/Plain; charset="utf-8"'), "text/plain");
});

for (const [name, type] of [
  ["notes.txt", "text/plain"],
  ["table.csv", "text/csv"],
  ["data.json", "application/json"],
  ["LOUD.TXT", "text/plain"],
  ["thing.unknownextension", OCTETS],
  ["no extension", OCTETS],
  [".hidden", OCTETS],
] as const) {
  test(`${name} without a declared type is ${type} by its extension`, async () => {
    assert.equal(await typeOf(name, "plain words\n"), type);
  });
}

for (const declared of [
  "nonsense",
  "text/",
  "/plain",
  "a b/c",
  "text/plain/more",
  "text/plain\u00e9",
  "*/*",
]) {
  test(`the declared type ${JSON.stringify(declared)} is malformed, so the extension decides`, async () => {
    assert.equal(await typeOf("table.csv", "a,b\n", declared), "text/csv");
  });
}

for (const name of ["code.ts", "code.mts"]) {
  test(`${name} that contains text is text/plain`, async () => {
    assert.equal(await typeOf(name, "export const x = 1;\n"), "text/plain");
    assert.equal(await typeOf(name, "export const x = 1;\n", "video/mp2t"), "text/plain");
  });
}

const KANJI = Buffer.from([0x93, 0xfa, 0x96, 0x7b]);
/** Text that starts as UTF-8, with any end. */
const long = (end: Buffer) => Buffer.concat([Buffer.alloc(300_000, "plain words\n"), end]);

for (const [what, bytes, declared, served] of [
  ["UTF-8", Buffer.from("日本"), "text/plain", "text/plain; charset=utf-8"],
  ["long UTF-8", long(Buffer.from("日本")), "text/plain; charset=iso-8859-1", "text/plain; charset=utf-8"],
  ["Shift_JIS", KANJI, "text/plain; charset=Shift_JIS", "text/plain; charset=shift_jis"],
  ["long Shift_JIS", long(KANJI), "text/plain; charset=Shift_JIS", "text/plain; charset=shift_jis"],
  ["other text", KANJI, "text/plain", "text/plain"],
  ["long other text", long(KANJI), "text/csv", "text/csv"],
] as const) {
  test(`${what}, declared as ${declared}, is served as ${served}`, async () => {
    const check = async ({ file_type, file_url }: Attachment) => {
      assert.equal(file_type, bare(declared));
      const reply = await call("GET", file_url, { token: null });
      assert.equal(reply.headers.get("content-type"), served);
      assert.ok(reply.bytes.equals(bytes));
    };
    await check(attachment(await post([filePart("a", bytes, declared)]), 201));
    const path = location(await createTus(bytes.length, { filename: "a", filetype: declared }));
    // A character begins in one request and ends in the next.
    const cut = bytes.length - 2;
    assert.equal((await patchTus(path, 0, bytes.subarray(0, cut))).status, 204);
    await check(await finished(await patchTus(path, cut, bytes.subarray(cut))));
  });
}
