import { ParleyError } from "../../errors.ts";
import type { BodyReader } from "./body-reader.ts";
import { decodeWords } from "./encoded-words.ts";

/** One part of a form. Read its body to the end before you request the next part. */
export interface Part {
  name: string;
  /** The name as it was sent, which may be a path. Undefined for a text field. */
  filename: string | undefined;
  /** The Content-Type of the part, if it has one. */
  type: string | undefined;
  /** The Content-Digest of the part, if it has one. */
  digest: string | undefined;
  /** Each chunk is valid until the next is requested. */
  body: AsyncIterable<Buffer>;
}

const BOUNDARY = /^[0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-]$/;
const BOUNDARY_PARAM = /;\s*boundary=(?:"([^"]*)"|([^;\s]*))/gi;

/** Returns the boundary in the request's Content-Type (RFC 2046, section 5.1.1). Throws `malformed_body`. */
export function boundaryOf(contentType: string): string {
  const [match, second] = contentType.matchAll(BOUNDARY_PARAM);
  const boundary = match?.[1] ?? match?.[2] ?? "";
  if (second || !BOUNDARY.test(boundary)) {
    throw malformed("The Content-Type has no valid boundary. Let your form library set it.");
  }
  return boundary;
}

const CRLF = "\r\n";
const CR = 13;

/**
 * Reads multipart/form-data (RFC 7578) as a stream, strictly: an incomplete or malformed form throws `malformed_body`, so no
 * part is silently skipped or truncated. The work is linear in the size of the body. Only one chunk and the headers of one
 * part are in memory at a time.
 */
export class MultipartReader {
  readonly #source: BodyReader;
  readonly #delimiter: Buffer;
  readonly #maxHeaderBytes: number;
  // A virtual line end makes the first boundary look like the others.
  #buffer: Buffer = Buffer.from(CRLF);
  #started = false;

  constructor(source: BodyReader, boundary: string, maxHeaderBytes: number) {
    this.#source = source;
    this.#delimiter = Buffer.from(`${CRLF}--${boundary}`);
    this.#maxHeaderBytes = maxHeaderBytes;
  }

  /** Returns the next part, or null after the closing boundary and the end of the body. */
  async next(): Promise<Part | null> {
    if (!this.#started) await this.#skipPreamble();
    while (this.#buffer.length < 2) await this.#fill();
    const mark = this.#buffer.toString("latin1", 0, 2);
    this.#buffer = this.#buffer.subarray(2);
    if (mark === "--") {
      await this.#finish();
      return null;
    }
    if (mark !== CRLF) throw malformed("A boundary must be followed by a line end.");
    const headers = parseHeaders(await this.#headerBlock());
    return { ...describe(headers), body: this.#body() };
  }

  /** Returns how many bytes the current part can have at most, in a body of this length. */
  bytesLeft(length: number): number {
    const taken = this.#source.received - this.#buffer.length;
    // At least the closing boundary and "--" follow and, from all known clients, a line end.
    return Math.max(0, length - taken - this.#delimiter.length - 4);
  }

  async #skipPreamble(): Promise<void> {
    this.#started = true;
    let skipped = 0;
    for await (const chunk of this.#body()) {
      skipped += chunk.length;
      if (skipped > this.#maxHeaderBytes) throw malformed("The body must begin with the boundary.");
    }
  }

  /** Yields the bytes before the next delimiter and consumes both. */
  async *#body(): AsyncGenerator<Buffer> {
    const delimiter = this.#delimiter;
    for (;;) {
      const at = this.#buffer.indexOf(delimiter);
      if (at !== -1) {
        const rest = this.#buffer.subarray(0, at);
        this.#buffer = this.#buffer.subarray(at + delimiter.length);
        if (rest.length > 0) yield rest;
        return;
      }
      // Keep bytes that may begin a delimiter. Usually there are none, because no CR is near the end.
      const tail = this.#buffer.indexOf(CR, Math.max(0, this.#buffer.length - delimiter.length + 1));
      const safe = tail === -1 ? this.#buffer.length : tail;
      const ready = this.#buffer.subarray(0, safe);
      this.#buffer = this.#buffer.subarray(safe);
      if (ready.length > 0) yield ready;
      await this.#fill();
    }
  }

  async #headerBlock(): Promise<Buffer> {
    for (;;) {
      const end = this.#buffer.indexOf("\r\n\r\n");
      // Up to three bytes of the blank line may have arrived.
      const length = end === -1 ? this.#buffer.length - 3 : end;
      if (length > this.#maxHeaderBytes) {
        throw malformed(`The headers of a part exceed ${this.#maxHeaderBytes} bytes.`);
      }
      if (end !== -1) {
        const block = this.#buffer.subarray(0, end);
        this.#buffer = this.#buffer.subarray(end + 4);
        return block;
      }
      await this.#fill();
    }
  }

  /** Reads to the end of the body. Only line ends and spaces may follow the closing boundary. */
  async #finish(): Promise<void> {
    let length = 0;
    for (let rest: Buffer | null = this.#buffer; rest !== null; rest = await this.#source.next()) {
      length += rest.length;
      if (length > this.#maxHeaderBytes) throw malformed("Too many bytes follow the closing boundary.");
      if (/[^\r\n\t ]/.test(rest.toString("latin1")))
        throw malformed("Only line ends and spaces may follow the closing boundary.");
    }
  }

  async #fill(): Promise<void> {
    // Copy: a chunk becomes invalid when the next is requested.
    const rest = Buffer.from(this.#buffer);
    const chunk = await this.#source.next();
    if (chunk === null) throw malformed("The body ends before its closing boundary.");
    this.#buffer = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const CONTROL = /[\0-\x08\x0a-\x1f\x7f]/;

function parseHeaders(block: Buffer): Map<string, string> {
  const headers = new Map<string, string>();
  let text: string;
  try {
    text = utf8.decode(block);
  } catch {
    throw malformed("The headers of a part are not valid UTF-8.");
  }
  for (const line of text.split(CRLF)) {
    const colon = line.indexOf(":");
    const name = line.slice(0, Math.max(colon, 0)).toLowerCase();
    if (!HEADER_NAME.test(name) || CONTROL.test(line)) throw malformed("A part has a malformed header.");
    if (headers.has(name)) throw malformed(`A part has the header ${name} twice. Send it once.`);
    headers.set(name, line.slice(colon + 1).trim());
  }
  return headers;
}

function describe(headers: Map<string, string>): Omit<Part, "body"> {
  const disposition = headers.get("content-disposition");
  const params = disposition === undefined ? undefined : parseDisposition(disposition);
  const name = params?.get("name");
  if (params === undefined || name === undefined) {
    throw malformed("A part has no valid Content-Disposition: form-data with a name.");
  }
  const encoding = headers.get("content-transfer-encoding")?.toLowerCase() ?? "binary";
  if (!["7bit", "8bit", "binary"].includes(encoding)) {
    throw malformed(
      "A part has a Content-Transfer-Encoding. Send its bytes as they are (RFC 7578, section 4.7).",
    );
  }
  const [plain, extended] = [params.get("filename"), params.get("filename*")];
  return {
    name,
    filename: extended === undefined ? plain && decodeWords(plain) : decodeExtended(extended),
    type: headers.get("content-type"),
    digest: headers.get("content-digest"),
  };
}

const PARAM = /[ \t]*;[ \t]*([!#$%&'*+.^_`|~0-9A-Za-z-]+)[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^\s";]*))/sy;

function parseDisposition(value: string): Map<string, string> | undefined {
  const type = /^form-data(?=[ \t]*(?:;|$))/i.exec(value);
  if (!type) return undefined;
  const params = new Map<string, string>();
  PARAM.lastIndex = type[0].length;
  let end = PARAM.lastIndex;
  for (let match = PARAM.exec(value); match; match = PARAM.exec(value)) {
    const name = match[1]!.toLowerCase();
    if (params.has(name)) return undefined;
    params.set(name, match[2] === undefined ? match[3]! : unquote(match[2]));
    end = PARAM.lastIndex;
  }
  return ["", ";"].includes(value.slice(end).trim()) ? params : undefined;
}

/** Decodes a name by RFC 8187. Forms should not use this (RFC 7578, section 4.2), but some clients do. */
function decodeExtended(value: string): string {
  try {
    return decodeURIComponent(/^utf-8'[^']*'(.*)$/i.exec(value)![1]!);
  } catch {
    throw malformed("A part has a filename* that is not UTF-8 by RFC 8187.");
  }
}

/**
 * Unescapes a name. Some clients escape quotes and backslashes with a backslash; browsers write `%22`, `%0D` and `%0A` (WHATWG
 * HTML, multipart/form-data encoding). Other backslashes are part of a path and stay.
 */
function unquote(text: string): string {
  return text
    .replace(/\\(["\\])/g, "$1")
    .replace(/%(?:22|0D|0A)/gi, (encoded) => decodeURIComponent(encoded));
}

function malformed(detail: string): ParleyError {
  return new ParleyError("malformed_body", detail);
}
