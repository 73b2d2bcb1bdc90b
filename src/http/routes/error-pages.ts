import type { FastifyInstance } from "fastify";
import { catalogue, type ErrorCode, ParleyError } from "../../errors.ts";
import { fixedAnswer, sendFixed } from "../protocol/fixed.ts";
import { escapeHtml, HTML_HEADERS, HTML_TYPE, htmlPage } from "../protocol/html.ts";
import { statusOf } from "../protocol/problems.ts";

/** Adds the page to which the `type` of each problem links. The documentation lists all codes. */
export function errorPages(app: FastifyInstance): void {
  const open = { config: { public: true } };
  const codes = Object.keys(catalogue) as ErrorCode[];
  const pages = new Map(codes.map((code) => [code as string, codePage(code)]));
  app.get("/docs/errors", open, async (_request, reply) => reply.redirect("reference/errors.html", 308));
  app.get("/docs/errors/", open, async (_request, reply) => reply.redirect("../reference/errors.html", 308));
  app.get("/docs/errors/:code", open, async (request, reply) => {
    const page = pages.get((request.params as { code: string }).code);
    if (!page) throw new ParleyError("route_not_found");
    return sendFixed(request, reply, page);
  });
}

function codePage(code: ErrorCode) {
  const { title, explanation } = catalogue[code];
  const text = escapeHtml(explanation).replace(/`([^`]+)`/g, "<code>$1</code>");
  const page = htmlPage(
    title,
    `<p><code>${code}</code> · status ${statusOf(code)}</p>\n<p>${text}</p>\n<p><a href="/docs/reference/errors.html">All error codes</a></p>`,
  );
  return fixedAnswer(HTML_TYPE, page, HTML_HEADERS);
}
