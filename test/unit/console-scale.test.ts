// Checks that the console's style sheets take every size and colour from the scale of console/src/ui/base.css.
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const ROOT = join(import.meta.dirname, "../../console/src");
const SCALE = "ui/base.css";

const SPACE = /^(?:0|auto|inherit|\d+dvh|var\(--space-\d\))$/;
/** A space derived from the size of something else. */
const DERIVED = /^calc\(.*var\(--.*\)$/;

/** The values that each property accepts. */
const RULES: readonly [property: RegExp, isOnScale: (value: string) => boolean][] = [
  [/^font-size$/, (value) => /^(?:inherit|var\(--text-\w+\))$/.test(value)],
  [/^font-weight$/, (value) => /^(?:inherit|var\(--weight-\w+\))$/.test(value)],
  [
    /^font$/,
    (value) =>
      /^inherit$|^(?:var\(--weight-\w+\) )?var\(--text-\w+\) \/ [\d.]+(?:px)? var\(--font-\w+\)$/.test(value),
  ],
  [/^border(?:-\w+)*-radius$/, (value) => /^(?:0|inherit|var\(--radius-\w+\))$/.test(value)],
  [
    /^(?:padding|margin|(?:row-|column-)?gap)(?:-\w+)*$/,
    (value) => splitParts(value).every((part) => SPACE.test(part) || DERIVED.test(part)),
  ],
];
const COLOUR = /#[\da-f]{3,8}\b|\b(?:rgb|hsl)a?\(/i;

/** Splits at spaces outside of brackets. */
function splitParts(value: string): string[] {
  const parts = [""];
  let depth = 0;
  for (const char of value) {
    if (char === "(") depth++;
    else if (char === ")") depth--;
    if (char === " " && depth === 0) parts.push("");
    else parts[parts.length - 1] += char;
  }
  return parts;
}

function complaints(css: string, isScale = false): string[] {
  const found: string[] = [];
  for (const [, property = "", text = ""] of css
    .replace(/\/\*.*?\*\//gs, "")
    .matchAll(/([\w-]+)\s*:\s*([^;{}]+);/g)) {
    const value = text.replace(/\s+/g, " ").trim();
    const rule = RULES.find(([name]) => name.test(property));
    const isColour = !isScale && COLOUR.test(value);
    if (isColour || (rule && !rule[1](value))) found.push(`${property}: ${value}`);
  }
  return found;
}

test("style sheets of the console use only sizes and colours of the scale", () => {
  const names = globSync("**/*.css", { cwd: ROOT });
  assert.ok(names.length > 15, names.join());
  const found = names.flatMap((name) =>
    complaints(readFileSync(join(ROOT, name), "utf8"), name === SCALE).map((each) => `${name} ${each}`),
  );
  assert.deepEqual(found, []);
});

test("each rule of the scale detects a violation", () => {
  for (const declaration of [
    "font-size: 13px",
    "font-weight: 600",
    "font: 600 1rem / 1.2 serif",
    "border-radius: 4px",
    "border-start-start-radius: var(--space-1)",
    "padding: 1px var(--space-6)",
    "margin-top: min(16dvh, 140px)",
    "gap: 0 0.5rem",
    "color: #fff",
    "background: rgb(12 16 15 / 55%)",
  ])
    assert.deepEqual(complaints(`a:hover { ${declaration}; }`), [declaration]);
  for (const declaration of [
    "font: var(--weight-bold) var(--text-l) / 1.25 var(--font-title)",
    "padding: calc((var(--control) - 20px) / 2) var(--space-2)",
    "margin: 0 auto",
    "border-radius: var(--radius-full)",
    "background: light-dark(oklch(0.89 0.06 var(--hue)), oklch(0.38 0.07 var(--hue)))",
  ])
    assert.deepEqual(complaints(`a { ${declaration}; }`), []);
});
