import { createReadStream } from "node:fs";
import type { FastifyInstance, FastifyReply } from "fastify";
import { readFields } from "../core/fields.ts";
import { ParleyError } from "../errors.ts";
import { errorPages } from "./error-pages.ts";
import { queryOf } from "./operation.ts";

const INDEX = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Parley API</title>
<link rel="stylesheet" href="/docs/swagger-ui.css">
<div id="docs"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</html>
`;
const START =
  'SwaggerUIBundle({ url: "/openapi.json", dom_id: "#docs", deepLinking: true, validatorUrl: null });\n';

// The page works offline: what it needs comes from here, and it may ask nobody else. Swagger UI sets styles by itself.
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** The OpenAPI document and a page that shows it, for everybody. */
export function docsRoutes(app: FastifyInstance): void {
  const open = { config: { public: true } };
  app.get("/openapi.json", open, async (request, reply) => {
    readFields({}, queryOf(request));
    // Loaded when it is asked for: the server itself has no use for it.
    const { default: document } = await import("./openapi.json", { with: { type: "json" } });
    reply.header("cache-control", "no-cache");
    return document;
  });
  app.get("/docs", open, async (_request, reply) => send(reply, "text/html; charset=utf-8", INDEX));
  app.get("/docs/start.js", open, async (_request, reply) =>
    send(reply, "text/javascript; charset=utf-8", START),
  );
  app.get("/docs/:asset", open, async (request, reply) => {
    const { asset } = request.params as { asset: string };
    const type = ASSETS.get(asset);
    if (type === undefined) throw new ParleyError("route_not_found");
    return send(reply, type, createReadStream(new URL(import.meta.resolve(`swagger-ui-dist/${asset}`))));
  });
  errorPages(app);
}

const ASSETS = new Map([
  ["swagger-ui.css", "text/css; charset=utf-8"],
  ["swagger-ui-bundle.js", "text/javascript; charset=utf-8"],
]);

function send(reply: FastifyReply, type: string, body: string | NodeJS.ReadableStream): FastifyReply {
  return reply
    .headers({
      "content-type": type,
      "content-security-policy": POLICY,
      "x-content-type-options": "nosniff",
      "cache-control": "no-cache",
    })
    .send(body);
}
