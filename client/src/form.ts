import { randomKey } from "./transport.ts";

/** A multipart form (RFC 7578): what comes before and after the bytes of its file. */
export interface Form {
  contentType: string;
  head: Uint8Array<ArrayBuffer>;
  tail: Uint8Array<ArrayBuffer>;
}

/**
 * Builds a form with one file. The name is encoded by RFC 8187, which preserves every name; the encoding of browsers
 * confuses `"` with `%22`. Without a type the server detects one.
 */
export function toForm(filename: string, type: string | undefined): Form {
  if (type && /[^\x20-\x7e]/.test(type)) throw new TypeError("contentType must be visible ASCII characters.");
  const boundary = randomKey();
  const name = encodeURIComponent(filename.toWellFormed()).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16)}`,
  );
  const head = [
    `--${boundary}`,
    `Content-Disposition: form-data; name="file"; filename*=UTF-8''${name}`,
    ...(type ? [`Content-Type: ${type}`] : []),
    "\r\n",
  ].join("\r\n");
  const bytes = (text: string) => new TextEncoder().encode(text);
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    head: bytes(head),
    tail: bytes(`\r\n--${boundary}--\r\n`),
  };
}
