import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { ParleyError } from "../errors.ts";
import { matchesTag } from "./conditions.ts";

const DIST = new URL("../../console/dist/", import.meta.url);

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
  "trusted-types 'none'",
].join("; ");

const SAFETY = {
  "content-security-policy": POLICY,
  "x-content-type-options": "nosniff",
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
  const page = readFileSync(new URL("index.html", DIST));
  const etag = `"${createHash("sha256").update(page).digest("base64url")}"`;
  const assets = readAssets();
  const open = { config: { public: true } };
  app.get("/", open, async (request, reply) => sendPage(request, reply, page, etag));
  app.get("/assets/:name", open, async (request, reply) => {
    const asset = assets.get((request.params as { name: string }).name);
    if (!asset) throw new ParleyError("route_not_found");
    // The name has a hash of the content: another content has another name.
    return reply
      .headers({
        ...SAFETY,
        "content-type": asset.type,
        "cache-control": "public, max-age=31536000, immutable",
      })
      .send(asset.bytes);
  });
}

function sendPage(request: FastifyRequest, reply: FastifyReply, page: Buffer, etag: string): FastifyReply {
  reply.headers({ ...SAFETY, etag, "cache-control": "no-cache" });
  const known = request.headers["if-none-match"];
  if (known !== undefined && matchesTag(known, etag)) return reply.code(304).send();
  return reply.header("content-type", "text/html; charset=utf-8").send(page);
}

function readAssets(): Map<string, { bytes: Buffer; type: string }> {
  const folder = new URL("assets/", DIST);
  const names = readdirSync(folder);
  return new Map(
    names.map((name) => {
      const type = TYPES.get(name.split(".").at(-1)!)!;
      return [name, { bytes: readFileSync(new URL(name, folder)), type }];
    }),
  );
}
