import { createRequire } from "node:module";

const ASCII = /^[ -~]*$/;
const require = createRequire(import.meta.url);

/** Returns the columns that a text takes on a terminal. */
export function textWidth(text: string): number {
  if (ASCII.test(text)) return text.length;
  // Loaded on demand: it compiles a pattern of all emoji, which takes longer than most commands run.
  const { default: stringWidth }: typeof import("string-width") = require("string-width");
  return stringWidth(text);
}
