// The frame of each page: the line at the top, the pages of the section at the left, the headings at the right.
import { escapeHtml, MARK } from "../../src/http/protocol/html.ts";
import type { Heading } from "./markdown.ts";
import { listPages, type Page, relativeAddress, type Section } from "./pages.ts";

/** What a page shows around its text. */
export interface Frame {
  page: Page;
  section: Section;
  sections: Section[];
  headings: Heading[];
  /** Rendered from the Markdown of the page. */
  html: string;
  description: string;
}

export function toMarkdownAddress(url: string): string {
  return url.replace(/html$/, "md");
}

export function layOut(frame: Frame): string {
  const { page, section, html, description } = frame;
  const to = (url: string) => escapeHtml(relativeAddress(page.url, url));
  const list = contents(frame.headings);
  const place = isListed(frame) ? `${section.title} · Parley` : "Parley";
  const title = page.title === "Parley" ? page.title : `${page.title} · ${place}`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="${escapeHtml(description)}">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="${to("icon.svg")}" type="image/svg+xml">
<link rel="stylesheet" href="${to("site.css")}">
${isListed(frame) ? `<link rel="alternate" href="${to(toMarkdownAddress(page.url))}" type="text/markdown">\n` : ""}<script type="module" src="${to("site.js")}"></script>
</head>
<body>
<a class="skip" href="#site-text">Skip to the text</a>
${topLine(frame, to)}
<div class="columns">
${sideBar(frame, to)}
<main id="site-text" tabindex="-1">
${list && '<button class="button opener" type="button" popovertarget="site-headings">On this page</button>\n'}<article${page.url === "index.html" ? ' class="home"' : ""}>
${html}</article>
${isListed(frame) ? pageEnd(frame, to) : ""}
</main>
${list}</div>
</body>
</html>
`;
}

/** Whether the section has the page. That for missing addresses is in none. */
function isListed({ page, section }: Frame): boolean {
  return listPages(section).includes(page);
}

type To = (url: string) => string;

function icon(path: string): string {
  return `<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d="${path}"/></svg>`;
}

function link(page: Page, current: Page, to: To): string {
  const mark = page === current ? ' aria-current="page"' : "";
  return `<a href="${to(page.url)}"${mark}>${escapeHtml(page.title)}</a>`;
}

function sectionLinks(frame: Frame, to: To): string[] {
  return frame.sections.map((each) => {
    const mark = each === frame.section && isListed(frame) ? ' aria-current="true"' : "";
    return `<a href="${to(listPages(each)[0]!.url)}"${mark}>${each.title}</a>`;
  });
}

function topLine(frame: Frame, to: To): string {
  return `<header class="top">
<button class="icon-button menu" type="button" popovertarget="site-pages" aria-label="Pages">${icon("M4 6h16M4 12h16M4 18h16")}</button>
<a class="home" href="${to("index.html")}">${MARK}Parley</a>
<nav aria-label="Sections">${sectionLinks(frame, to).join("\n")}</nav>
<button class="button" id="site-search" type="button" hidden data-index="${to("search.json")}">${icon("M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14Zm5 12l4.5 4.5")}<span>Search</span><kbd>/</kbd></button>
</header>`;
}

/** On a narrow screen a button opens the bar, which then has the sections, too. */
function sideBar(frame: Frame, to: To): string {
  const { page, section } = frame;
  const sections = sectionLinks(frame, to).map((each) => `<li>${each}</li>`);
  const groups = section.groups.map(({ title, pages }) => {
    const items = pages.map((each) => `<li>${link(each, page, to)}</li>`);
    return `<h2>${title}</h2>\n<ul>\n${items.join("\n")}\n</ul>`;
  });
  return `<nav class="side" id="site-pages" aria-label="${section.title}" popover>
<ul class="sections">
${sections.join("\n")}
</ul>
${groups.join("\n")}
</nav>`;
}

function contents(headings: readonly Heading[]): string {
  const items = headings
    .filter(({ depth }) => depth === 2 || depth === 3)
    .map(
      ({ depth, id, title }) => `<li class="depth-${depth}"><a href="#${id}">${escapeHtml(title)}</a></li>`,
    );
  if (items.length < 2) return "";
  return `<nav class="side contents" id="site-headings" aria-labelledby="site-contents" popover>
<h2 id="site-contents">On this page</h2>
<ul>
${items.join("\n")}
</ul>
</nav>
`;
}

/** The page before and after this one, and this one as Markdown. */
function pageEnd({ page, sections }: Frame, to: To): string {
  const pages = sections.flatMap(listPages);
  const at = pages.indexOf(page);
  const [previous, next] = [pages[at - 1], pages[at + 1]];
  return `<footer>
<nav aria-label="Previous and next page">
${previous ? `<a href="${to(previous.url)}" rel="prev"><span>Previous</span>${escapeHtml(previous.title)}</a>` : ""}
${next ? `<a href="${to(next.url)}" rel="next"><span>Next</span>${escapeHtml(next.title)}</a>` : ""}
</nav>
<p><a href="${to(toMarkdownAddress(page.url))}">This page as Markdown</a></p>
</footer>`;
}
