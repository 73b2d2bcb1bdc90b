import type { FastifyInstance } from "fastify";
import { catalogue, type ErrorCode, ParleyError } from "../../errors.ts";
import { fixedAnswer, sendFixed } from "../protocol/fixed.ts";
import { escapeHtml, HTML_HEADERS, HTML_TYPE, htmlPage } from "../protocol/html.ts";
import { statusOf } from "../protocol/problems.ts";

const CODES = Object.keys(catalogue) as ErrorCode[];

/** Adds the list of error codes, and the page to which the `type` of each problem links. */
export function errorPages(app: FastifyInstance): void {
  const open = { config: { public: true } };
  const pages = new Map(CODES.map((code) => [code as string, answerOf(codePage(code))]));
  const list = answerOf(listPage());
  for (const path of ["/docs/errors", "/docs/errors/"])
    app.get(path, open, async (request, reply) => sendFixed(request, reply, list));
  app.get("/docs/errors/:code", open, async (request, reply) => {
    const answer = pages.get((request.params as { code: string }).code);
    if (!answer) throw new ParleyError("route_not_found");
    return sendFixed(request, reply, answer);
  });
}

function answerOf(page: string) {
  return fixedAnswer(HTML_TYPE, page, HTML_HEADERS);
}

function codePage(code: ErrorCode): string {
  const { title, explanation } = catalogue[code];
  const text = escapeHtml(explanation).replace(/`([^`]+)`/g, "<code>$1</code>");
  return htmlPage(
    title,
    `<p><code>${code}</code> · status ${statusOf(code)}</p>\n<p>${text}</p>\n<p><a href="/docs/errors/">All error codes</a></p>`,
  );
}

function listPage(): string {
  const rows = CODES.toSorted((a, b) => statusOf(a) - statusOf(b)).map(
    (code) =>
      `<tr><td>${statusOf(code)}<td><a href="/docs/errors/${code}"><code>${code}</code></a><td>${escapeHtml(catalogue[code].title)}`,
  );
  return htmlPage(
    "Error codes",
    `<p>Each error has one of these codes in its member <code>code</code>.</p>\n<table>\n${rows.join("\n")}\n</table>\n<p><a href="/docs">API reference</a></p>`,
  );
}
