import { randomKey } from "./transport.ts";

/** A multipart form (RFC 7578): what comes before the bytes of each of its files, and after the last. */
export interface Form {
  contentType: string;
  heads: Uint8Array<ArrayBuffer>[];
  tail: Uint8Array<ArrayBuffer>;
}

/** A file of a form, without its bytes. */
interface FormFile {
  filename: string;
  type: string | undefined;
}

/**
 * Builds a form with text fields and, after them, files. Names of files are encoded by RFC 8187, which preserves every name;
 * the encoding of browsers confuses `"` with `%22`. Without a type the server detects one.
 */
export function toForm(
  fields: readonly (readonly [name: string, value: string])[],
  files: readonly FormFile[],
): Form {
  const boundary = randomKey();
  const bytes = (text: string) => new TextEncoder().encode(text);
  const texts = fields.map(
    ([name, value]) => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  const heads = files.map((file, at) => (at === 0 ? texts.join("") : "\r\n") + headOf(file, boundary));
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    heads: heads.map(bytes),
    tail: bytes(`\r\n--${boundary}--\r\n`),
  };
}

function headOf({ filename, type }: FormFile, boundary: string): string {
  if (type && /[^\x20-\x7e]/.test(type)) throw new TypeError("contentType must be visible ASCII characters.");
  const name = encodeURIComponent(filename.toWellFormed()).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16)}`,
  );
  return [
    `--${boundary}`,
    `Content-Disposition: form-data; name="file"; filename*=UTF-8''${name}`,
    ...(type ? [`Content-Type: ${type}`] : []),
    "\r\n",
  ].join("\r\n");
}
