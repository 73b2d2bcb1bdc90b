// Checks that texts for users contain none of the phrases below.
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { type AnyNode, parse } from "acorn";
import { walkSyntax } from "../support/syntax.ts";

const ROOT = join(import.meta.dirname, "../..");
/** Folders whose strings are for users, except those that only code reads. */
const PLACES = ["src/errors.ts", "src/core/**/*.ts", "src/http/**/*.ts"];

/** A phrase, and what to write instead. */
const PHRASES: readonly [RegExp, string][] = [
  [/\bwhoever\b|\bwhatever\b|\bwhichever\b/i, "name the person or thing"],
  [/\b(?:is|are|was|were) told\b/i, "gets, receives, or the verb for it"],
  [/\bcomes? of it\b/i, "results"],
  [/\bwhat is not yours\b|\bthat is not yours\b/i, "belongs to another user"],
  [/\b(?:of|on) its own\b/i, "leave it out"],
  [/\bas there may be\b|\bmay be there\b/i, "limit, only once"],
  [/\bor no longer\b/i, "expired"],
  [/\bgo(?:es)? on behind\b/i, "continue after"],
  [/\bmend(?:s|ed)?\b/i, "fix, repair"],
  [/\bthere is no such\b/i, "not found"],
  [/\bunder way\b/i, "running, in progress"],
  [/\bnot needed any more\b/i, "no longer needed"],
  [
    /(?<!\b(?:place|folder|address|file|line) )\bwhere (?:it|that|there|one|none|he|they|you) (?:is|are|was|have|has)\b/i,
    "if, when",
  ],
  [/^where\b/i, "if, when"],
];

/** Folders whose comments and test names avoid `HARD_WORDS`. */
const COMMENTED = [
  "console/{src,public}/**/*.{css,js,ts,tsx}",
  "src/{cli,config,jobs,previews,util}/**/*.ts",
  "test/{acceptance,cli,client,console,previews,unit}/**/*.ts",
  "test/http/visibility/*.ts",
  "tools/*.ts",
];
/** Words of comments and test names that read twice. */
const HARD_WORDS =
  /\bwhoever\b|\btold\b|\bgo(?:es)? on\b|\bof (?:its|their|his|her) own\b|\bunder way\b|\bmend(?:s|ed)?\b|\bbehind (?:it|them|that|this|the last)\b|^\W*what is\b/i;
const COMMENT = /^\s*(?:\/\/|\/?\*)\s?(.*)/;
const TEST_NAME = /^\s*(?:test\w*|on[A-Z]\w*|race)\((["`].*)|^\s*("[^"]+": async .*)/;

/** Returns the strings with a space of a module: sentences, not names. In templates, … stands for values. */
function sentences(path: string): string[] {
  const code = stripTypeScriptTypes(readFileSync(join(ROOT, path), "utf8"));
  const found: string[] = [];
  const tree = parse(code, { sourceType: "module", ecmaVersion: "latest" });
  walkSyntax<AnyNode>(tree, (node) => {
    if (node.type === "Literal" && typeof node.value === "string") found.push(node.value);
    if (node.type === "TemplateLiteral") found.push(node.quasis.map(({ value }) => value.cooked).join("…"));
  });
  return found.filter((text) => text.includes(" "));
}

function complaints(text: string): string[] {
  return PHRASES.flatMap(([phrase, instead]) =>
    phrase.test(text) ? [`${phrase.exec(text)![0]}: ${instead}`] : [],
  );
}

test("texts for users have no phrase of the list", () => {
  const files = PLACES.flatMap((place) => {
    const matches = globSync(place, { cwd: ROOT });
    assert.ok(matches.length > 0, place);
    return matches;
  });
  const texts = files.flatMap((path) => sentences(path).map((text) => ({ path, text })));
  assert.ok(texts.length > 300, `only ${texts.length} texts`);
  const found = texts.flatMap(({ path, text }) =>
    complaints(text).map((each) => `${path}: "${text}": ${each}`),
  );
  assert.deepEqual(found, []);
});

test("comments and test names have none of the words that read twice", () => {
  const files = COMMENTED.flatMap((place) => globSync(place, { cwd: ROOT }));
  assert.ok(files.length > 400, `only ${files.length} files`);
  const found = files.flatMap((path) =>
    readFileSync(join(ROOT, path), "utf8")
      .split("\n")
      .flatMap((line, at) => {
        const text = COMMENT.exec(line)?.[1] ?? TEST_NAME.exec(line)?.slice(1).join("");
        return text && HARD_WORDS.test(text) ? [`${path}:${at + 1}: ${text}`] : [];
      }),
  );
  assert.deepEqual(found, []);
});

test("each phrase is found", () => {
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
    "Answer 304 where it is one of these.",
    "Where it fails, try again.",
  ])
    assert.equal(complaints(text).length > 0, true, text);
  for (const words of [
    "Whoever",
    "is told",
    "goes on",
    "of its own",
    "under way",
    "mends",
    "behind it",
    "What is left",
  ])
    assert.match(words, HARD_WORDS);
  for (const text of ["The folder where it is stored.", "If it fails, try again."])
    assert.deepEqual(complaints(text), []);
});
