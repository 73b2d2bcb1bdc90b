import { randomKey } from "./transport.ts";

/** What stands before and behind the bytes of a file in a multipart form (RFC 7578). */
export interface Form {
  contentType: string;
  head: Uint8Array<ArrayBuffer>;
  tail: Uint8Array<ArrayBuffer>;
}

/**
 * A form with one file. Its name goes as RFC 8187 has it: that says every name, where the way of browsers confuses `"`
 * with `%22`. Without a type the server looks for one.
 */
export function formOf(filename: string, type: string | undefined): Form {
  if (type && /[^\x20-\x7e]/.test(type))
    throw new TypeError("contentType must be visible characters of ASCII.");
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
