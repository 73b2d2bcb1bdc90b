// Uploads as an ordinary client sends them, and hand-written bytes for special cases.
import { type Attachment, attachment, call, type Options, type Reply } from "./client.ts";

interface Upload {
  name?: string;
  type?: string;
  bytes?: Buffer | string;
  /** With its question mark. */
  query?: string;
  /** Form fields that come before or after the file. */
  before?: [string, string][];
  after?: [string, string][];
  token?: string;
}

interface Part {
  /** The header lines of the part, without their line ends. */
  head: string | Buffer;
  body: string | Buffer;
}

/** The smallest valid picture: a single pixel. */
export const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

const BOUNDARY = "----acceptance7f3a91c2";

export function upload(options: Upload = {}): Promise<Reply> {
  const body = new FormData();
  for (const [name, value] of options.before ?? []) body.append(name, value);
  const bytes = Uint8Array.from(Buffer.from(options.bytes ?? "some bytes\n"));
  body.append("file", new File([bytes], options.name ?? "notes.txt", { type: options.type ?? "text/plain" }));
  for (const [name, value] of options.after ?? []) body.append(name, value);
  const token = options.token === undefined ? {} : { token: options.token };
  return call("POST", `/v1/attachments${options.query ?? ""}`, { body, ...token });
}

export async function newAttachment(options: Upload = {}): Promise<Attachment> {
  return attachment(await upload(options), 201);
}

export function multipart(parts: Part[], end = `--${BOUNDARY}--\r\n`): Options {
  const pieces: Buffer[] = [];
  for (const { head, body } of parts) {
    pieces.push(Buffer.from(`--${BOUNDARY}\r\n`), Buffer.from(head), Buffer.from("\r\n\r\n"));
    pieces.push(Buffer.from(body), Buffer.from("\r\n"));
  }
  pieces.push(Buffer.from(end));
  return {
    headers: { "content-type": `multipart/form-data; boundary=${BOUNDARY}` },
    body: Buffer.concat(pieces),
  };
}

/** Returns the part of a file, with the name between quotes exactly as given. */
export function filePart(name: string | Buffer, body: string | Buffer = "some bytes\n", type?: string): Part {
  const head = [Buffer.from('Content-Disposition: form-data; name="file"; filename="'), Buffer.from(name)];
  head.push(Buffer.from(type === undefined ? '"' : `"\r\nContent-Type: ${type}`));
  return { head: Buffer.concat(head), body };
}

export function fieldPart(name: string, value: string): Part {
  return { head: `Content-Disposition: form-data; name="${name}"`, body: value };
}

export function post(parts: Part[], query = ""): Promise<Reply> {
  return call("POST", `/v1/attachments${query}`, multipart(parts));
}

/** Returns disposition and filename of a download (RFC 6266 and RFC 8187). */
export function disposition(reply: Reply): { type: string; filename: string | undefined } {
  const header = reply.headers.get("content-disposition") ?? "";
  const type = header.split(";")[0]?.trim().toLowerCase() ?? "";
  const extended = /;\s*filename\*=UTF-8''([^;\s]+)/i.exec(header)?.[1];
  if (extended !== undefined) return { type, filename: decodeURIComponent(extended) };
  const quoted = /;\s*filename="((?:[^"\\]|\\.)*)"/i.exec(header)?.[1];
  if (quoted !== undefined) return { type, filename: quoted.replace(/\\(.)/g, "$1") };
  return { type, filename: /;\s*filename=([^;\s]+)/i.exec(header)?.[1] };
}
