import assert from "node:assert/strict";
import { isUtf8 } from "node:buffer";
import { test } from "node:test";
import fc from "fast-check";
import { toContentType, Utf8Check, withCharset } from "../../src/core/files/charset.ts";
import { holds } from "../support/property.ts";

const texts = fc.oneof(
  fc.string({ unit: "grapheme" }).map((text) => Buffer.from(text)),
  fc.string({ unit: "binary" }).map((text) => Buffer.from(text)),
  fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes)),
  fc
    .tuple(fc.string({ unit: "grapheme", minLength: 1 }), fc.nat())
    .map(([text, cut]) => Buffer.from(text).subarray(0, cut % (Buffer.byteLength(text) + 1))),
);
const lengths = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 });

test("bytes are UTF-8 or not, wherever they are cut into chunks", () =>
  holds(
    fc.property(texts, lengths, (bytes, lengths) => {
      let check = new Utf8Check();
      for (let at = 0, index = 0; at < bytes.length; index++) {
        const chunk = Buffer.from(bytes.subarray(at, at + lengths[index % lengths.length]!));
        check.push(chunk);
        // A chunk is valid until the next alone.
        chunk.fill(0xa5);
        at += lengths[index % lengths.length]!;
        check = check.copy();
      }
      assert.equal(check.isUtf8, isUtf8(bytes));
    }),
    3000,
  ));

const PLAIN = Buffer.from("plain");
const KANJI = Buffer.from([0x93, 0xfa, 0x96, 0x7b]);
/** Japanese mail: characters come in by an escape. */
const ESCAPED = Buffer.from("\u001b$BF|K\\\u001b(B");
const WIDE = Buffer.from("wide", "utf16le");

const SERVED: [bytes: Buffer, declared: string | undefined, served: string][] = [
  [PLAIN, undefined, "text/plain; charset=utf-8"],
  [PLAIN, "text/plain; charset=ISO-8859-1", "text/plain; charset=utf-8"],
  [Buffer.from("日本"), "text/plain; charset=Shift_JIS", "text/plain; charset=utf-8"],
  [KANJI, "text/plain; charset=Shift_JIS", "text/plain; charset=shift_jis"],
  [KANJI, 'text/plain ;format=flowed; Charset = "Shift_JIS" ; x=y', "text/plain; charset=shift_jis"],
  [KANJI, undefined, "text/plain"],
  [KANJI, "text/plain", "text/plain"],
  [KANJI, "text/plain; charset=utf-8", "text/plain"],
  [KANJI, "text/plain; charset=UTF8", "text/plain"],
  [KANJI, 'text/plain; charset="a b"', "text/plain"],
  [KANJI, "text/plain; charset=a\r\nb", "text/plain"],
  [KANJI, `text/plain; charset=${"x".repeat(41)}`, "text/plain"],
  [ESCAPED, "text/plain; charset=ISO-2022-JP", "text/plain; charset=iso-2022-jp"],
  [ESCAPED, "text/plain; charset=utf-8", "text/plain; charset=utf-8"],
  [ESCAPED, undefined, "text/plain; charset=utf-8"],
  [WIDE, "text/plain; charset=utf-16le", "text/plain; charset=utf-16le"],
];

for (const [bytes, declared, served] of SERVED) {
  test(`${JSON.stringify(bytes.toString("latin1"))}, declared as ${declared?.slice(0, 50)}, is served as ${served}`, () => {
    const stored = withCharset("text/plain", bytes, isUtf8(bytes), declared);
    assert.equal(toContentType(stored), served);
    assert.match(stored, /^text\/plain(?:; charset=[a-z0-9._:+-]+)?$/);
  });
}

test("only text has a charset", () => {
  for (const type of ["image/png", "application/json"])
    assert.equal(toContentType(withCharset(type, KANJI, false, `${type}; charset=Shift_JIS`)), type);
});
