import { parse } from "range-parser";

/** First and last byte, both included. */
export interface ByteRange {
  start: number;
  end: number;
}

/** The code of a malformed header. */
const MALFORMED = 1;

/**
 * Returns the range that a `Range` header requests from `size` bytes (RFC 9110, section 14.1.2). Undefined if the header is to
 * be ignored: it has another unit, is malformed, or has several ranges, which a server may answer with the whole.
 * "unsatisfiable" if the range is outside.
 */
export function parseRange(header: string, size: number): ByteRange | "unsatisfiable" | undefined {
  const { code, type, ranges } = parse(size, header);
  if (type !== "bytes" || code === MALFORMED || header.includes(",")) return undefined;
  return ranges[0] ?? "unsatisfiable";
}
