import { isCleanLines } from "./text.ts";

interface RepeatedName {
  name: string;
  /** The member of the outermost object in which it is repeated; undefined if it is repeated there itself. */
  inside: string | undefined;
  /** Where it is repeated. */
  offset: number;
}

/** Finds a name that an object of valid JSON has twice, because `JSON.parse` silently keeps the last of equal ones. */
export function findRepeatedName(json: string): RepeatedName | undefined {
  /** The names so far of each object around; of an array none. */
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

/** Parses a JSON text; undefined if it is invalid, or if an object has a name twice. */
export function parseStrictly(json: string): unknown {
  try {
    const value: unknown = JSON.parse(json);
    return findRepeatedName(json) ? undefined : value;
  } catch {
    return undefined;
  }
}

/**
 * Reports whether a parsed JSON value comes back from storage as it is and changes no object of a client: no number beyond
 * the range of a double, clean text only, no name `__proto__`, and at most `depth` objects and arrays in each other.
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

/** Line ends of every kind are kept as they are: the text may be signed or encrypted. */
function isClean(text: string): boolean {
  return isCleanLines(text.replaceAll("\r", ""));
}
