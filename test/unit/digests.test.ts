import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { checkDigest, formatDigest, parseDigest } from "../../src/http/protocol/digests.ts";
import { holds } from "../support/property.ts";

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest();

test("a digest round-trips, alone or among others, and matches only its bytes", () =>
  holds(
    fc.property(
      fc.uint8Array(),
      fc.uint8Array(),
      fc.constantFrom("", "sha-512=:AAAA:, ", "a=1,"),
      (bytes, other, before) => {
        const header = before + formatDigest(sha256(bytes));
        checkDigest(parseDigest(header)!, sha256(bytes));
        if (Buffer.compare(bytes, other) === 0) return;
        assert.throws(() => checkDigest(parseDigest(header)!, sha256(other)), { code: "digest_mismatch" });
      },
    ),
  ));

test("without a digest nothing is checked", () => {
  assert.equal(parseDigest(undefined), undefined);
});

for (const header of [
  "",
  "sha-256",
  "sha-256=",
  "sha-256=::",
  "sha-256=:AAAA:",
  "sha-512=:AAAA:",
  "SHA-256=x",
  `sha-256=${"A".repeat(43)}=`,
  `sha-256=:${"A".repeat(43)}=`,
  `sha-256=:${"*".repeat(43)}=:`,
]) {
  test(`${JSON.stringify(header)} is refused: an unsupported digest must not be ignored silently`, () => {
    assert.throws(() => parseDigest(header), { code: "invalid_parameter", param: "Content-Digest" });
  });
}
