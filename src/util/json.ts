import { isCleanLines } from "./text.ts";

interface RepeatedName {
  name: string;
  /** The top-level member that contains the repetition; undefined if the top-level object itself has it. */
  inside: string | undefined;
  /** The position of the second occurrence. */
  offset: number;
}

/** Finds a name that occurs twice in an object of valid JSON: `JSON.parse` silently keeps the last one. */
export function findRepeatedName(json: string): RepeatedName | undefined {
  /** The names seen so far in each enclosing object; empty for an array. */
  const open: Set<string>[] = [];
  let top = "";
  const tokens = json.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?|[{}[\]]/g);
  for (const { 0: token, 1: colon, index } of tokens) {
    if (token === "{" || token === "[") open.push(new Set());
    else if (token === "}" || token === "]") open.pop();
    else if (colon !== undefined) {
      const names = open.at(-1)!;
      const name = JSON.parse(token.slice(0, -colon.length)) as string;
      if (names.has(name)) return { name, inside: open.length === 1 ? undefined : top, offset: index };
      if (open.length === 1) top = name;
      names.add(name);
    }
  }
  return undefined;
}

/** Parses a JSON text. Returns undefined if it is invalid or an object has a name twice. */
export function parseStrictly(json: string): unknown {
  try {
    const value: unknown = JSON.parse(json);
    return findRepeatedName(json) ? undefined : value;
  } catch {
    return undefined;
  }
}

/**
 * Reports whether a parsed JSON value survives storage unchanged and is safe in clients: no number beyond the range
 * of a double, clean text only, no name `__proto__`, at most `depth` nested objects and arrays.
 */
export function isStorable(value: unknown, depth: number): boolean {
  if (typeof value === "string") return isClean(value);
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || value === null) return true;
  if (depth === 0) return false;
  return Object.entries(value).every(
    ([name, member]) => name !== "__proto__" && isClean(name) && isStorable(member, depth - 1),
  );
}

/** Line ends of every kind are kept: the text may be signed or encrypted. */
function isClean(text: string): boolean {
  return isCleanLines(text.replaceAll("\r", ""));
}
