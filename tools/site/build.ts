// Builds the documentation into docs/dist: `npm run docs`. The server serves that folder at /docs, and any other server
// can serve it, too.
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { layOut, toMarkdownAddress } from "./layout.ts";
import { type Resolve, renderMarkdown, rewriteLinks } from "./markdown.ts";
import { listPages, type Page, readSections, relativeAddress, type Section } from "./pages.ts";
import { buildReference, type OpenApi } from "./reference.ts";

const ROOT = join(import.meta.dirname, "../..");
/** For addresses that have no page. Hosts of static files look for this name. */
const NOT_FOUND: Page = {
  source: "docs/404.md",
  url: "404.html",
  title: "Page not found",
  markdown:
    "# Page not found\n\nNo page has this address. Search, or start at the [first page](README.md).\n",
};
const STYLES = ["frame", "columns", "text", "search"];
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");

/** Returns the files of the site by path. */
export function buildSite(): Map<string, string> {
  const document = JSON.parse(read("src/http/openapi/openapi.json")) as OpenApi;
  const explaining = [...globSync("api/*.md", { cwd: join(ROOT, "docs") }).sort(), "operate.md"];
  const reference = buildReference(document, new Map(explaining.map((path) => [path, read(`docs/${path}`)])));
  const sections = readSections(ROOT, reference);
  const pages = sections.flatMap(listPages);
  const files = new Map([
    ["site.css", [tokens(), ...STYLES.map((name) => read(`tools/site/${name}.css`))].join("\n")],
    ["site.js", read("tools/site/site.js")],
    ["icon.svg", read("console/src/icon.svg")],
  ]);
  const found: unknown[] = [];
  const listed: string[] = [];
  for (const section of sections) {
    listed.push(`\n## ${section.title}\n`);
    for (const page of listPages(section)) {
      const resolve = resolver(page, pages, files);
      const { html, headings, parts } = renderMarkdown(page.markdown, resolve);
      const description = /^.*?[.:](?= |$)/.exec(parts[0]!.text)?.[0] ?? page.title;
      files.set(page.url, layOut({ page, section, sections, headings, html, description }));
      files.set(
        toMarkdownAddress(page.url),
        rewriteLinks(page.markdown, (target) => toMarkdown(resolve(target))),
      );
      found.push([
        page.url,
        page.title,
        section.title,
        parts.map(({ id, title, text }) => [id, title, text]),
      ]);
      listed.push(`- [${page.title}](${toMarkdownAddress(page.url)}): ${description}`);
    }
  }
  const { html, headings } = renderMarkdown(NOT_FOUND.markdown, resolver(NOT_FOUND, pages, files));
  const description = "No page has this address.";
  files.set(
    NOT_FOUND.url,
    layOut({ page: NOT_FOUND, section: sections[0]!, sections, headings, html, description }),
  );
  files.set("search.json", JSON.stringify(found));
  files.set("llms.txt", `# Parley\n\n> ${introduction(sections)}\n${listed.join("\n")}\n`);
  return files;
}

/** The colours and sizes of the console. */
function tokens(): string {
  return /^:root \{.*?^\}/ms.exec(read("console/src/ui/base.css"))![0];
}

function introduction([guides]: Section[]): string {
  return listPages(guides!)[0]!.markdown.split("\n\n")[1]!;
}

function toMarkdown(address: string | undefined): string | undefined {
  return address?.replace(/^((?!\w+:)[^#]*)\.html(?=#|$)/, "$1.md");
}

/** Returns where the links of a page lead. Adds the pictures that it shows to `files`. */
function resolver(page: Page, pages: readonly Page[], files: Map<string, string>): Resolve {
  return (target) => {
    if (/^\w+:|^#/.test(target)) return target;
    const [path, anchor] = target.split("#");
    const source = posix.join(posix.dirname(page.source), path!);
    const address = pages.find((each) => each.source === source)?.url ?? picture(source, files);
    return address && relativeAddress(page.url, address) + (anchor === undefined ? "" : `#${anchor}`);
  };
}

function picture(source: string, files: Map<string, string>): string | undefined {
  if (!source.endsWith(".svg")) return undefined;
  const name = posix.basename(source);
  files.set(name, read(source));
  return name;
}

if (import.meta.main) {
  const dist = join(ROOT, "docs/dist");
  rmSync(dist, { recursive: true, force: true });
  for (const [path, content] of buildSite()) {
    mkdirSync(dirname(join(dist, path)), { recursive: true });
    writeFileSync(join(dist, path), content);
  }
}
