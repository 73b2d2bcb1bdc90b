import type { FastifyInstance } from "fastify";
import { listAssets } from "../../assets.ts";
import { ParleyError } from "../../errors.ts";
import { type FixedAnswer, sendFixed } from "../protocol/fixed.ts";
import { isBuiltFile, pageHeaders, readBuiltFile } from "./built-files.ts";

const DIST = "console/dist/";

// The console makes requests only to this server, and uploaded files never run in it: they are shown as images, audio, video
// or text, or by the browser's PDF viewer, which gets them as blobs in a frame.
const SAFETY = {
  ...pageHeaders(
    "media-src 'self'",
    "manifest-src 'self'",
    "frame-src blob:",
    // The console creates only one trusted URL: that of the service worker.
    "trusted-types push-worker",
  ),
  // For voice messages.
  "permissions-policy": "camera=(), microphone=(self), geolocation=()",
};

/** Files that browsers ask for by a fixed name. */
const FIXED = ["push-worker.js", "manifest.webmanifest", "icon-192.png", "icon-512.png", "icon-maskable.png"];

/** Adds the web console. It is public: everything it shows comes from the API, with the user's token. */
export function consoleRoutes(app: FastifyInstance): void {
  const open = { config: { public: true } };
  const page = readBuiltFile(`${DIST}index.html`, SAFETY);
  app.get("/", open, async (request, reply) => sendFixed(request, reply, page));
  for (const name of FIXED) {
    // The worker loads nothing and makes no requests.
    const answer = readBuiltFile(DIST + name, { ...SAFETY, "content-security-policy": "default-src 'none'" });
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
  const names = listAssets(`${DIST}assets/`).filter(isBuiltFile);
  return new Map(names.map((name) => [name, readBuiltFile(`${DIST}assets/${name}`, headers)]));
}
