import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { hasAsset, readAsset } from "../../assets.ts";
import { type FixedAnswer, fixedAnswer } from "../protocol/fixed.ts";

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
];

/** Returns the headers of pages that load only from this server, and what else their policy has. */
export function pageHeaders(...directives: string[]): Readonly<Record<string, string>> {
  return {
    "content-security-policy": [...POLICY, ...directives].join("; "),
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
  };
}

const TYPES = new Map([
  ["html", "text/html; charset=utf-8"],
  ["js", "text/javascript; charset=utf-8"],
  ["css", "text/css; charset=utf-8"],
  ["md", "text/markdown; charset=utf-8"],
  ["txt", "text/plain; charset=utf-8"],
  ["json", "application/json; charset=utf-8"],
  ["svg", "image/svg+xml"],
  ["png", "image/png"],
  ["webp", "image/webp"],
  ["webmanifest", "application/manifest+json"],
]);

/** Content codings, and the suffixes of files that a build has compressed with them. */
const CODINGS = [
  ["br", ".br"],
  ["gzip", ".gz"],
] as const;

/** Compresses the index of the search in 0.1 seconds. The best quality takes 4 seconds, for 8 percent fewer bytes. */
const QUALITY = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };
/** Compresses what a build has left uncompressed. */
const COMPRESSORS = [
  ["br", (bytes: Buffer) => promisify(brotliCompress)(bytes, QUALITY)],
  ["gzip", (bytes: Buffer) => promisify(gzip)(bytes)],
] as const;

/** Reports whether a file of this name is for browsers, and not a compressed form of one. */
export function isBuiltFile(name: string): boolean {
  return TYPES.has(toExtension(name));
}

/** Reads a file of what was built for browsers, with its compressed forms beside it. */
export function readBuiltFile(path: string, headers: Readonly<Record<string, string>>): FixedAnswer {
  const read = (suffix: string) =>
    fixedAnswer(TYPES.get(toExtension(path))!, readAsset(path + suffix), headers);
  const codings = CODINGS.filter(([, suffix]) => hasAsset(path + suffix));
  if (codings.length === 0) return read("");
  return { ...read(""), compressed: new Map(codings.map(([coding, suffix]) => [coding, read(suffix)])) };
}

/** Adds the compressed forms of an answer. */
export async function compress(answer: FixedAnswer): Promise<FixedAnswer> {
  const { "content-type": type, etag: _, ...headers } = answer.headers;
  const forms = COMPRESSORS.map(async ([coding, encode]) => {
    return [coding, fixedAnswer(type!, await encode(answer.bytes), headers)] as const;
  });
  return { ...answer, compressed: new Map(await Promise.all(forms)) };
}

/** Makes a function call another one once, and again only if that failed. */
export function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make().catch((error) => {
      made = undefined;
      throw error;
    });
    return made;
  };
}

function toExtension(path: string): string {
  return path.split(".").at(-1)!;
}
