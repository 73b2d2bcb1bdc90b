/** Headers of a small page, which runs nothing and loads only the style sheet of the documentation. */
export const HTML_HEADERS = {
  "content-security-policy":
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
} as const;
export const HTML_TYPE = "text/html; charset=utf-8";

/** The mark of Parley. */
export const MARK =
  '<svg class="mark" viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="9" fill="#1f6f5f"/>' +
  '<path d="M9 24V10.5A2.5 2.5 0 0 1 11.5 8H17a5.5 5.5 0 0 1 0 11h-4" fill="none" stroke="#fff" stroke-width="3" ' +
  'stroke-linecap="round" stroke-linejoin="round"/><circle cx="22.5" cy="23" r="2" fill="#a6e3d2"/></svg>';

/** Makes a small page in the look of the documentation. `title` is plain text, `body` is HTML. */
export function htmlPage(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escapeHtml(title)} · Parley</title>
<link rel="stylesheet" href="/docs/site.css">
<header class="top">
<a class="home" href="/docs/">${MARK}Parley</a>
<nav aria-label="Sections">
<a href="/docs/">Documentation</a>
<a href="/">Console</a>
</nav>
</header>
<main class="small">
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
