const FALLBACK = "application/octet-stream";
/** How much of a file's beginning is looked at. */
export const SNIFF_BYTES = 4096;

const WELL_FORMED = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/;
// What a browser runs or applies as markup: HTML, SVG and all other XML, scripts in each of their names.
const RUNNABLE = /html|xml|xsl|script|svg|hta$|x-mixed-replace|x-shockwave-flash/;

/**
 * The MIME type of a file: what its first bytes are; else what was declared; else what its name's extension says.
 * A type that browsers run is never believed nor given.
 */
export async function detectType(
  head: Uint8Array,
  declared: string | undefined,
  filename: string,
): Promise<string> {
  const { fileTypeFromBuffer } = await import("file-type");
  const sniffed = (await fileTypeFromBuffer(head))?.mime;
  if (sniffed) return RUNNABLE.test(sniffed) ? FALLBACK : essence(sniffed);
  const said = declared === undefined ? "" : essence(declared);
  if (WELL_FORMED.test(said) && said !== FALLBACK) return RUNNABLE.test(said) ? FALLBACK : said;
  const { default: mime } = await import("mime");
  const named = mime.getType(filename);
  return named === null || RUNNABLE.test(named) ? FALLBACK : named;
}

/** The type without its parameters, in lower case. */
function essence(type: string): string {
  return type.split(";", 1)[0]!.trim().toLowerCase();
}
