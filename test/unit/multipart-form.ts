// Encodes forms as clients do, and decodes them with the reader.
import assert from "node:assert/strict";
import type { BodyReader } from "../../src/http/protocol/body-reader.ts";
import { MultipartReader } from "../../src/http/protocol/multipart.ts";

export interface SentPart {
  name: string;
  filename: string | undefined;
  type: string | undefined;
  body: Buffer;
}

export const MAX_HEADER_BYTES = 8192;

const escaped = (text: string) => text.replace(/["\\]/g, "\\$&");

function encodePart(part: SentPart, boundary: string): Buffer {
  const filename = part.filename === undefined ? "" : `; filename="${escaped(part.filename)}"`;
  const type = part.type === undefined ? "" : `Content-Type: ${part.type}\r\n`;
  const disposition = `Content-Disposition: form-data; name="${escaped(part.name)}"${filename}\r\n`;
  return Buffer.concat([
    Buffer.from(`--${boundary}\r\n${disposition}${type}\r\n`),
    part.body,
    Buffer.from("\r\n"),
  ]);
}

/** Returns a complete form that ends with its closing boundary. */
export function encodeForm(parts: readonly SentPart[], boundary: string): Buffer {
  return Buffer.concat([...parts.map((each) => encodePart(each, boundary)), Buffer.from(`--${boundary}--`)]);
}

/** Returns a body that yields one chunk per call of `next`. */
export function sourceOf(chunks: Iterable<Buffer>): BodyReader {
  const left = chunks[Symbol.iterator]();
  const source: Pick<BodyReader, "next"> = {
    next: async () => {
      const { done, value } = left.next();
      return done ? null : value;
    },
  };
  return source as BodyReader;
}

/** Cuts the bytes at these offsets. */
export function split(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [...new Set(cuts.map((cut) => cut % bytes.length))].sort((a, b) => a - b);
  const ends = [...places, bytes.length];
  return ends.map((end, i) => bytes.subarray(ends[i - 1] ?? 0, end)).filter((chunk) => chunk.length > 0);
}

export function byteByByte(bytes: Buffer): Buffer[] {
  return Array.from(bytes, (_, i) => bytes.subarray(i, i + 1));
}

/** Reads all parts of a form to their ends. */
export async function readForm(
  chunks: Iterable<Buffer>,
  boundary: string,
  maxHeaderBytes = MAX_HEADER_BYTES,
): Promise<SentPart[]> {
  const reader = new MultipartReader(sourceOf(chunks), boundary, maxHeaderBytes);
  const parts: SentPart[] = [];
  for (let part = await reader.next(); part !== null; part = await reader.next()) {
    const { name, filename, type } = part;
    parts.push({ name, filename, type, body: Buffer.concat(await Array.fromAsync(part.body)) });
  }
  return parts;
}

/** Asserts that the form is refused in one piece and byte by byte. */
export async function refused(bytes: Buffer, boundary: string, maxHeaderBytes?: number): Promise<void> {
  for (const chunks of [[bytes], byteByByte(bytes)]) {
    await assert.rejects(readForm(chunks, boundary, maxHeaderBytes), {
      name: "ParleyError",
      code: "malformed_body",
    });
  }
}
