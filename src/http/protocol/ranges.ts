import { parse } from "range-parser";

/** First and last byte, both included. */
export interface ByteRange {
  start: number;
  end: number;
}

/** The code of a malformed header. */
const MALFORMED = 1;

/**
 * Parses a `Range` header for a representation of `size` bytes (RFC 9110, section 14.1.2). Returns undefined if the header is
 * ignored: another unit, malformed, or several ranges, which a server may answer with the whole. "unsatisfiable" if the range
 * lies outside.
 */
export function parseRange(header: string, size: number): ByteRange | "unsatisfiable" | undefined {
  const { code, type, ranges } = parse(size, header);
  if (type !== "bytes" || code === MALFORMED || header.includes(",")) return undefined;
  return ranges[0] ?? "unsatisfiable";
}
