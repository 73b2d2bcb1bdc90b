// Marks comments, strings, keywords and numbers in code, as far as a reader needs it.
const DOUBLE = String.raw`"(?:\\.|[^"\\\n])*"`;
const SINGLE = String.raw`'(?:\\.|[^'\\\n])*'`;
const TEMPLATE = "`(?:\\\\.|[^`\\\\])*`";
const KEYWORDS =
  "import|from|export|default|const|let|function|async|await|for|of|in|if|else|return|new|class|type|interface|" +
  "typeof|throw|try|catch|finally|while|break|continue|switch|case|true|false|null|undefined|as|satisfies|declare";

/** By class: `c` comment, `s` string, `k` keyword or name, `n` number. */
const SCRIPT = pattern({
  c: String.raw`\/\/[^\n]*|\/\*[\s\S]*?\*\/`,
  s: `${DOUBLE}|${SINGLE}|${TEMPLATE}`,
  k: `\\b(?:${KEYWORDS})\\b`,
  n: String.raw`\b\d[\d_.]*\b`,
});
const SHELL = pattern({
  c: String.raw`(?<=^|\s)#[^\n]*`,
  s: `${DOUBLE.replace(String.raw`\n`, "")}|'[^']*'`,
  k: String.raw`(?<=^|[|(]\s*|&&\s*)(?:sudo )?[a-z][\w./-]*(?= |$)|\$\w+`,
  n: String.raw`(?<= )--?[a-zA-Z][\w-]*`,
});
const PATTERNS: Readonly<Record<string, RegExp>> = {
  ts: SCRIPT,
  tsx: SCRIPT,
  js: SCRIPT,
  sh: SHELL,
  json: pattern({
    k: `${DOUBLE}(?=\\s*:)`,
    s: DOUBLE,
    n: String.raw`-?\b\d[\d.]*\b|\b(?:true|false|null)\b`,
  }),
  html: pattern({
    c: String.raw`<!--[\s\S]*?-->`,
    s: DOUBLE,
    k: String.raw`<\/?[a-zA-Z][\w-]*|\/?>|\b(?:${KEYWORDS})\b`,
  }),
  yaml: pattern({
    c: String.raw`(?<=^|\s)#[^\n]*`,
    k: String.raw`(?<=^[ -]*)[\w./-]+(?=:)`,
    s: `${DOUBLE}|${SINGLE}`,
  }),
  ini: pattern({ c: String.raw`(?<=^|\s)#[^\n]*`, k: "^[A-Z_]+(?==)" }),
};

function pattern(classes: Readonly<Record<string, string>>): RegExp {
  return new RegExp(
    Object.entries(classes)
      .map(([name, source]) => `(?<${name}>${source})`)
      .join("|"),
    "gm",
  );
}

/** Returns code as HTML. The language is the first word after the fence. */
export function highlight(code: string, language: string): string {
  const found = PATTERNS[language];
  if (!found) return escapeText(code);
  let html = "";
  let end = 0;
  for (const match of code.matchAll(found)) {
    const [name] = Object.entries(match.groups!).find(([, text]) => text !== undefined)!;
    html += `${escapeText(code.slice(end, match.index))}<span class="${name}">${escapeText(match[0])}</span>`;
    end = match.index + match[0].length;
  }
  return html + escapeText(code.slice(end));
}

/** Escapes text between tags. Unlike in attributes, quotation marks stay, which code has many of. */
function escapeText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
