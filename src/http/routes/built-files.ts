import { existsSync, readFileSync } from "node:fs";
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
  ["webmanifest", "application/manifest+json"],
]);

/** Content codings, and the suffixes of files that a build has compressed with them. */
const CODINGS = [
  ["br", ".br"],
  ["gzip", ".gz"],
] as const;

/** Reports whether a file of this name is for browsers, and not a compressed form of one. */
export function isBuiltFile(name: string): boolean {
  return TYPES.has(toExtension(name));
}

/** Reads a file of what was built for browsers, with its compressed forms beside it. */
export function readBuiltFile(
  folder: URL,
  path: string,
  headers: Readonly<Record<string, string>>,
): FixedAnswer {
  const read = (suffix: string) =>
    fixedAnswer(TYPES.get(toExtension(path))!, readFileSync(new URL(path + suffix, folder)), headers);
  const codings = CODINGS.filter(([, suffix]) => existsSync(new URL(path + suffix, folder)));
  if (codings.length === 0) return read("");
  return { ...read(""), compressed: new Map(codings.map(([coding, suffix]) => [coding, read(suffix)])) };
}

function toExtension(path: string): string {
  return path.split(".").at(-1)!;
}
