/** First and last byte, both included. */
export interface ByteRange {
  start: number;
  end: number;
}

/**
 * The one range that a `Range` header asks of a representation of `size` bytes (RFC 9110, section 14.1.2).
 * Undefined if the header is ignored: another unit, malformed, or several ranges, which a server may
 * answer with the whole. "unsatisfiable" if it lies outside.
 */
export function parseRange(header: string, size: number): ByteRange | "unsatisfiable" | undefined {
  const match = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(header);
  if (!match) return undefined;
  const [first, last] = [match[1]!, match[2]!];
  if (first === "") {
    if (last === "") return undefined;
    const length = Math.min(Number(last), size);
    return length === 0 ? "unsatisfiable" : { start: size - length, end: size - 1 };
  }
  const start = Number(first);
  if (last !== "" && Number(last) < start) return undefined;
  if (start >= size) return "unsatisfiable";
  return { start, end: last === "" ? size - 1 : Math.min(Number(last), size - 1) };
}
