import assert from "node:assert/strict";
import { isUtf8 } from "node:buffer";
import { test } from "node:test";
import fc from "fast-check";
import { Utf8Check } from "../../src/util/utf8.ts";
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

test("UTF-8 validity does not depend on chunk boundaries", () =>
  holds(
    fc.property(texts, lengths, (bytes, lengths) => {
      const check = new Utf8Check();
      for (let at = 0, index = 0; at < bytes.length; index++) {
        const chunk = Buffer.from(bytes.subarray(at, at + lengths[index % lengths.length]!));
        check.push(chunk);
        // A chunk may be reused after the call.
        chunk.fill(0xa5);
        at += lengths[index % lengths.length]!;
      }
      assert.equal(check.isUtf8, isUtf8(bytes));
    }),
    3000,
  ));
