// The rules between files, as functions of their sources, so that small examples can break them, too.
import { posix } from "node:path";
import { parseSync } from "vite";
import { walkSyntax } from "./syntax.ts";

interface Node {
  type: string;
  start: number;
  [key: string]: unknown;
}

// A "url" import starts a file elsewhere, as `new URL("../worker.ts", import.meta.url)`, and does not load it.
type How = "static" | "dynamic" | "url";
type Import = { to: string; how: How; typeOnly: boolean; at: number };
type Module = { path: string; text: string; ast: Node; comments: Node[]; imports: Import[] };
type Known = ReadonlyMap<string, Module>;
type Finding = [at: number, what: string];
export type Rule = (modules: Module[]) => string[];

// A room is a folder with its contents, except for nested folders that are rooms themselves. "type:config" allows only
// the types of config.
const MAY_IMPORT: Record<string, string> = {
  main: "cli errors util",
  cli: "config app data-access engines core db db/queries db/engines/sqlite blobs packages/parley-client packages/parley-sync errors util",
  config: "errors util",
  app: "config data-access engines http http/protocol jobs core db db/queries db/engines/sqlite blobs previews errors util",
  "data-access": "config engines core db errors util",
  engines: "config db db/engines/sqlite db/engines/postgres blobs errors util",
  http: "http/routes http/protocol core errors util type:config",
  "http/routes": "http/protocol core assets errors util type:config",
  "http/protocol": "core errors util type:config",
  "http/openapi": "http/routes http/protocol core errors util",
  jobs: "core db db/queries errors util type:blobs type:config",
  core: "db db/queries errors util type:blobs type:config type:previews",
  db: "db/queries assets errors util",
  "db/queries": "db errors util",
  "db/engines/sqlite": "db assets errors util",
  "db/engines/postgres": "db db/queries errors util",
  blobs: "errors util type:config",
  previews: "assets errors util",
  assets: "",
  errors: "",
  util: "errors",
  "packages/parley-client": "",
  "packages/parley-sync": "",
  "packages/parley-react": "",
  "packages/parley-embed": "",
  console: "packages/parley-client packages/parley-sync",
};
const PACKAGE_ROOMS: [RegExp, string][] = [
  [/^node:sqlite$/, "db/engines/sqlite"],
  [/^pg(\/|$)/, "db/engines/postgres"],
  [/^(node:)?fs(\/|$)/, "app assets blobs cli previews util"],
  [/^@aws-sdk\//, "blobs"],
  [/^@?fastify(\/|$)/, "http http/routes http/protocol"],
];
const SRC = /^src\//;
const CLIENT = /^packages\/parley-client\//;
const SYNC = /^packages\/parley-sync\//;
const REACT = /^packages\/parley-react\//;
const SHIPPED = /^(src|packages|console)\//;
const SRC_BUT_MAIN = /^src\/(?!main\.ts$)/;
const SRC_BUT_CLOCKS = /^src\/(?!main\.ts$|app\.ts$|cli\/|util\/clock\.ts$)/;

const has = (words: string | undefined, word: string) => words?.split(" ").includes(word) === true;
const ROOMS = Object.keys(MAY_IMPORT).sort((one, other) => other.length - one.length);
// A file outside of all rooms belongs to its top folder.
function roomOf(path: string): string {
  const inside = path.replace(SRC, "").replace(/\.ts$/, "");
  return ROOMS.find((room) => `${inside}/`.startsWith(`${room}/`)) ?? inside.split("/")[0]!;
}

// Returns "process.env" for `process.env`, `process?.["env"]` and `globalThis.process.env`.
function dotted(node: Node | null | undefined): string {
  if (node?.type === "Identifier") return node.name as string;
  if (node?.type !== "MemberExpression") return "";
  const property = node.property as Node;
  const name = node.computed ? "" : dotted(property);
  const key = property.type === "Literal" ? String(property.value) : name;
  return `${dotted(node.object as Node)}.${key}`.replace(/^globalThis\./, "");
}

// Returns the literal by which a node names another file.
function importedBy(node: Node): { literal: Node; how: How } | undefined {
  const [first, second] = (node.arguments ?? []) as Node[];
  if (/^(Import|ExportNamed|ExportAll)Declaration$/.test(node.type) && node.source)
    return { literal: node.source as Node, how: "static" };
  if (node.type === "ImportExpression" || node.type === "TSImportType")
    return { literal: node.source as Node, how: "dynamic" };
  const meta = (second?.object as Node | undefined)?.type === "MetaProperty";
  if (node.type === "NewExpression" && dotted(node.callee as Node) === "URL" && meta)
    return { literal: first!, how: "url" };
  return;
}

function readModule(path: string, text: string): Module {
  const { program, comments, errors } = parseSync(path, text, { preserveParens: false });
  if (errors[0]) throw new Error(errors[0].message);
  const imports: Import[] = [];
  const ast = program as unknown as Node;
  walkSyntax(ast, (node) => {
    const { literal, how } = importedBy(node) ?? {};
    const spec = literal?.value;
    if (typeof spec !== "string" || (how === "url" && !spec.startsWith("."))) return;
    const to = spec.startsWith(".") ? posix.join(posix.dirname(path), spec) : spec;
    const typeOnly = node.type === "TSImportType" || (node.importKind ?? node.exportKind) === "type";
    imports.push({ to, how: how!, typeOnly, at: node.start });
  });
  return { path, text, ast, comments: comments as unknown as Node[], imports };
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
      Array.from(find(it, known), ([at, what]) => {
        const line = it.text.slice(0, at).split("\n").length;
        return `${it.path}:${line} ${what}`;
      }),
    );
  };
}

export const directions = rule(SHIPPED, function* ({ path, imports }) {
  const from = roomOf(path);
  if (MAY_IMPORT[from] === undefined) yield [0, "is in no room of the plan; move it into one"];
  for (const { to, typeOnly, at } of imports) {
    const room = roomOf(to);
    const isCode = to.includes("/") && /\.[cm]?[jt]sx?$/.test(to);
    if (!isCode || room === from || has(MAY_IMPORT[from], room)) continue;
    const types = has(MAY_IMPORT[from], `type:${room}`);
    const mend = types ? "use `import type`" : "move what is shared down, or pass it in";
    if (!types || !typeOnly) yield [at, `${from} may not import ${to}; ${mend}`];
  }
});

/** The subjects of a layer, lowest first. Each may import the ones before it. */
export const SUBJECTS: Readonly<Record<string, readonly string[]>> = {
  "src/db/queries":
    "visibility search events record webhooks storage people messages files groups upkeep".split(" "),
  "src/core": "node resource record files messages groups people events search upkeep webhooks".split(" "),
};

/** Returns the imports between subjects of a layer, as `messages -> people`. */
export function subjectArrows(modules: readonly Module[], layer: string): Set<string> {
  const subjectOf = (path: string) => path.slice(layer.length + 1).split("/")[0]!;
  const inLayer = modules.filter(({ path }) => path.startsWith(`${layer}/`));
  return new Set(
    inLayer.flatMap(({ path, imports }) =>
      imports
        .filter(({ to }) => to.startsWith(`${layer}/`) && subjectOf(to) !== subjectOf(path))
        .map(({ to }) => `${subjectOf(path)} -> ${subjectOf(to)}`),
    ),
  );
}

export const subjects = rule(SRC, function* ({ path, imports }) {
  const layer = Object.keys(SUBJECTS).find((folder) => path.startsWith(`${folder}/`));
  if (layer === undefined) return;
  const rankOf = (file: string) => SUBJECTS[layer]!.indexOf(file.slice(layer.length + 1).split("/")[0]!);
  const from = rankOf(path);
  if (from < 0) yield [0, `is in no subject of ${layer}; move it into one`];
  for (const { to, at } of imports) {
    if (!to.startsWith(`${layer}/`) || rankOf(to) <= from) continue;
    yield [at, `imports ${to}, a subject above its own; move what is shared down`];
  }
});

const BY_SUBJECT = /^(src\/http\/routes|test\/(?:acceptance|contract|http))\/([^/]+)\//;

/** Requires that the folders of the other layers, and of tests, have the names of subjects. */
export const subjectNames = rule(BY_SUBJECT, function* ({ path }) {
  const [, layer, name] = BY_SUBJECT.exec(path)!;
  if (!Object.values(SUBJECTS).some((names) => names.includes(name!)))
    yield [0, `is in ${layer}/${name}, which is no subject; see SUBJECTS`];
});

export const packages = rule(SRC, function* ({ path, imports }) {
  for (const { to, at } of imports) {
    const rooms = PACKAGE_ROOMS.find(([name]) => name.test(to))?.[1];
    if (rooms === undefined || has(rooms, roomOf(path))) continue;
    yield [at, `imports ${to}, which is only for: ${rooms}; call what wraps it there`];
  }
});

// The only file of the client that uses Node's modules. Browsers load the others, and the client is published without
// dependencies.
const NODE_FILES = "packages/parley-client/src/node-files.ts";

export const clientAlone = rule(CLIENT, function* ({ path, imports }) {
  for (const { to, how, at } of imports) {
    if (to === NODE_FILES && how !== "dynamic") yield [at, `loads ${to} everywhere; use \`await import\``];
    if (CLIENT.test(to) || (path === NODE_FILES && to.startsWith("node:"))) continue;
    yield [at, `imports ${to}; the client is published alone, and loaded by browsers`];
  }
});

// The files of parley-sync that load what only some runtimes have. The app passes them to the others.
const STORES: Record<string, string> = {
  "packages/parley-sync/src/indexeddb.ts": "idb",
  "packages/parley-sync/src/sqlite.ts": "node:sqlite",
};

export const syncAlone = rule(SYNC, function* ({ path, imports }) {
  for (const { to, typeOnly, at } of imports) {
    if (STORES[to] !== undefined) yield [at, `loads ${to} in every runtime; the app imports it`];
    else if (!SYNC.test(to) && to !== STORES[path] && !(to === "parley-client" && typeOnly))
      yield [at, `imports ${to}; parley-sync gets a client passed in, and may import its types`];
  }
});

export const reactAlone = rule(REACT, function* ({ imports }) {
  for (const { to, typeOnly, at } of imports) {
    if (REACT.test(to) || to === "react" || (to === "parley-sync" && typeOnly)) continue;
    yield [at, `imports ${to}; parley-react uses React and types of parley-sync alone`];
  }
});

// Returns the shortest path of imports from a file to a goal, both included.
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

// The acceptance suite runs against any server, so neither it nor its helpers may load the sources.
export const blackBox = rule(/^test\/acceptance\//, function* ({ imports }, known) {
  for (const { to, at } of imports) {
    const found = trail(known, to, (path) => SRC.test(path));
    if (found !== undefined) yield [at, `loads ${found.join(" -> ")}; speak to the server over HTTP`];
  }
});

// Yields every `a.b` of a module, also from `const { b } = a` or a named import.
function* members({ ast }: Module): Iterable<{ name: string; at: number }> {
  const found: { name: string; at: number }[] = [];
  walkSyntax(ast, (node) => {
    const add = (name: string) => found.push({ name, at: node.start });
    if (node.type === "MemberExpression") add(dotted(node));
    if (node.type === "VariableDeclarator" && (node.id as Node).type === "ObjectPattern") {
      for (const { key } of (node.id as Node).properties as Node[])
        add(`${dotted(node.init as Node)}.${dotted(key as Node)}`);
    }
    if (
      node.type === "ImportDeclaration" &&
      /^(node:)?process$/.test((node.source as Node).value as string)
    ) {
      for (const { imported } of node.specifiers as Node[]) add(`process.${dotted(imported as Node)}`);
    }
  });
  yield* found;
}

export const processGlobals = rule(SRC_BUT_MAIN, function* (module) {
  for (const { name, at } of members(module)) {
    if (!/^process\.(env|argv|exit|on|once)$/.test(name)) continue;
    yield [at, `uses ${name}; take what it gives as an argument from src/main.ts`];
  }
});

export const clockReaders = rule(SRC_BUT_CLOCKS, function* (module) {
  for (const { name, at } of members(module)) {
    if (name === "Date.now") yield [at, "uses Date.now; take a clock as an argument"];
  }
});

// A test cannot set time and randomness that a module reads while it loads.
export const loadTimeCalls = rule(SHIPPED, ({ ast }) => {
  const found: Finding[] = [];
  walkSyntax(ast, (node, [parent]) => {
    const { type } = node;
    const calledAtOnce = parent?.type === "CallExpression" && parent.callee === node;
    if (/Function/.test(type) && !calledAtOnce) return false;
    if (type === "PropertyDefinition" && !node.static) return false;
    const name = /^(Call|New)Expression$/.test(type) ? dotted(node.callee as Node) : "";
    const isDate = type === "NewExpression" && name === "Date" && (node.arguments as Node[]).length === 0;
    if (!isDate && !/^(Date\.now|Math\.random)$|(^|\.)random(Bytes|UUID|FillSync)$/.test(name)) return;
    found.push([node.start, `calls ${name} while it loads; call it inside a function`]);
  });
  return found;
});

export const leftNotes = rule(/./, function* ({ text, comments }) {
  for (const { start, end } of comments) {
    for (const { 0: mark, index } of text.slice(start, end as number).matchAll(/\b(TODO|FIXME|XXX)\b/g)) {
      yield [start + index, `leaves a ${mark}; do it now, or write an issue and delete it`];
    }
  }
});

/** Yields the declarations of a file outside of functions. */
function* declarationsOf({ ast }: Module): Generator<{ name: string; isExported: boolean; at: number }> {
  for (const statement of ast.body as Node[]) {
    const isExported = statement.type === "ExportNamedDeclaration";
    const declared = (isExported ? statement.declaration : statement) as Node | null;
    for (const { id } of (declared?.declarations ?? [declared]) as Node[])
      if (id) yield { name: dotted(id as Node), isExported, at: statement.start };
  }
}

export const sharedNames = rule(/^console\/src\//, function* (module, known) {
  for (const { name, isExported, at } of declarationsOf(module)) {
    for (const other of known.values()) {
      if (other === module || !other.path.startsWith("console/src/")) continue;
      const same = declarationsOf(other).find((each) => each.name === name);
      if (same && (isExported || same.isExported))
        yield [at, `declares ${name}, as ${other.path} does, and one of them exports it; rename one`];
    }
  }
});
