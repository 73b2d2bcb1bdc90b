/** Headers of a small page, which loads nothing and runs nothing. */
export const HTML_HEADERS = {
  "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
} as const;
export const HTML_TYPE = "text/html; charset=utf-8";

/** Styles that all pages share with the console: its colours, its fonts, and the line at the top. */
export const LOOK = `
:root {
  color-scheme: light dark;
  --ground: light-dark(#f4f3ef, #131716);
  --surface: light-dark(#fff, #191e1c);
  --line: light-dark(#dedbd2, #2e3633);
  --ink: light-dark(#1c2421, #e8ecea);
  --muted: light-dark(#565f5a, #a3aeaa);
  --accent: light-dark(#1f6f5f, #6fc3ac);
  --title: "Iowan Old Style", "Palatino Linotype", "URW Palladio L", P052, "Book Antiqua", Georgia, serif;
}
* { box-sizing: border-box }
body { margin: 0; background: var(--ground); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif }
a { color: var(--accent) }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px }
.top { display: flex; flex-wrap: wrap; align-items: center; gap: 8px 24px; padding: 12px 24px; border-bottom: 1px solid var(--line); background: var(--surface) }
.top .home { display: flex; align-items: center; gap: 12px; margin-right: auto; color: inherit; font: 600 1.125rem var(--title); text-decoration: none }
.mark { width: 28px; height: 28px }
`;

const STYLE = `
main { max-width: 44rem; margin: 40px auto; padding: 0 24px }
h1 { margin: 0 0 16px; font: 600 1.75rem/1.25 var(--title); overflow-wrap: anywhere }
p { margin: 0 0 16px }
code { font-size: 0.9em; overflow-wrap: anywhere }
table { width: 100%; margin-bottom: 16px; border-collapse: collapse; border: 1px solid var(--line); background: var(--surface) }
td { padding: 8px 12px; border-top: 1px solid var(--line); vertical-align: top }
td:first-child { color: var(--muted) }
`;

const MARK =
  '<svg class="mark" viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="9" fill="#1f6f5f"/>' +
  '<path d="M9 24V10.5A2.5 2.5 0 0 1 11.5 8H17a5.5 5.5 0 0 1 0 11h-4" fill="none" stroke="#fff" stroke-width="3" ' +
  'stroke-linecap="round" stroke-linejoin="round"/><circle cx="22.5" cy="23" r="2" fill="#a6e3d2"/></svg>';

/** The line at the top of each page. */
export const TOP = `<header class="top">
<a class="home" href="/">${MARK}Parley</a>
<a href="/docs">API reference</a>
<a href="/docs/errors/">Error codes</a>
</header>`;

/** Makes a small page. `title` is plain text, `body` is HTML. */
export function htmlPage(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escapeHtml(title)}</title>
<style>${LOOK}${STYLE}</style>
${TOP}
<main>
<h1>${escapeHtml(title)}</h1>
${body}
</main>
</html>
`;
}

/** Escapes plain text for HTML. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
