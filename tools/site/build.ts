// Builds the documentation into docs/dist: `npm run docs`. The server serves that folder at /docs, and any other server
// can serve it, too.
import { copyFileSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
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
const STYLES = ["frame", "columns", "text", "home", "search"];
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");

interface Site {
  /** The text of each file, by path. */
  texts: Map<string, string>;
  /** Which file of this repository each picture is, by path. */
  pictures: Map<string, string>;
}

export function buildSite(): Site {
  const document = JSON.parse(read("src/http/openapi/openapi.json")) as OpenApi;
  const explaining = [...globSync("api/*.md", { cwd: join(ROOT, "docs") }).sort(), "operate.md"];
  const reference = buildReference(document, new Map(explaining.map((path) => [path, read(`docs/${path}`)])));
  const sections = readSections(ROOT, reference);
  const pages = sections.flatMap(listPages);
  const pictures = new Map<string, string>();
  const texts = new Map([
    ["site.css", [tokens(), ...STYLES.map((name) => read(`tools/site/${name}.css`))].join("\n")],
    ["site.js", read("tools/site/site.js")],
    ["icon.svg", read("console/src/icon.svg")],
  ]);
  const found: unknown[] = [];
  const listed: string[] = [];
  for (const section of sections) {
    listed.push(`\n## ${section.title}\n`);
    for (const page of listPages(section)) {
      const resolve = resolver(page, pages, pictures);
      const { html, headings, parts } = renderMarkdown(page.markdown, resolve);
      const description = /^.*?[.:](?= |$)/.exec(parts[0]!.text)?.[0] ?? page.title;
      texts.set(page.url, layOut({ page, section, sections, headings, html, description }));
      texts.set(
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
  const { html, headings } = renderMarkdown(NOT_FOUND.markdown, resolver(NOT_FOUND, pages, pictures));
  const description = "No page has this address.";
  texts.set(
    NOT_FOUND.url,
    layOut({ page: NOT_FOUND, section: sections[0]!, sections, headings, html, description }),
  );
  texts.set("search.json", JSON.stringify(found));
  texts.set("llms.txt", `# Parley\n\n> ${introduction(sections)}\n${listed.join("\n")}\n`);
  return { texts, pictures };
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

/** Returns where the links of a page lead. Adds the pictures that it shows to `pictures`. */
function resolver(page: Page, pages: readonly Page[], pictures: Map<string, string>): Resolve {
  return (target) => {
    if (/^\w+:|^#/.test(target)) return target;
    const [path, anchor] = target.split("#");
    const source = posix.join(posix.dirname(page.source), path!);
    const address = pages.find((each) => each.source === source)?.url ?? addPicture(source, pictures);
    return address && relativeAddress(page.url, address) + (anchor === undefined ? "" : `#${anchor}`);
  };
}

function addPicture(source: string, pictures: Map<string, string>): string | undefined {
  if (!/\.(?:svg|webp)$/.test(source)) return undefined;
  const name = posix.basename(source);
  pictures.set(name, source);
  return name;
}

if (import.meta.main) {
  const dist = join(ROOT, "docs/dist");
  rmSync(dist, { recursive: true, force: true });
  const { texts, pictures } = buildSite();
  for (const [path, content] of texts) {
    mkdirSync(dirname(join(dist, path)), { recursive: true });
    writeFileSync(join(dist, path), content);
  }
  for (const [path, source] of pictures) copyFileSync(join(ROOT, source), join(dist, path));
}
