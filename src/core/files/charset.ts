import { essence, isText } from "./media-types.ts";

// Says that the charset is not known (RFC 1428): text without a parameter is UTF-8.
const UNKNOWN = "unknown-8bit";
const CHARSET = /;\s*charset\s*=\s*"?([a-z0-9][a-z0-9._:+-]{0,39})"?\s*(?:;|$)/i;

/** Returns the type as it is stored: text that is not UTF-8 has the declared charset as a parameter, or says that none is known. */
export function withCharset(type: string, head: Uint8Array, valid: boolean, declared = ""): string {
  if (!type.startsWith("text/")) return type;
  const charset = CHARSET.exec(declared)?.[1]?.toLowerCase() ?? UNKNOWN;
  const isNamed = charset !== UNKNOWN && !/^utf-?8$/.test(charset);
  // UTF-16 and ISO 2022 have control characters, but can be valid UTF-8.
  if (valid && (isText(head) || !isNamed)) return type;
  return `${type}; charset=${isNamed ? charset : UNKNOWN}`;
}

/** Returns the Content-Type with which a file of this stored type is served. */
export function toContentType(stored: string): string {
  if (!stored.startsWith("text/")) return stored;
  if (stored.endsWith(`=${UNKNOWN}`)) return essence(stored);
  return stored.includes(";") ? stored : `${stored}; charset=utf-8`;
}
