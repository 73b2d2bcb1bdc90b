import { existsSync, readdirSync, readFileSync } from "node:fs";
import type { FastifyInstance } from "fastify";
import { ParleyError } from "../../errors.ts";
import { type FixedAnswer, fixedAnswer, sendFixed } from "../protocol/fixed.ts";

const DIST = new URL("../../../console/dist/", import.meta.url);

// The console makes requests only to this server, and uploaded files never run in it: they are shown as images, audio, video
// or text, or by the browser's PDF viewer, which gets them as blobs in a frame.
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "media-src 'self'",
  "manifest-src 'self'",
  "frame-src blob:",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  // The console creates only one trusted URL: that of the service worker.
  "trusted-types push-worker",
].join("; ");

const SAFETY = {
  "content-security-policy": POLICY,
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), microphone=(), geolocation=()",
};

const TYPES = new Map([
  ["html", "text/html; charset=utf-8"],
  ["js", "text/javascript; charset=utf-8"],
  ["css", "text/css; charset=utf-8"],
  ["svg", "image/svg+xml"],
  ["png", "image/png"],
  ["webmanifest", "application/manifest+json"],
]);

/** Files that browsers ask for by a fixed name. */
const FIXED = ["push-worker.js", "manifest.webmanifest", "icon-192.png", "icon-512.png", "icon-maskable.png"];

/** Content codings, and the suffixes of the files that the build compresses with them. */
const CODINGS = [
  ["br", ".br"],
  ["gzip", ".gz"],
] as const;

/** Adds the web console. It is public: everything it shows comes from the API, with the user's token. */
export function consoleRoutes(app: FastifyInstance): void {
  const open = { config: { public: true } };
  const page = readAnswer("index.html", SAFETY);
  app.get("/", open, async (request, reply) => sendFixed(request, reply, page));
  for (const name of FIXED) {
    // The worker loads nothing and makes no requests.
    const answer = readAnswer(name, { ...SAFETY, "content-security-policy": "default-src 'none'" });
    app.get(`/${name}`, open, async (request, reply) => sendFixed(request, reply, answer));
  }
  const assets = readAssets();
  app.get("/assets/:name", open, async (request, reply) => {
    const asset = assets.get((request.params as { name: string }).name);
    if (!asset) throw new ParleyError("route_not_found");
    return sendFixed(request, reply, asset);
  });
}

function readAssets(): Map<string, FixedAnswer> {
  // Each name has a hash of the content, so content under a name never changes.
  const headers = { ...SAFETY, "cache-control": "public, max-age=31536000, immutable" };
  const names = readdirSync(new URL("assets/", DIST)).filter((name) => TYPES.has(endOf(name)));
  return new Map(names.map((name) => [name, readAnswer(`assets/${name}`, headers)]));
}

function readAnswer(path: string, headers: Readonly<Record<string, string>>): FixedAnswer {
  const read = (end: string) =>
    fixedAnswer(TYPES.get(endOf(path))!, readFileSync(new URL(path + end, DIST)), headers);
  const codings = CODINGS.filter(([, end]) => existsSync(new URL(path + end, DIST)));
  if (codings.length === 0) return read("");
  return { ...read(""), compressed: new Map(codings.map(([coding, end]) => [coding, read(end)])) };
}

function endOf(path: string): string {
  return path.split(".").at(-1)!;
}
