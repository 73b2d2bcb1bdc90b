import type { Field } from "./fields.ts";

/** One or more of these words. */
export function choices<T extends string>(...words: readonly T[]): Field<T[], true> {
  const word = `(${words.join("|").replaceAll(".", "\\.")})`;
  return {
    required: true,
    accepts: `one or more of ${words.join(", ")}, separated by commas`,
    schema: { type: "string", pattern: `^${word}(,${word})*$` },
    parse: (value) => someOf(words, value),
  };
}

/**
 * Reads one or more of the known names: an array in JSON, otherwise text separated by commas or spaces. Undefined if a name is
 * unknown.
 */
export function someOf<T extends string>(known: readonly T[], value: unknown): T[] | undefined {
  const given: unknown[] =
    typeof value === "string" ? value.trim().split(/\s*,\s*|\s+/) : Array.isArray(value) ? value : [];
  const found = known.filter((each) => given.includes(each));
  return found.length > 0 && given.every((each) => found.includes(each as T)) ? found : undefined;
}
