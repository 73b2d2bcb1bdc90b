import type { FastifyInstance } from "fastify";
import { listAssets, readAsset } from "../../assets.ts";
import { readFields } from "../../core/resource/fields.ts";
import { ParleyError } from "../../errors.ts";
import { type FixedAnswer, fixedAnswer, sendFixed } from "../protocol/fixed.ts";
import { queryOf } from "../protocol/operation.ts";
import { compress, isBuiltFile, once, pageHeaders, readBuiltFile } from "./built-files.ts";

const DIST = "docs/dist/";

/** The script of the pages changes no HTML by text. */
const HEADERS = pageHeaders("trusted-types 'none'");
/** Folders in the address of a page that does not exist. The links of its answer grow with them. */
const MAX_DEPTH = 8;
let notFound: string | undefined;

/** Adds the documentation and the OpenAPI documents. None needs a token. */
export function docsRoutes(app: FastifyInstance): void {
  const open = { config: { public: true } };
  const answers = listAnswers();
  for (const name of ["openapi.json", "openapi-3.0.json"]) {
    const document = once(async () => readDocument(name));
    app.get(`/${name}`, open, async (request, reply) => {
      readFields({}, queryOf(request));
      return sendFixed(request, reply, await document());
    });
  }
  // Pages have relative links, so that they also work below a path of a proxy.
  app.get("/docs", open, async (_request, reply) => reply.redirect("docs/", 308));
  for (const path of ["/docs/:name", "/docs/:folder/:name"]) {
    app.get(path, open, async (request, reply) => {
      const { folder, name } = request.params as { folder?: string; name: string };
      const file = folder === undefined ? name || "index.html" : `${folder}/${name}`;
      const answer = answers.get(file);
      if (answer) return sendFixed(request, reply, await answer());
      // People leave out the ending.
      if (answers.has(`${file}.html`)) return reply.redirect(`${name}.html`, 308);
      throw new ParleyError("route_not_found");
    });
  }
}

/** Returns the page, and its headers, for an address that the documentation does not have; undefined for other addresses. */
export function missingDocsPage(path: string): { page: string; headers: Record<string, string> } | undefined {
  const [, first, ...rest] = path.split("/");
  if (first !== "docs" || rest.length === 0 || rest.length > MAX_DEPTH) return undefined;
  // The links of the page are relative, as if it were in the first folder.
  const up = "../".repeat(rest.length - 1);
  notFound ??= readAsset(`${DIST}404.html`).toString();
  const page = notFound.replaceAll(/ (href|src|data-index)="(?![#/]|\w+:)/g, ` $1="${up}`);
  return { page, headers: HEADERS };
}

/** Returns the answers by path. Each file is read at its first request, because most are never requested. */
function listAnswers(): Map<string, () => Promise<FixedAnswer>> {
  const paths = listAssets(DIST).filter(isBuiltFile);
  return new Map(
    paths.map((path) => {
      const read = async () => readBuiltFile(DIST + path, HEADERS);
      // WebP is compressed already.
      return [path, path.endsWith(".webp") ? once(read) : once(async () => compress(await read()))];
    }),
  );
}

function readDocument(name: string): FixedAnswer {
  const document = readAsset(`src/http/openapi/${name}`).toString();
  return fixedAnswer("application/json; charset=utf-8", JSON.stringify(JSON.parse(document)), {});
}
