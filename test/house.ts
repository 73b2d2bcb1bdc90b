// The rules of this house, as functions over the sources, so that small examples can break them too.
// Stripping blanks types in place, so positions in the text and in the syntax tree agree.
import { stripTypeScriptTypes } from "node:module";
import { posix } from "node:path";
import { type AnyNode, type Comment, type Program, parse } from "acorn";
import { parseSync } from "vite";

// In `names`, "*" stands for every export. A "star", `export * from`, asks for what its importers ask for.
// A "url" is a file that is started elsewhere, as `new URL("./worker.ts", import.meta.url)`, not loaded here.
type How = "import" | "star" | "url";
type Import = { to: string; names: string[]; how: How; typeOnly: boolean; line: number };
type Named = { name: string; line: number };
type Found = { imports: Import[]; exports: Named[] };
type Module = Found & { path: string; text: string; ast: Program; notes: Named[] };
type Known = ReadonlyMap<string, Module>;
type Finding = [line: number, what: string];
export type Rule = (modules: Module[]) => string[];

// "type:config" allows the types of config alone.
const MAY_IMPORT: Record<string, string> = {
  main: "cli errors util",
  cli: "config app engines core db blobs client errors util",
  config: "errors util",
  app: "config engines http jobs core db blobs errors util",
  engines: "config db blobs errors util",
  http: "core errors util type:config",
  jobs: "core db errors util type:blobs type:config",
  core: "db errors util type:blobs type:config",
  db: "errors util",
  blobs: "errors util type:config",
  errors: "",
  util: "errors",
  client: "",
  console: "client",
};
const PACKAGE_ROOMS: [RegExp, string][] = [
  [/^node:sqlite$|^pg(\/|$)/, "db"],
  [/^@aws-sdk\//, "blobs"],
  [/^(node:)?fs(\/|$)/, "app blobs cli db http util"],
  [/^@aws-sdk\//, "blobs"],
  [/^@?fastify(\/|$)/, "http"],
];
const SYNTAX = { sourceType: "module", ecmaVersion: "latest", locations: true } as const;
const MAX_FILE_LINES = 400;
const MAX_FUNCTION_LINES = 70;
const SRC = /^src\//;
const CLIENT = /^client\//;
const SHIPPED = /^(src|client|console)\//;
// Nothing here imports all of what the client gives to others.
const SHIPPED_INSIDE = /^(src\/(?!main\.ts$)|client\/(?!src\/index\.ts$)|console\/(?!src\/main\.tsx$))/;
const SRC_BUT_MAIN = /^src\/(?!main\.ts$)/;
const SRC_BUT_CLOCKS = /^src\/(?!main\.ts$|app\.ts$|cli\/|util\/clock\.ts$)/;

const COMMENT = /\/\/.*|\/\*[\s\S]*?\*\//g;
const CLAUSE = String.raw`(?:[\w$]+\s*,\s*)?(?:\{[^{}]*\}|\*(?:\s*as\s+[\w$]+)?)|[\w$]+`;
const SPEC = `["']([^"']+)["']`;
const FROM = new RegExp(String.raw`\b(import|export)\s+(?:type\s+)?(${CLAUSE})\s*from\s*${SPEC}`, "g");
const WHOLE = /\bimport\s*(\(\s*)?["']([^"']+)["']/g;
const FILE_URL = /\bnew\s+URL\(\s*["'](\.[^"']*)["']\s*,\s*import\.meta\b/g;
const LISTED = /\bexport\s+(?:type\s+)?(\{[^{}]*\})/g;
const WORDS = String.raw`type|interface|const|let|var|class|function\s*\*?`;
const KIND = String.raw`(?:(?:declare|abstract|async)\s+)*(?:${WORDS})`;
const DECLARED = new RegExp(String.raw`\bexport\s+(?:(default)\b|${KIND}\s+([\w$]+))`, "g");

const has = (words: string | undefined, word: string) => words?.split(" ").includes(word) === true;
const roomOf = (path: string) => path.split("/")[SRC.test(path) ? 1 : 0]!.replace(/\.ts$/, "");
const lineAt = (text: string, index: number) => text.slice(0, index).split("\n").length;
const lineOf = (node: AnyNode) => node.loc!.start.line;
const isFunction = (node: AnyNode) => /Function/.test(node.type);

// A visitor that answers false keeps the walk out of that node.
function walk(node: AnyNode, visit: (node: AnyNode, parent: AnyNode) => unknown, parent = node): void {
  if (visit(node, parent) === false) return;
  for (const child of Object.values(node).flat()) {
    if (typeof child?.type === "string") walk(child, visit, node);
  }
}

// "process.env" for `process.env`, `process?.["env"]` and `globalThis.process.env` alike.
function dotted(node: AnyNode | null | undefined): string {
  if (node?.type === "Identifier") return node.name;
  if (node?.type !== "MemberExpression") return "";
  const { property, computed } = node;
  const name = computed ? "" : dotted(property as AnyNode);
  const key = property.type === "Literal" ? String(property.value) : name;
  return `${dotted(node.object)}.${key}`.replace(/^globalThis\./, "");
}

// The names in `{ A, type B as C }`, `* as all` or `Name`: what the other file calls them, and what this one.
function clauseNames(clause: string): { there: string; here: string | undefined }[] {
  const list = /\{(.*)\}/s.exec(clause)?.[1] ?? "";
  const names = [...list.matchAll(/(?:\btype\s+)?([\w$]+)(?:\s+as\s+([\w$]+))?/g)];
  const found = names.map(([, there, here]) => ({ there: there!, here: here ?? there }));
  if (clause.includes("*")) found.push({ there: "*", here: /\*\s*as\s+([\w$]+)/.exec(clause)?.[1] });
  if (/^[\w$]/.test(clause)) found.push({ there: "default", here: /^[\w$]+/.exec(clause)![0] });
  return found;
}

// `code` is a module's text without comments and strings, so that nothing in them looks like a statement.
function findNames(path: string, code: string, isErased: (index: number) => boolean): Found {
  const found: Found = { imports: [], exports: [] };
  const add = (at: number, spec: string, names: string[], how: How) => {
    const to = spec.startsWith(".") ? posix.join(posix.dirname(path), spec) : spec;
    found.imports.push({ to, names, how, typeOnly: isErased(at), line: lineAt(code, at) });
  };
  const give = (at: number, name: string) => found.exports.push({ name, line: lineAt(code, at) });
  for (const { index, 1: word, 2: clause, 3: spec } of code.matchAll(FROM)) {
    const star = word === "export" && clause === "*";
    const names = clauseNames(clause!);
    add(index, spec!, star ? [] : names.map(({ there }) => there), star ? "star" : "import");
    for (const { there, here } of names) if (word === "export" && there === "*" && here) give(index, here);
  }
  for (const { index, 1: call, 2: spec } of code.matchAll(WHOLE))
    add(index, spec!, call ? ["*"] : [], "import");
  for (const { index, 1: spec } of code.matchAll(FILE_URL)) add(index, spec!, ["*"], "url");
  for (const { index, 1: whole, 2: name } of code.matchAll(DECLARED)) give(index, whole ?? name!);
  for (const { index, 1: list } of code.matchAll(LISTED)) {
    for (const { here } of clauseNames(list!)) give(index, here!);
  }
  return found;
}

type Parsed = { stripped: string; ast: Program; comments: { start: number; end: number }[] };

function parsePlain(path: string, text: string): Parsed {
  const stripped = /\.m?ts$/.test(path) ? stripTypeScriptTypes(text) : text;
  const comments: Comment[] = [];
  return { stripped, ast: parse(stripped, { ...SYNTAX, onComment: comments }), comments };
}

// Neither Node nor acorn knows JSX. Of types only `import type` is blanked, which is all that the rules ask for there.
function parseJsx(path: string, text: string): Parsed {
  const { program, comments, errors } = parseSync(path, text);
  if (errors[0]) throw new Error(errors[0].message);
  const ast = program as unknown as Program;
  let stripped = text;
  walk(ast, (node) => {
    const at = (index: number) => ({ line: lineAt(text, index), column: 0 });
    node.loc = { start: at(node.start), end: at(node.end) };
    if ((node as { importKind?: string }).importKind !== "type") return;
    stripped = stripped.slice(0, node.start) + " ".repeat(node.end - node.start) + stripped.slice(node.end);
  });
  return { stripped, ast, comments };
}

function readModule(path: string, text: string): Module {
  const { stripped, ast, comments } = path.endsWith(".tsx") ? parseJsx(path, text) : parsePlain(path, text);
  const isErased = (index: number) => text[index] !== stripped[index];
  const ranges = comments.map(({ start, end }) => ({ start, end }));
  const erased = text.replace(/./g, (char, index: number) => (isErased(index) ? char : " "));
  for (const { index: start, 0: it } of erased.matchAll(COMMENT))
    ranges.push({ start, end: start + it.length });
  const notes = ranges.map(({ start, end }) => ({ name: text.slice(start, end), line: lineAt(text, start) }));
  walk(ast, (node, parent) => {
    const names = "source" in parent || (parent.type === "NewExpression" && dotted(parent.callee) === "URL");
    const isText = /^(TemplateElement|JSXText)$/.test(node.type);
    if ((node.type === "Literal" && !names) || isText) ranges.push(node);
  });
  let code = text;
  for (const { start, end } of ranges) {
    code = code.slice(0, start) + code.slice(start, end).replace(/./g, " ") + code.slice(end);
  }
  return { path, text, ast, notes, ...findNames(path, code, isErased) };
}

export function readModules(tree: ReadonlyMap<string, string>): Module[] {
  return [...tree].map(([path, text]) => {
    try {
      return readModule(path, text);
    } catch (error) {
      throw new Error(`${path} cannot be parsed`, { cause: error });
    }
  });
}

function rule(where: RegExp, find: (module: Module, known: Known) => Iterable<Finding>): Rule {
  return (modules) => {
    const known = new Map(modules.map((module) => [module.path, module]));
    const judged = modules.filter(({ path }) => where.test(path));
    return judged.flatMap((it) =>
      Array.from(find(it, known), ([line, what]) => `${it.path}:${line} ${what}`),
    );
  };
}

export const directions = rule(SHIPPED, function* ({ path, imports }) {
  const from = roomOf(path);
  if (MAY_IMPORT[from] === undefined) yield [1, "is in no room of the plan; move it into one"];
  for (const { to, typeOnly, line } of imports) {
    const room = roomOf(to);
    const isCode = to.includes("/") && /\.[cm]?[jt]sx?$/.test(to);
    if (!isCode || room === from || has(MAY_IMPORT[from], room)) continue;
    const types = has(MAY_IMPORT[from], `type:${room}`);
    const mend = types ? "use `import type`" : "move what is shared down, or pass it in";
    if (!types || !typeOnly) yield [line, `${from} may not import ${to}; ${mend}`];
  }
});

export const packages = rule(SRC, function* ({ path, imports }) {
  for (const { to, line } of imports) {
    const rooms = PACKAGE_ROOMS.find(([name]) => name.test(to))?.[1];
    if (rooms === undefined || has(rooms, roomOf(path))) continue;
    yield [line, `imports ${to}, which is only for: ${rooms}; call what wraps it there`];
  }
});

// What Node alone has. Browsers load all else of the client, which is published without dependencies.
const NODE_FILES = "client/src/node-files.ts";

export const clientAlone = rule(CLIENT, function* ({ path, imports }) {
  for (const { to, names, line } of imports) {
    if (to === NODE_FILES && !names.includes("*"))
      yield [line, `loads ${to} everywhere; use \`await import\``];
    if (CLIENT.test(to) || (path === NODE_FILES && to.startsWith("node:"))) continue;
    yield [line, `imports ${to}; the client is published alone, and loaded by browsers`];
  }
});

// The shortest way along imports from a file to a goal, both included.
function trail(known: Known, from: string, isGoal: (path: string) => boolean): string[] | undefined {
  const seen = new Set<string>();
  const trails = [[from]];
  for (const way of trails) {
    const last = way.at(-1)!;
    if (isGoal(last)) return way;
    const next = seen.has(last) ? [] : (known.get(last)?.imports ?? []);
    for (const { to, how } of next) if (how !== "url") trails.push([...way, to]);
    seen.add(last);
  }
}

// The acceptance suite runs against any server, so neither it nor a helper of its may load a source.
export const blackBox = rule(/^test\/acceptance\//, function* ({ imports }, known) {
  for (const { to, line } of imports) {
    const found = trail(known, to, (path) => SRC.test(path));
    if (found !== undefined) yield [line, `loads ${found.join(" -> ")}; speak to the server over HTTP`];
  }
});

// A circle is told once, by the first of its files in the alphabet.
export const circles = rule(SHIPPED, function* ({ path, imports }, known) {
  const told = new Set<string>();
  for (const { to, how, line } of imports) {
    const back = how === "url" || told.has(to) ? undefined : trail(known, to, (one) => one === path);
    if (back === undefined || back.some((one) => one < path)) continue;
    told.add(to);
    yield [line, `is in a circle ${[path, ...back].join(" -> ")}; move what both need into a third file`];
  }
});

// Every `a.b` of a module, also when it is taken apart by `const { b } = a` or imported by name.
function members({ ast, imports }: Module): Named[] {
  const found: Named[] = [];
  walk(ast, (node) => {
    if (node.type === "MemberExpression") found.push({ name: dotted(node), line: lineOf(node) });
    if (node.type !== "VariableDeclarator" || node.id.type !== "ObjectPattern") return;
    for (const property of node.id.properties) {
      if (property.type !== "Property") continue;
      found.push({ name: `${dotted(node.init)}.${dotted(property.key)}`, line: lineOf(property) });
    }
  });
  for (const { to, names, line } of imports) {
    if (/^(node:)?process$/.test(to)) found.push(...names.map((name) => ({ name: `process.${name}`, line })));
  }
  return found;
}

export const processGlobals = rule(SRC_BUT_MAIN, function* (module) {
  for (const { name, line } of members(module)) {
    if (!/^process\.(env|argv|exit|on|once)$/.test(name)) continue;
    yield [line, `uses ${name}; take what it gives as an argument from src/main.ts`];
  }
});

export const clockReaders = rule(SRC_BUT_CLOCKS, function* (module) {
  for (const { name, line } of members(module)) {
    if (name === "Date.now") yield [line, "uses Date.now; take a clock as an argument"];
  }
});

// Time and chance that are read while a module loads can neither be set by a test nor be renewed.
export const loadTimeCalls = rule(SHIPPED, ({ ast }) => {
  const found: Finding[] = [];
  walk(ast, (node, parent) => {
    const calledAtOnce = parent.type === "CallExpression" && parent.callee === node;
    if (isFunction(node) && !calledAtOnce) return false;
    if (node.type === "PropertyDefinition" && !node.static) return false;
    const name = node.type === "CallExpression" || node.type === "NewExpression" ? dotted(node.callee) : "";
    const isDate = node.type === "NewExpression" && name === "Date" && node.arguments.length === 0;
    if (!isDate && !/^(Date\.now|Math\.random)$|(^|\.)random(Bytes|UUID|FillSync)$/.test(name)) return;
    found.push([lineOf(node), `calls ${name} while it loads; call it inside a function`]);
  });
  return found;
});

// The types of the client are made, not written.
export const fileLengths = rule(/^(?!client\/src\/schema\.ts$)/, function* ({ text }) {
  const lines = text.trimEnd().split("\n").length;
  if (lines > MAX_FILE_LINES) yield [1, `has ${lines} lines, ${MAX_FILE_LINES} at most; split it by purpose`];
});

export const functionLengths = rule(/./, ({ ast }) => {
  const found: Finding[] = [];
  walk(ast, (node) => {
    if (!isFunction(node)) return;
    const lines = node.loc!.end.line - lineOf(node) + 1;
    const what = `has a function of ${lines} lines, ${MAX_FUNCTION_LINES} at most; name its steps`;
    if (lines > MAX_FUNCTION_LINES) found.push([lineOf(node), what]);
  });
  return found;
});

// "path name" for each name that another file imports, and "path " for each file.
function usedNames(known: Known): Set<string> {
  const used = new Set<string>();
  const use = (path: string, name: string): void => {
    if (used.has(`${path} ${name}`)) return;
    used.add(`${path} ${name}`);
    const module = known.get(path);
    if (module?.exports.some((one) => one.name === name)) return;
    for (const { to, how } of module?.imports ?? []) if (how === "star") use(to, name);
  };
  for (const { path, imports } of known.values()) {
    for (const { to, names } of imports) for (const name of to === path ? [] : ["", ...names]) use(to, name);
  }
  return used;
}

export const deadExports = rule(SHIPPED_INSIDE, function* ({ path, exports }, known) {
  const used = usedNames(known);
  for (const { name, line } of exports) {
    if (used.has(`${path} ${name}`) || used.has(`${path} *`)) continue;
    yield [line, `exports ${name}, which no other file imports; keep it to the file or delete it`];
  }
});

export const deadFiles = rule(SHIPPED_INSIDE, function* ({ path }, known) {
  if (!usedNames(known).has(`${path} `)) yield [1, "is imported by no file; use it or delete it"];
});

export const leftNotes = rule(/./, function* ({ notes }) {
  for (const { name, line } of notes) {
    for (const { 0: mark, index } of name.matchAll(/\b(TODO|FIXME|XXX)\b/g)) {
      yield [line + lineAt(name, index) - 1, `leaves a ${mark}; do it now, or write an issue and delete it`];
    }
  }
});
