import assert from "node:assert/strict";
import { isUtf8 } from "node:buffer";
import { test } from "node:test";
import { toContentType, withCharset } from "../../src/core/files/charset.ts";

const PLAIN = Buffer.from("plain");
const KANJI = Buffer.from([0x93, 0xfa, 0x96, 0x7b]);
/** Japanese mail in ISO-2022-JP, which switches character sets by escape sequences. */
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
