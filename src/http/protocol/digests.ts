import { ParleyError } from "../../errors.ts";

const SHA_256 = /^sha-256=:([A-Za-z0-9+/]{43}=):$/;

/**
 * Returns the SHA-256 of a `Content-Digest` header (RFC 9530); undefined without the header. Throws `invalid_parameter` if the
 * header has no SHA-256: the client would believe that its digest was checked.
 */
export function parseDigest(header: string | undefined): Buffer | undefined {
  if (header === undefined) return undefined;
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

/** Throws `digest_mismatch`. */
export function checkDigest(expected: Buffer, actual: Uint8Array): void {
  if (!expected.equals(actual)) throw new ParleyError("digest_mismatch");
}

/** Formats a digest as the value of the header. */
export function formatDigest(sha256: Uint8Array): string {
  return `sha-256=:${Buffer.from(sha256).toString("base64")}:`;
}
