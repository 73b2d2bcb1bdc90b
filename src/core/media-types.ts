import { ParleyError } from "../errors.ts";

const FALLBACK = "application/octet-stream";
/** How much of a file's beginning is looked at. */
export const SNIFF_BYTES = 4096;

const WELL_FORMED = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/;
// What a browser runs or applies as markup: HTML, SVG and all other XML, scripts in each of their names.
const RUNNABLE =
  /html|[/+-]xml|xml-|xsl|(?:java|ecma|j|live|vb)script|svg|hta$|x-mixed-replace|x-shockwave-flash/;
// Sniffing tells only the container of these; what is in it, the client or the name knows better.
const CONTAINER = /^application\/(?:zip|x-cfb)$/;
const CONTAINED = /^application\/(?:msword|vnd\..+)$/;
// Formats that are never text. Some begin with two letters that a sentence can begin with, too.
const BINARY = /^(?:image|audio|video|font)\/|^application\/x-msdownload$/;
/** Fewer bytes tell nothing. */
const MIN_SNIFFED_BYTES = 4;

/**
 * The MIME type of a file: what its first bytes are; else what was declared; else what its name's extension says.
 * A type that browsers run is never believed nor given.
 */
export async function detectType(
  head: Uint8Array,
  declared: string | undefined,
  filename: string,
): Promise<string> {
  const sniffed = await sniff(head);
  if (sniffed !== undefined && !CONTAINER.test(sniffed)) return harmless(sniffed);
  const said = declared === undefined ? "" : essence(declared);
  const claimed = WELL_FORMED.test(said) && said !== FALLBACK ? said : await byExtension(filename);
  if (sniffed !== undefined && !(claimed !== null && CONTAINED.test(claimed))) return sniffed;
  return claimed === null ? FALLBACK : harmless(claimed);
}

async function sniff(head: Uint8Array): Promise<string | undefined> {
  if (head.length < MIN_SNIFFED_BYTES) return undefined;
  const { fileTypeFromBuffer } = await loaded(import("file-type"));
  const type = (await fileTypeFromBuffer(head))?.mime;
  return type === undefined || (BINARY.test(type) && isText(head)) ? undefined : essence(type);
}

/** A library that is loaded at its first use. Where no file descriptor is free for that, it is `unavailable`, and passes. */
async function loaded<T>(library: Promise<T>): Promise<T> {
  try {
    return await library;
  } catch (cause) {
    throw new ParleyError("unavailable", undefined, { cause });
  }
}

/** Whether no byte is a control character that text has not. The magic number of GIF is text, and none that people write. */
function isText(head: Uint8Array): boolean {
  if (/^GIF8[79]a$/.test(Buffer.from(head.subarray(0, 6)).toString("latin1"))) return false;
  return head.every((byte) => byte >= 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d);
}

async function byExtension(filename: string): Promise<string | null> {
  const { default: mime } = await loaded(import("mime"));
  // The library takes a name without a dot for an extension.
  return /[^.]\.[^.]+$/.test(filename) ? mime.getType(filename) : null;
}

function harmless(type: string): string {
  return RUNNABLE.test(type) ? FALLBACK : type;
}

/** The type without its parameters, in lower case. */
function essence(type: string): string {
  return type.split(";", 1)[0]!.trim().toLowerCase();
}
