// How text reads: no phrase of the list is in strings for users, comments, test names, pages and subjects of commits.
// docs/style.md explains it.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { type AnyNode, parse } from "acorn";
import { parseSync } from "vite";
import { mutants } from "../../tools/mutants/list.ts";
import { walkSyntax } from "../support/syntax.ts";

const ROOT = join(import.meta.dirname, "../..");
/** Modules whose strings are for users, except those that only code reads. */
const STRINGS = [
  "src/errors.ts",
  "src/core/**/*.ts",
  "src/http/**/*.ts",
  "tools/*.ts",
  "bench/*.ts",
  "packages/*/src/*.ts",
];
/** Modules whose comments are checked. */
const COMMENTS = ["{src,test,tools,bench,packages/*/src,console/src,examples}/**/*.{ts,tsx}"];
/** Modules whose names of tests are checked. */
const TESTS = ["test/**/*.ts"];
/** Functions whose first argument is the name of a test. */
const NAMING = /^(?:test|describe|contract|race)$|^(?:test|on)[A-Z]/;
/** Made from strings of the server. */
const GENERATED = "packages/parley-client/src/schema.ts";
const PAGES = ["**/*.md"];
/** Pages that are not checked: one shows the phrases, one has entries of released versions. */
const OTHER_PAGES = ["docs/style.md", "CHANGELOG.md"];
/** Commits after this one have subjects of the form that docs/style.md states. If a wrong one was pushed, name that one here. */
const FIRST_COMMIT = "b9144ab20f81101e952407b61a25c7ef46000ade";

/** A phrase, and what to write instead. */
const PHRASES: readonly [RegExp, string][] = [
  [/\bwhoever\b/i, "name the person"],
  [/\btold\b/i, "notified, gets, receives"],
  [/\bcomes? of it\b/i, "results"],
  [/\bwhat is not yours\b|\bthat is not yours\b/i, "belongs to another user"],
  [/\b(?:of|on) (?:its|their) own\b(?! (?:origin|inputs|tests)\b)/i, "leave it out, separate"],
  [/\bas there may be\b|\bmay be there\b/i, "limit, only once"],
  [/\bor no longer\b/i, "expired"],
  [/\bgoes on\b|\bgo on (?:after|behind|with)\b/i, "continues"],
  [/\bmend(?:s|ed)?\b/i, "fix, repair"],
  [/\bthere is no such\b/i, "not found"],
  [/\bunder way\b/i, "running, in progress"],
  [/\bnot needed any more\b/i, "no longer needed"],
  [
    /(?<!\b(?:falls?|fell|is|are|was|be|far|left|leaves?) )\bbehind\b(?! (?:(?:an?|the|your|one|its) )?(?:(?:reverse|own) )?(?:prox|nginx|Caddy|app))/i,
    "after, later",
  ],
  [
    /(?<!\b(?:place|folder|address|file|line) )\bwhere (?:it|that|there|one|none|he|they|you) (?:is|are|was|have|has)\b/i,
    "if, when",
  ],
];
/** In strings alone: a page may have a title such as "Where to look". */
const OF_STRINGS: readonly [RegExp, string][] = [
  ...PHRASES,
  [/^where\b/i, "if, when"],
  [/\bwhatever\b|\bwhichever\b/i, "name the thing"],
];
/** In prose alone: the description of a field may be "What was done". */
const OF_PROSE: readonly [RegExp, string][] = [
  ...PHRASES,
  [/^What (?:is|was|has|comes|remains) .*[^?]$/, "name the thing"],
];
/** In names of tests, which begin in lower case, maybe after an engine. */
const OF_NAMES: readonly [RegExp, string][] = [
  ...PHRASES,
  [/^(?:\S+: )?what (?:is|was|has|comes|remains|somebody|others)\b/i, "name the thing"],
];

interface Node {
  type: string;
  [key: string]: unknown;
}

interface Text {
  path: string;
  text: string;
}

function readTree(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

function filesOf(globs: readonly string[]): string[] {
  return globs.flatMap((glob) => {
    const found = globSync(glob, {
      cwd: ROOT,
      exclude: (path) => /^release$|(?:^|\/)(?:node_modules|data|docs\/dist)$/.test(path),
    });
    assert.ok(found.length > 0, glob);
    return found;
  });
}

/** Returns the strings with a space of a module: sentences, not names. Templates have … for inserted values. */
function stringsOf(path: string): Text[] {
  const code = stripTypeScriptTypes(readTree(path));
  const found: string[] = [];
  const tree = parse(code, { sourceType: "module", ecmaVersion: "latest" });
  walkSyntax<AnyNode>(tree, (node) => {
    if (node.type === "Literal" && typeof node.value === "string") found.push(node.value);
    if (node.type === "TemplateLiteral") found.push(node.quasis.map(({ value }) => value.cooked).join("…"));
  });
  return found.filter((text) => text.includes(" ")).map((text) => ({ path, text }));
}

/** Returns the text of a string or template; undefined for any other node. */
function textOf(node: Node | null | undefined): string | undefined {
  if (node?.type === "Literal" && typeof node.value === "string") return node.value;
  const { quasis } = (node?.type === "TemplateLiteral" ? node : {}) as {
    quasis?: { value: { cooked: string } }[];
  };
  return quasis?.map(({ value }) => value.cooked).join("…");
}

/** Returns the name of the called function, also of `t.test`; empty for any other node. */
function calledBy(node: Node): string {
  const { name, object, property } = (node.callee ?? {}) as { name?: string; object?: Node; property?: Node };
  return name ?? (object?.name === "t" ? String(property?.name) : "");
}

/** Returns the names of tests: of calls, of scenes by their keys, and of rows of scenarios. */
function testNamesOf(path: string, code = readTree(path)): Text[] {
  const found: (string | undefined)[] = [];
  const { program } = parseSync(path, code, { preserveParens: false });
  walkSyntax<Node>(program as unknown as Node, (node, parents) => {
    const [first, second] = (node.arguments ?? node.elements ?? []) as Node[];
    if (node.type === "CallExpression" && NAMING.test(calledBy(node))) found.push(textOf(first));
    if (calledBy(node) === "testScenes")
      found.push(...((second?.properties ?? []) as { key: Node }[]).map(({ key }) => textOf(key)));
    if (parents.some((parent) => calledBy(parent) === "scenarios")) found.push(textOf(first));
  });
  return found.filter((text) => text?.includes(" ")).map((text) => ({ path, text: text! }));
}

/** Splits prose into sentences. */
function sentencesOf(path: string, prose: string): Text[] {
  const sentences = prose.replaceAll(/\s+/g, " ").split(/(?<=[.;:!?]\)?) (?=\S)/);
  return sentences.map((text) => ({ path, text: text.trim() }));
}

function commentsOf(path: string): Text[] {
  const code = readTree(path);
  const { comments } = parseSync(path, code, { preserveParens: false });
  const lines = comments.map(({ value }) => value.replaceAll(/^\s*\*+ ?/gm, "").trim());
  // Successive lines are one text.
  let joined = "";
  let end = 0;
  for (const [i, { start, end: last }] of comments.entries()) {
    joined += /^\s*$/.test(code.slice(end, start)) ? ` ${lines[i]}` : `\n\n${lines[i]}`;
    end = last;
  }
  return joined.split("\n\n").flatMap((text) => sentencesOf(path, text));
}

/** Returns the sentences of a page, by paragraph, item of a list and cell of a table, without code and headings. */
function pageOf(path: string, content = readTree(path)): Text[] {
  const prose = content
    .replaceAll(/^```.*?^```$/gms, "")
    .replaceAll(/^#.*$/gm, "")
    .replaceAll(/`[^`\n]+`/g, "…")
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll("**", "");
  return prose.split(/\n\s*\n|^\s*(?:[-*]|\d+\.) |\|/m).flatMap((block) => sentencesOf(path, block));
}

function complaints(text: string, phrases: readonly [RegExp, string][]): string[] {
  return phrases.flatMap(([phrase, instead]) =>
    phrase.test(text) ? [`${phrase.exec(text)![0]}: ${instead}`] : [],
  );
}

function check(texts: readonly Text[], least: number, phrases: readonly [RegExp, string][]): void {
  assert.ok(texts.length > least, `only ${texts.length} texts`);
  const found = texts.flatMap(({ path, text }) =>
    complaints(text, phrases).map((each) => `${path}: "${text}": ${each}`),
  );
  assert.deepEqual(found, []);
}

test("strings for users have none of the phrases that read twice", () => {
  check(filesOf(STRINGS).flatMap(stringsOf), 300, OF_STRINGS);
});

test("comments have none of these phrases", () => {
  check(
    filesOf(COMMENTS)
      .filter((path) => path !== GENERATED)
      .flatMap(commentsOf),
    300,
    OF_PROSE,
  );
  check([{ path: ".ci/run", text: readTree(".ci/run").replaceAll(/^#+ ?|^[^#].*$/gm, "") }], 0, OF_PROSE);
});

test("names of tests and mutants have none of these phrases", () => {
  check(
    filesOf(TESTS).flatMap((path) => testNamesOf(path)),
    1500,
    OF_NAMES,
  );
  check(
    mutants.map(({ name }) => ({ path: "tools/mutants", text: name })),
    100,
    OF_NAMES,
  );
});

test("pages have none of these phrases", () => {
  check(
    filesOf(PAGES)
      .filter((path) => !OTHER_PAGES.includes(path))
      .flatMap((path) => pageOf(path)),
    3000,
    OF_PROSE,
  );
});

const SUBJECT = /^[a-z][\w./-]*: [A-Z`](?!\w*(?:[a-z]ed|(?<!Br)ing) )\S*(?: .*)?[^.\s]$/;

/** Returns what is wrong with the subject of a commit. */
function subjectFaults(subject: string): string[] {
  const faults = complaints(subject, PHRASES);
  if (!SUBJECT.test(subject)) faults.push("not of the form `area: Imperative sentence`");
  if (subject.length > 72) faults.push(`${subject.length} characters`);
  return faults;
}

/** Returns the subjects of commits after the first; none if the clone is shallow, or no clone at all. */
function subjects(): string[] {
  const git = (...args: string[]) =>
    execFileSync("git", args, { cwd: ROOT, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  try {
    git("merge-base", "--is-ancestor", FIRST_COMMIT, "HEAD");
    return git("log", "--no-merges", "--format=%s", `${FIRST_COMMIT}..HEAD`).split("\n").filter(Boolean);
  } catch {
    return [];
  }
}

test("subjects of commits are `area: Imperative sentence`, at most 72 characters", () => {
  const found = subjects().flatMap((subject) => {
    const faults = subjectFaults(subject);
    return faults.length === 0 ? [] : [`"${subject}": ${faults.join(", ")}`];
  });
  assert.deepEqual(found, []);
});

test("each fault of a subject is found", () => {
  for (const subject of [
    "Reject empty text",
    "messages: reject empty text",
    "messages: Rejected empty text",
    "messages: Rejecting empty text",
    "messages: Reject empty text.",
    "messages: Mend the check of text",
    `messages: Reject ${"very ".repeat(12)}empty text`,
  ])
    assert.equal(subjectFaults(subject).length > 0, true, subject);
  for (const subject of [
    "messages: Reject empty text",
    "http/protocol: Bring ranges back",
    "test: `npm test` ends",
  ])
    assert.deepEqual(subjectFaults(subject), []);
});

test("each phrase is found", () => {
  const everywhere = [...OF_STRINGS, ...OF_PROSE];
  for (const text of [
    "Whoever has it may read it.",
    "The recipient is told.",
    "See what comes of it.",
    "The id is of a contact that is not yours.",
    "A disk of its own.",
    "There are as many of these as there may be",
    "The header host may be there once.",
    "The link is not valid, or no longer",
    "A stream goes on behind this event.",
    "The operator must mend it.",
    "There is no such contact",
    "You have 3 uploads under way.",
    "Delete some that are not needed any more.",
    "A slow one would delay all behind it.",
    "What is left to try is another framework.",
    "Answer 304 where it is one of these.",
    "Where it fails, try again.",
  ])
    assert.equal(complaints(text, everywhere).length > 0, true, text);
  for (const text of [
    "The folder where it is stored.",
    "If it fails, try again.",
    "Run it behind a reverse proxy.",
    "A webhook that is behind catches up.",
    "What is a node?",
  ])
    assert.deepEqual(complaints(text, everywhere), []);
});

test("names are found in calls, scenes and scenarios", () => {
  const code = `test("a b", run); t.test(\`\${c}: d\`, run); onEachEngine("e f", run); other("g h");
    testScenes("i j", { "k l": run }); scenarios(app, scene, [["m n", "GET /"], list("o p", "q r")]);`;
  const names = testNamesOf("a.ts", code).map(({ text }) => text);
  assert.deepEqual(names, ["a b", "…: d", "e f", "i j", "k l", "m n", "o p"]);
});

test("sentences are found in every part of a page", () => {
  const page =
    "# Whoever\n\nOne. What is left\nis two.\n\n- [A](b-behind.md) b\n- c\n\n| d | `whoever` e |\n\n```\ntold\n```\n";
  const texts = pageOf("a.md", page).map(({ text }) => text);
  assert.deepEqual(texts.filter(Boolean), ["One.", "What is left is two.", "A b", "c", "d", "… e"]);
});
