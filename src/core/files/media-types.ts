import type { Limits } from "../../config/limits.ts";
import { ParleyError } from "../../errors.ts";

const FALLBACK = "application/octet-stream";
/** How many of a file's first bytes are examined. */
export const SNIFF_BYTES = 4096;

const WELL_FORMED = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/;
// Types that browsers execute or apply as markup: HTML, SVG and all other XML, and scripts by all their names.
const RUNNABLE =
  /html|[/+-]xml|xml-|xsl|(?:java|ecma|j|live|vb)script|svg|hta$|x-mixed-replace|x-shockwave-flash/;
// Sniffing finds only the container of these. The declared type or the name decides what is in it.
const CONTAINER = /^application\/(?:zip|x-cfb)$/;
const CONTAINED = /^application\/(?:msword|vnd\..+)$/;
// Containers of both films and sounds.
const SHARED = /^video\/(?:webm|matroska|mp4|3gpp2?)$/;
// Media that is never text.
const MEDIA = /^(?:image|audio|video|font)\//;
// Formats that are never text. Some begin with two letters with which a sentence can also begin.
const BINARY = new RegExp(`${MEDIA.source}|^application/x-msdownload$`);
/** With fewer bytes nothing is detected. */
const MIN_SNIFFED_BYTES = 4;

// Keep the module: an import costs 4 us even if it is already loaded.
let fileType: typeof import("file-type") | undefined;
let mime: typeof import("mime").default | undefined;

/**
 * Returns the MIME type of a file: by its first bytes, else the declared one, else by the extension of its name. Never returns
 * a type that browsers execute.
 */
export async function detectType(
  head: Uint8Array,
  declared: string | undefined,
  filename: string,
): Promise<string> {
  const sniffed = await sniff(head);
  const isClear = sniffed !== undefined && !CONTAINER.test(sniffed) && !SHARED.test(sniffed);
  const type = isClear ? sniffed : chooseType(head, sniffed, await claimedType(declared, filename));
  return type === null || RUNNABLE.test(type) ? FALLBACK : type;
}

/** Returns the type of a file whose bytes reveal no type, or only its container. */
function chooseType(head: Uint8Array, sniffed: string | undefined, claimed: string | null): string | null {
  if (claimed === null) return sniffed ?? null;
  if (sniffed === undefined) {
    const isMedia = MEDIA.test(claimed) && !RUNNABLE.test(claimed);
    // TypeScript and MPEG transport streams have the same extension.
    return isMedia && head.length > 0 && isText(head) ? "text/plain" : claimed;
  }
  if (CONTAINED.test(claimed) && CONTAINER.test(sniffed)) return claimed;
  const isSound = claimed.startsWith("audio/") && SHARED.test(sniffed) && !hasVideoTrack(head);
  return isSound ? sniffed.replace("video", "audio") : sniffed;
}

/** Returns the declared type or, if there is none, that of the extension. */
async function claimedType(declared: string | undefined, filename: string): Promise<string | null> {
  const said = declared === undefined ? "" : essence(declared);
  return WELL_FORMED.test(said) && said !== FALLBACK ? said : byExtension(filename);
}

/** Reports whether these bytes of MP4 or Matroska describe a track of pictures. */
function hasVideoTrack(head: Uint8Array): boolean {
  const text = Buffer.from(head).toString("latin1");
  // MP4: a handler of type "vide". Matroska: a TrackType of 1, and a CodecID such as V_VP9.
  return /hdlr.{8}vide/s.test(text) || (text.includes("\x83\x81\x01") && /\x86[\x80-\xff]V_/.test(text));
}

/** Throws `file_type_refused` if the operator does not accept files of this type. */
export function checkType(type: string, { allowedTypes, refusedTypes }: Limits): void {
  const matches = (pattern: string) =>
    pattern.endsWith("/*") ? type.startsWith(pattern.slice(0, -1)) : type === pattern;
  if (refusedTypes.some(matches)) refuseType(type, `Not accepted: ${refusedTypes.join(", ")}.`);
  if (allowedTypes.length > 0 && !allowedTypes.some(matches))
    refuseType(type, `Accepted: ${allowedTypes.join(", ")}.`);
}

function refuseType(type: string, rule: string): never {
  const detail = `The file has the type ${type}. ${rule} Nothing was stored.`;
  throw new ParleyError("file_type_refused", detail, { param: "file" });
}

async function sniff(head: Uint8Array): Promise<string | undefined> {
  if (head.length < MIN_SNIFFED_BYTES) return undefined;
  fileType ??= await loaded(import("file-type"));
  const type = (await fileType.fileTypeFromBuffer(head))?.mime;
  return type === undefined || (BINARY.test(type) && isText(head)) ? undefined : essence(type);
}

/** Waits for a library that is loaded at its first use. Throws `unavailable` if no file descriptor is free, which is temporary. */
async function loaded<T>(library: Promise<T>): Promise<T> {
  try {
    return await library;
  } catch (cause) {
    throw new ParleyError("unavailable", undefined, { cause });
  }
}

/** Reports whether the bytes have no control character that text does not have. The magic number of GIF does not count as text. */
export function isText(head: Uint8Array): boolean {
  if (/^GIF8[79]a$/.test(Buffer.from(head.subarray(0, 6)).toString("latin1"))) return false;
  return head.every((byte) => byte >= 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d);
}

async function byExtension(filename: string): Promise<string | null> {
  mime ??= (await loaded(import("mime"))).default;
  // The library would use a name without a dot as an extension.
  return /[^.]\.[^.]+$/.test(filename) ? mime.getType(filename) : null;
}

/** Returns the type without its parameters, in lower case. */
export function essence(type: string): string {
  return type.split(";", 1)[0]!.trim().toLowerCase();
}
