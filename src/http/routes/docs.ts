import { readFile } from "node:fs/promises";
import type { FastifyInstance } from "fastify";
import { readFields } from "../../core/resource/fields.ts";
import { type FixedAnswer, fixedAnswer, sendFixed } from "../protocol/fixed.ts";
import { HTML_TYPE, LOOK, TOP } from "../protocol/html.ts";
import { queryOf } from "../protocol/operation.ts";

/** Adapts Swagger UI to the look of the console. */
const OWN_STYLE = `
.swagger-ui, .swagger-ui .info .title, .swagger-ui .opblock-tag, .swagger-ui .btn { font-family: inherit; color: var(--ink) }
.swagger-ui .info :is(p, li, a), .swagger-ui .opblock-summary-description, .swagger-ui .opblock-tag small, .swagger-ui select { font-family: inherit }
.swagger-ui .info .title { font-family: var(--title) }
.swagger-ui .info { margin: 24px 0 }
.swagger-ui .scheme-container { background: none; box-shadow: none; padding: 0 }
.swagger-ui .opblock { box-shadow: none }
.swagger-ui .info a { color: var(--accent) }
html.dark-mode body { background: var(--ground) }
html.dark-mode .swagger-ui .scheme-container { background: none }
`;
const INDEX = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Parley API</title>
<link rel="stylesheet" href="/docs/swagger-ui.css">
<style>${LOOK}${OWN_STYLE}</style>
${TOP}
<main id="docs"></main>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</html>
`;
const START = `const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", follow);
follow();
SwaggerUIBundle({ url: "/openapi.json", dom_id: "#docs", deepLinking: true, validatorUrl: null });
`;

// The page works offline and may load only from this server. Swagger UI sets inline styles.
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const HEADERS = { "content-security-policy": POLICY };
const STYLE = "text/css; charset=utf-8";
const SCRIPT = "text/javascript; charset=utf-8";

const index = once(async () => fixedAnswer(HTML_TYPE, INDEX, HEADERS));

/** Answers by path. Their files are read at the first request, because only this page uses them. */
const ANSWERS = new Map<string, () => Promise<FixedAnswer>>([
  ["/docs", index],
  ["/docs/", index],
  ["/docs/start.js", once(async () => fixedAnswer(SCRIPT, START, HEADERS))],
  ["/docs/swagger-ui.css", once(() => readAsset("swagger-ui.css", STYLE))],
  ["/docs/swagger-ui-bundle.js", once(() => readAsset("swagger-ui-bundle.js", SCRIPT))],
]);

const openApi = once(() => readOpenApi());

/** Adds the OpenAPI document and a page that shows it. Neither needs a token. */
export function docsRoutes(app: FastifyInstance): void {
  app.get("/openapi.json", { config: { public: true } }, async (request, reply) => {
    readFields({}, queryOf(request));
    return sendFixed(request, reply, await openApi());
  });
  for (const [path, answer] of ANSWERS) {
    app.get(path, { config: { public: true } }, async (request, reply) =>
      sendFixed(request, reply, await answer()),
    );
  }
}

async function readOpenApi(): Promise<FixedAnswer> {
  const document = await readFile(new URL("../openapi/openapi.json", import.meta.url), "utf8");
  return fixedAnswer("application/json; charset=utf-8", JSON.stringify(JSON.parse(document)), {});
}

async function readAsset(name: string, type: string): Promise<FixedAnswer> {
  const file = new URL(import.meta.resolve(`swagger-ui-dist/${name}`));
  return fixedAnswer(type, await readFile(file), HEADERS);
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make().catch((error) => {
      made = undefined;
      throw error;
    });
    return made;
  };
}
