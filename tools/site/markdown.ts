// Renders the Markdown of a page, and finds its headings and its text.
import { lexer, parser, Renderer, type Token, type Tokens } from "marked";
import { escapeHtml } from "../../src/http/protocol/html.ts";
import { highlight } from "./highlight.ts";

export interface Heading {
  depth: number;
  id: string;
  title: string;
}

/** The text between a heading and the next one, for the search. */
interface Part {
  /** Empty for the beginning of the page. */
  id: string;
  title: string;
  text: string;
}

interface Rendered {
  html: string;
  headings: Heading[];
  parts: Part[];
}

/** Returns where a link of the page leads on the site; undefined if it leads nowhere there. */
export type Resolve = (target: string) => string | undefined;

/** Languages of blocks that become tabs if they follow one another, with the names of the tabs. */
const TABS: Readonly<Record<string, string>> = {
  sh: "curl",
  ts: "TypeScript",
  tsx: "React",
  html: "HTML",
  php: "PHP",
};

export function renderMarkdown(markdown: string, resolve: Resolve): Rendered {
  const renderer = new PageRenderer(resolve);
  const tokens = joinTabs(lexer(markdown));
  const html = parser(tokens, { renderer });
  return { html, headings: renderer.headings, parts: toParts(tokens, renderer.headings) };
}

/** Returns the Markdown with links that work on the site. A link that leads nowhere there becomes its text. */
export function rewriteLinks(markdown: string, resolve: Resolve): string {
  const parts = markdown.split(/(^```.*?^```$)/ms);
  const rewrite = (prose: string) =>
    prose.replace(/(!?)\[([^\]]*)\]\(([^)\s]+)\)/g, (_, mark, text, target) => {
      const address = resolve(target);
      return address === undefined ? text : `${mark}[${text}](${address})`;
    });
  return parts.map((part) => (part.startsWith("```") ? part : rewrite(part))).join("");
}

class PageRenderer extends Renderer {
  readonly headings: Heading[] = [];
  readonly #resolve: Resolve;

  constructor(resolve: Resolve) {
    super();
    this.#resolve = resolve;
  }

  override heading({ tokens, depth, text }: Tokens.Heading): string {
    const id = uniqueId(text, this.headings);
    this.headings.push({ depth, id, title: toText(tokens) });
    const inner = this.parser.parseInline(tokens);
    // The first one is the title of the page, which needs no link.
    if (depth === 1) return `<h1>${inner}</h1>\n`;
    return `<h${depth} id="${id}"><a href="#${id}">${inner}</a></h${depth}>\n`;
  }

  override code(block: Tokens.Code & { tabs?: Tokens.Code[] }): string {
    if (!block.tabs) return codeBlock(block);
    const tabs = block.tabs.map((tab) => codeBlock(tab, TABS[toLanguage(tab)]));
    return `<div class="tabs">\n${tabs.join("")}</div>\n`;
  }

  override link({ href, tokens }: Tokens.Link): string {
    const inner = this.parser.parseInline(tokens);
    const address = this.#resolve(href);
    return address === undefined ? inner : `<a href="${escapeHtml(address)}">${inner}</a>`;
  }

  override image({ href, text }: Tokens.Image): string {
    const toSource = (target: string) => escapeHtml(this.#resolve(target)!);
    const alt = `alt="${escapeHtml(text)}"`;
    if (!href.endsWith(".webp")) return `<img src="${toSource(href)}" ${alt}>`;
    // It moves: the script shows it to readers who want that, with a button that stops it.
    const still = href.replace(".webp", "-still.webp");
    return `<span class="moving"><img src="${toSource(still)}" data-moving="${toSource(href)}" ${alt}></span>`;
  }

  override html({ raw }: Tokens.HTML | Tokens.Tag): string {
    return raw.startsWith("<!--") ? "" : escapeHtml(raw);
  }

  override table(table: Tokens.Table): string {
    const name = table.header.length > 3 ? "table" : "table stack";
    return `<div class="${name}">${super.table(table)}</div>\n`;
  }

  override tablecell({ tokens, header }: Tokens.TableCell): string {
    const inner = this.parser.parseInline(tokens);
    // An empty cell is no header.
    return header && inner ? `<th scope="col">${inner}</th>\n` : `<td>${inner}</td>\n`;
  }
}

function codeBlock(block: Tokens.Code, tab?: string): string {
  const code = `<pre><code>${highlight(block.text, toLanguage(block))}</code></pre>`;
  return tab
    ? `<div class="code" data-tab="${tab}"><p>${tab}</p>${code}</div>\n`
    : `<div class="code">${code}</div>\n`;
}

/** Returns the anchor of a heading as GitHub makes it. */
export function toAnchor(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(" ", "-");
}

/** Returns the anchor of the next heading of a page. */
function uniqueId(text: string, headings: readonly Heading[]): string {
  const id = toAnchor(text);
  const isTaken = (candidate: string) => headings.some((each) => each.id === candidate);
  let count = 0;
  while (isTaken(count === 0 ? id : `${id}-${count}`)) count++;
  return count === 0 ? id : `${id}-${count}`;
}

/** Returns the language of a block: the first word after its fence. */
function toLanguage({ lang }: Tokens.Code): string {
  return lang?.split(" ")[0] ?? "";
}

/** Reports whether a block shows one of several ways to do something. A block of shell is one if it uses curl. */
function isTab(token: Token): token is Tokens.Code {
  if (token.type !== "code") return false;
  const language = toLanguage(token as Tokens.Code);
  return language in TABS && (language !== "sh" || token.text.includes("curl "));
}

/** Joins blocks in different languages that follow one another into one block with tabs. */
function joinTabs(tokens: readonly Token[]): Token[] {
  const joined: Token[] = [];
  let run: Tokens.Code[] = [];
  for (const token of tokens) {
    if (token.type === "space") continue;
    const isNext = isTab(token) && !run.some((each) => toLanguage(each) === toLanguage(token));
    if (!isNext) run = [];
    if (isTab(token)) run.push(token);
    if (run.length < 2) joined.push(token);
    else joined.splice(-1, 1, { ...run[0]!, tabs: [...run] } as Token);
  }
  return joined;
}

/** Returns the text of tokens without marks. */
function toText(tokens: readonly Token[]): string {
  return tokens.map(toTokenText).join("");
}

function toTokenText(token: Token): string {
  if (token.type === "table") {
    const { header, rows } = token as Tokens.Table;
    return [header, ...rows].map((cells) => cells.map((cell) => toText(cell.tokens)).join(" ")).join("\n");
  }
  if (token.type === "list")
    return (token as Tokens.List).items.map((item) => toText(item.tokens)).join("\n");
  // The search finds no examples of requests and answers: their words are also in the tables beside them.
  if ("tabs" in token || (token.type === "code" && toLanguage(token as Tokens.Code) === "json")) return "";
  if ("tokens" in token && token.tokens) return toText(token.tokens);
  return "text" in token ? token.text : "";
}

function toParts(tokens: readonly Token[], headings: readonly Heading[]): Part[] {
  const parts: Part[] = [];
  for (const token of tokens) {
    const { id, title, depth } = headings[parts.length] ?? {};
    if (token.type === "heading") parts.push({ id: depth === 1 ? "" : id!, title: title!, text: "" });
    else if (token.type !== "html") parts.at(-1)!.text += ` ${toTokenText(token)}`;
  }
  return parts.map((part) => ({ ...part, text: part.text.replaceAll(/\s+/g, " ").trim() }));
}
