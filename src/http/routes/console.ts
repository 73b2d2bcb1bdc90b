import { readdirSync, readFileSync } from "node:fs";
import type { FastifyInstance } from "fastify";
import { ParleyError } from "../../errors.ts";
import { type FixedAnswer, fixedAnswer, sendFixed } from "../protocol/fixed.ts";

const DIST = new URL("../../../console/dist/", import.meta.url);

// The console asks this server alone, and what people upload never runs in it: files are shown as images, sound, film,
// text, or by the browser's viewer of PDF, which gets them as blobs in a frame.
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "media-src 'self'",
  "frame-src blob:",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  // It makes one address: that of the service worker.
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
  ["js", "text/javascript; charset=utf-8"],
  ["css", "text/css; charset=utf-8"],
  ["svg", "image/svg+xml"],
]);

/** The web console, for everybody: what it shows it asks the API for, with the token of the person before it. */
export function consoleRoutes(app: FastifyInstance): void {
  const page = fixedAnswer("text/html; charset=utf-8", readFileSync(new URL("index.html", DIST)), SAFETY);
  const assets = readAssets();
  const worker = fixedAnswer(
    TYPES.get("js")!,
    readFileSync(new URL("push-worker.js", DIST)),
    // It has no part of its own, and asks nobody.
    { ...SAFETY, "content-security-policy": "default-src 'none'" },
  );
  const open = { config: { public: true } };
  app.get("/", open, async (request, reply) => sendFixed(request, reply, page));
  app.get("/push-worker.js", open, async (request, reply) => sendFixed(request, reply, worker));
  app.get("/assets/:name", open, async (request, reply) => {
    const asset = assets.get((request.params as { name: string }).name);
    if (!asset) throw new ParleyError("route_not_found");
    return sendFixed(request, reply, asset);
  });
}

function readAssets(): Map<string, FixedAnswer> {
  const folder = new URL("assets/", DIST);
  // The name has a hash of the content: another content has another name.
  const headers = { ...SAFETY, "cache-control": "public, max-age=31536000, immutable" };
  return new Map(
    readdirSync(folder).map((name) => {
      const type = TYPES.get(name.split(".").at(-1)!)!;
      return [name, fixedAnswer(type, readFileSync(new URL(name, folder)), headers)];
    }),
  );
}
