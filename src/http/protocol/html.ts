/** Headers of a small page: it loads nothing, and runs nothing. */
export const HTML_HEADERS = {
  "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
} as const;
export const HTML_TYPE = "text/html; charset=utf-8";

const STYLE =
  "body { font: 1.1em/1.5 system-ui; max-width: 40em; margin: 4em auto; padding: 0 1em; color-scheme: light dark } " +
  "td { padding-right: 1.5em; vertical-align: top }";

/** Makes a small page. `title` is plain text, `body` is HTML. */
export function htmlPage(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
<h1>${escapeHtml(title)}</h1>
${body}
</html>
`;
}

/** Escapes plain text for HTML. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
