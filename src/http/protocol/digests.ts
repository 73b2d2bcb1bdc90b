import { createHash, type Hash } from "node:crypto";
import { ParleyError } from "../../errors.ts";

const SHA_256 = /^sha-256=:([A-Za-z0-9+/]{43}=):$/;

/**
 * The SHA-256 of a `Content-Digest` header (RFC 9530). Throws `invalid_parameter` where it has none: a digest that
 * is not checked would be one that is silently ignored.
 */
function parseDigest(header: string): Buffer {
  const members = header.split(",").map((member) => member.trim());
  const value = members.map((member) => SHA_256.exec(member)?.[1]).find((each) => each !== undefined);
  if (value === undefined) {
    throw new ParleyError(
      "invalid_parameter",
      "Content-Digest must have the form sha-256=:BASE64: (RFC 9530).",
      {
        param: "Content-Digest",
      },
    );
  }
  return Buffer.from(value, "base64");
}

/** Throws `digest_mismatch` if the header is present and its digest differs. */
export function checkDigest(header: string | undefined, actual: Uint8Array): void {
  if (header !== undefined && !parseDigest(header).equals(actual)) throw new ParleyError("digest_mismatch");
}

/** Formats the header with a digest. */
export function formatDigest(sha256: Uint8Array): string {
  return `sha-256=:${Buffer.from(sha256).toString("base64")}:`;
}

/** Returns a hash for the body if the client announced its digest. */
export function digestOf(header: string | undefined): Hash | undefined {
  if (header === undefined) return undefined;
  parseDigest(header);
  return createHash("sha256");
}
