import { essence, isText } from "./media-types.ts";

// Marks an unknown charset (RFC 1428). Text without a parameter is UTF-8.
const UNKNOWN = "unknown-8bit";
const CHARSET = /;\s*charset\s*=\s*"?([a-z0-9][a-z0-9._:+-]{0,39})"?\s*(?:;|$)/i;

/** Returns the type to store. Text that is not UTF-8 has the declared charset as a parameter, or the mark of an unknown one. */
export function withCharset(type: string, head: Uint8Array, valid: boolean, declared = ""): string {
  if (!type.startsWith("text/")) return type;
  const charset = CHARSET.exec(declared)?.[1]?.toLowerCase() ?? UNKNOWN;
  const isNamed = charset !== UNKNOWN && !/^utf-?8$/.test(charset);
  // Text in UTF-16 or ISO 2022 can be valid UTF-8, but has control characters.
  if (valid && (isText(head) || !isNamed)) return type;
  return `${type}; charset=${isNamed ? charset : UNKNOWN}`;
}

/** Returns the Content-Type with which a file of this stored type is served. */
export function toContentType(stored: string): string {
  if (!stored.startsWith("text/")) return stored;
  if (stored.endsWith(`=${UNKNOWN}`)) return essence(stored);
  return stored.includes(";") ? stored : `${stored}; charset=utf-8`;
}
