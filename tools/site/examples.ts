// Finds the examples of operations in the pages of `docs/api`, whose examples are run by tests.
import { toAnchor } from "./markdown.ts";

interface Example {
  /** A link from the reference to the explanation of the operation. */
  see: string;
  /** Its blocks of code; empty if that place has none. */
  blocks: string;
}

/** One or more lines such as `GET /v1/users` in backticks with a scope, and the text to the next such line. */
const EXPLANATION = /((?:^`[A-Z]+ \/\S+` · [^\n]+\s+)+)(.*?)(?=^`[A-Z]+ \/|(?![\s\S]))/gms;
/** A request in curl and in TypeScript. */
const PAIR = /^```sh\n(?:(?!^```).)*?curl .*?^```\s+^```ts\n.*?^```/gms;

/** Returns the example of each operation, such as `GET /v1/users`. Takes the pages by path below `docs/`. */
export function findExamples(pages: ReadonlyMap<string, string>): Map<string, Example> {
  const found = new Map<string, Example>();
  for (const [path, markdown] of pages) {
    const [, title] = /^# (.+)/.exec(markdown)!;
    const ofPage = markdown.match(PAIR) ?? [];
    for (const { 1: lines, 2: text, index } of markdown.matchAll(EXPLANATION)) {
      const heading = [...markdown.slice(0, index).matchAll(/^## (.+)$/gm)].at(-1)?.[1];
      const pairs = text!.match(PAIR) ?? [];
      for (const [, line] of lines!.matchAll(/^`([A-Z]+ \S+)`/gm)) {
        const request = toRequest(line!);
        const best = [...pairs, ...ofPage].find((pair) => request.test(pair)) ?? pairs[0];
        const see = heading ? `[${heading}](../${path}#${toAnchor(heading)})` : `[${title}](../${path})`;
        found.set(line!, { see, blocks: best ?? "" });
      }
    }
  }
  return found;
}

/** Returns a pattern of the operation's request in curl. */
function toRequest(line: string): RegExp {
  const [method, path] = line.split(" ");
  const option = /GET|POST/.test(method!) ? "" : `-X ${method} `;
  return new RegExp(`curl ${option}"\\$PARLEY_URL${path!.replaceAll(/\{\w+\}/g, '[^/"?]+')}["?]`);
}
