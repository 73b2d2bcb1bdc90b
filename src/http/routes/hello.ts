import type { FastifyInstance } from "fastify";
import { readAsset } from "../../assets.ts";
import type { HelloPerson } from "../../config/settings.ts";
import { ParleyError } from "../../errors.ts";
import { isLoopback } from "../../util/addresses.ts";
import { fixedAnswer, sendFixed } from "../protocol/fixed.ts";
import { escapeHtml, HTML_TYPE } from "../protocol/html.ts";
import { pageHeaders, readBuiltFile } from "./built-files.ts";

const FOLDER = "src/http/hello/";
const HEADERS = pageHeaders("trusted-types 'none'");

/** Adds the page /hello of `parley dev`, which shows people side by side and the lines that make such a page. */
export function helloRoutes(
  app: FastifyInstance,
  people: readonly HelloPerson[],
  origin: () => string,
): void {
  const open = { config: { public: true } };
  app.get("/hello", open, async (request, reply) => {
    // It has tokens: a page of another site must not read it, also not by a name of that site for this machine.
    if (!isLoopback(request.hostname)) throw new ParleyError("route_not_found");
    reply.removeHeader("access-control-allow-origin");
    const page = fixedAnswer(HTML_TYPE, render(people, origin()), HEADERS);
    return sendFixed(request, reply, page);
  });
  for (const name of ["hello.css", "hello.js"]) {
    const answer = readBuiltFile(FOLDER + name, HEADERS);
    app.get(`/hello/${name}`, open, async (request, reply) => sendFixed(request, reply, answer));
  }
}

function render(people: readonly HelloPerson[], origin: string): string {
  const chats = people.map(
    ({ name, token, other }) =>
      `<article><h2>${escapeHtml(name)}</h2><parley-chat token="${escapeHtml(token)}" user="${escapeHtml(other)}"></parley-chat></article>`,
  );
  const [first] = people;
  const parts: Readonly<Record<string, string>> = {
    people: chats.join("\n"),
    name: escapeHtml(first!.name),
    code: escapeHtml(linesFor(first!, origin)),
  };
  const html = readAsset(`${FOLDER}index.html`).toString();
  return html.replace(/{(\w+)}/g, (_, name: string) => parts[name]!);
}

/** Returns a page of ten lines that shows the person's inbox. */
function linesFor({ token }: HelloPerson, origin: string): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <title>Chat</title>
    <script type="module" src="${origin}/embed.js"></script>
  </head>
  <body>
    <parley-inbox server="${origin}" token="${token}"></parley-inbox>
  </body>
</html>
`;
}
