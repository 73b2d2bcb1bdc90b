import type { FastifyInstance } from "fastify";
import { catalogue, type ErrorCode, ParleyError } from "../errors.ts";

/** The page behind the `type` of each problem. */
export function errorPages(app: FastifyInstance): void {
  app.get("/docs/errors/:code", { config: { public: true } }, async (request, reply) => {
    const { code } = request.params as { code: string };
    if (!Object.hasOwn(catalogue, code)) throw new ParleyError("route_not_found");
    reply.headers({
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
      "x-content-type-options": "nosniff",
    });
    return page(code as ErrorCode);
  });
}

function page(code: ErrorCode): string {
  const { title, explanation } = catalogue[code];
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escapeHtml(title)}</title>
<style>body { font: 1.1em/1.5 system-ui; max-width: 40em; margin: 4em auto; padding: 0 1em; color-scheme: light dark }</style>
<h1>${escapeHtml(title)}</h1>
<p><code>${code}</code></p>
<p>${escapeHtml(explanation).replace(/`([^`]+)`/g, "<code>$1</code>")}</p>
</html>
`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
