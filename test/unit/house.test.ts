// The rules of the house on the sources as they are, and proof for each rule that it fires.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import { test } from "node:test";
import * as house from "../house.ts";

type Files = Record<string, string>;

const ROOT = join(import.meta.dirname, "../..");

function readSources(): Map<string, string> {
  const tree = new Map<string, string>();
  for (const folder of ["src", "client/src", "console/src", "tools", "test", "bench"].filter((name) =>
    existsSync(join(ROOT, name)),
  )) {
    for (const name of readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })) {
      const path = `${folder}/${name.replaceAll(sep, "/")}`;
      if (!/\.(m?tsx?|m?js)$/.test(path) || path.includes("node_modules/")) continue;
      tree.set(path, readFileSync(join(ROOT, path), "utf8"));
    }
  }
  return tree;
}

let sources: ReturnType<typeof house.readModules> | undefined;

function holds(title: string, rule: house.Rule): void {
  test(`sources: ${title}`, () => {
    sources ??= house.readModules(readSources());
    const broken = rule(sources);
    if (broken.length > 0) assert.fail(`${broken.length} to mend:\n${broken.join("\n")}`);
  });
}

// `expected` are the places ("path:line") at which the rule fires, in any order.
function fires(rule: house.Rule, files: Files, ...expected: string[]): string[] {
  const found = rule(house.readModules(new Map(Object.entries(files))));
  assert.deepEqual(found.map((line) => line.split(" ")[0]).sort(), expected.sort());
  return found;
}

const lines = (count: number, line = "x();") => Array(count).fill(line).join("\n");

test("the sources are found, so that the rules have something to judge", () => {
  const paths = [...readSources().keys()];
  for (const path of ["src/main.ts", "src/app.ts", "test/house.ts", "test/unit/house.test.ts"]) {
    assert.ok(paths.includes(path), path);
  }
});

test("a source that cannot be parsed is named", () => {
  assert.throws(
    () => house.readModules(new Map([["src/a.ts", "let let = ;"]])),
    /src\/a\.ts cannot be parsed/,
  );
});

holds("imports only go down", house.directions);

test("directions: what each room may import", () => {
  const good = {
    "src/main.ts": 'import { run } from "./cli/run.ts";',
    "src/cli/run.ts": 'import { createApp } from "../app.ts"; import page from "../../package.json";',
    "src/app.ts": 'import * as contacts from "./http/contacts.ts"; import "./jobs/sweep.ts";',
    "src/http/contacts.ts": 'import { add } from "../core/contacts.ts"; import { route } from "./route.ts";',
    "src/jobs/sweep.ts":
      'import type { Config } from "../config.ts"; import type { Disk } from "../blobs/disk.ts";',
    "src/core/contacts.ts":
      'import { insert } from "../db/contacts.ts"; import { fail } from "../errors.ts";',
    "src/util/ids.ts": 'import { fail } from "../errors.ts"; import "fastify";',
    "test/unit/ids.test.ts": 'import { id } from "../../src/util/ids.ts";',
  };
  fires(house.directions, good);
});

test("directions: up, sideways and out", () => {
  fires(house.directions, { "src/db/a.ts": '\nimport { a } from "../core/a.ts";' }, "src/db/a.ts:2");
  fires(house.directions, { "src/http/a.ts": 'import { a } from "../jobs/a.ts";' }, "src/http/a.ts:1");
  fires(house.directions, { "src/http/a.ts": 'import { a } from "../db/a.ts";' }, "src/http/a.ts:1");
  fires(house.directions, { "src/errors.ts": 'import { a } from "./util/a.ts";' }, "src/errors.ts:1");
  fires(house.directions, { "src/cli/a.ts": 'import { a } from "../http/a.ts";' }, "src/cli/a.ts:1");
  fires(house.directions, { "src/app.ts": 'import { a } from "./cli/a.ts";' }, "src/app.ts:1");
  fires(house.directions, { "src/app.ts": 'import { a } from "../test/a.ts";' }, "src/app.ts:1");
  fires(house.directions, { "src/core/a.ts": 'import { a } from "../../bench/a.ts";' }, "src/core/a.ts:1");
  fires(house.directions, { "src/attic/a.ts": "" }, "src/attic/a.ts:1");
});

test("directions: the console calls the client alone", () => {
  const jsx = 'export function A() {\n  return <p>import x from "../../src/app.ts"</p>;\n}';
  fires(house.directions, {
    "console/src/a.tsx": `import { P } from "../../client/src/index.ts"; import "preact";\n${jsx}`,
  });
  for (const [path, from] of [
    ["console/src/a.tsx", "../../src/core/a.ts"],
    ["console/src/a.ts", "../../test/a.ts"],
  ])
    fires(house.directions, { [path!]: `\nimport type { A } from "${from}";` }, `${path}:2`);
  fires(house.directions, { "src/http/a.ts": 'import "../../console/src/a.tsx";' }, "src/http/a.ts:1");
});

test("directions: every way to import counts, comments and strings do not", () => {
  for (const way of [
    'import type { A } from "../core/a.ts";',
    'import { type A } from "../core/a.ts";',
    'import type * as all from "../core/a.ts";',
    'import A, { b } from "../core/a.ts";',
    'import {\n  a,\n  type B,\n} from "../core/a.ts";',
    'import "../core/a.ts";',
    'export { a } from "../core/a.ts";',
    'export type { A } from "../core/a.ts";',
    'export * from "../core/a.ts";',
    'const a = await import("../core/a.ts");',
    'let a: typeof import("../core/a.ts");',
    'new Worker(new URL("../core/a.ts", import.meta.url));',
  ]) {
    fires(house.directions, { "src/db/a.ts": way }, "src/db/a.ts:1");
  }
  const quiet = [
    '// import { a } from "../core/a.ts";',
    "const a = `import { a } from '../core/a.ts';`;",
    "const b = \"import '../core/a.ts'\";",
    'interface C {\n  /* import "../core/a.ts" */\n  d: string;\n}',
  ];
  fires(house.directions, { "src/db/a.ts": quiet.join("\n") });
});

test("directions: config and blobs reach some rooms as types only", () => {
  for (const path of ["src/http/a.ts", "src/core/a.ts", "src/jobs/a.ts"]) {
    fires(house.directions, { [path]: 'import type { Config } from "../config.ts";' });
    const [told] = fires(house.directions, { [path]: 'import { config } from "../config.ts";' }, `${path}:1`);
    assert.match(told!, /use `import type`/);
  }
  fires(house.directions, { "src/core/a.ts": 'import type { Store } from "../blobs/store.ts";' });
  fires(house.directions, { "src/core/a.ts": 'import { disk } from "../blobs/disk.ts";' }, "src/core/a.ts:1");
  // Stripping leaves `import {} from`, which loads the file.
  fires(house.directions, { "src/jobs/a.ts": 'import { type S } from "../blobs/s.ts";' }, "src/jobs/a.ts:1");
  fires(house.directions, { "src/db/a.ts": 'import type { Config } from "../config.ts";' }, "src/db/a.ts:1");
});

holds("database, file system and web server are imported in their rooms only", house.packages);

test("packages: in their rooms and outside", () => {
  fires(house.packages, { "src/db/a.ts": 'import { DatabaseSync } from "node:sqlite"; import "pg";' });
  fires(house.packages, { "src/http/a.ts": 'import fastify from "fastify";' });
  for (const path of ["src/app.ts", "src/blobs/a.ts", "src/cli/a.ts", "src/db/a.ts", "src/util/a.ts"]) {
    fires(house.packages, { [path]: 'import { open } from "node:fs/promises"; import "node:path";' });
  }
  fires(
    house.packages,
    { "src/core/a.ts": 'import { DatabaseSync } from "node:sqlite";' },
    "src/core/a.ts:1",
  );
  fires(house.packages, { "src/jobs/a.ts": 'import type { Pool } from "pg";' }, "src/jobs/a.ts:1");
  fires(house.packages, { "src/core/a.ts": 'import { open } from "node:fs/promises";' }, "src/core/a.ts:1");
  fires(house.packages, { "src/config.ts": 'import fs from "fs";' }, "src/config.ts:1");
  fires(house.packages, { "src/app.ts": 'import type { FastifyInstance } from "fastify";' }, "src/app.ts:1");
  fires(house.packages, { "src/core/a.ts": 'await import("@fastify/busboy");' }, "src/core/a.ts:1");
});

holds("the client stands alone", house.clientAlone);

test("clientAlone: no package, nothing of the server, and what is Node's only when it is needed", () => {
  const main = "client/src/upload.ts";
  fires(house.clientAlone, {
    [main]: 'import { a } from "./form.ts"; const { f } = await import("./node-files.ts");',
    "client/src/node-files.ts": 'import { stat } from "node:fs/promises";',
    "src/cli/a.ts": 'import { Parley } from "../../client/src/index.ts";',
  });
  fires(house.clientAlone, { [main]: 'import { stat } from "node:fs/promises";' }, `${main}:1`);
  fires(house.clientAlone, { [main]: 'import mime from "mime";' }, `${main}:1`);
  fires(house.clientAlone, { [main]: 'import { a } from "../../src/util/a.ts";' }, `${main}:1`);
  fires(house.clientAlone, { [main]: 'import { f } from "./node-files.ts";' }, `${main}:1`);
  fires(house.directions, { [main]: 'import { a } from "../../src/util/a.ts";' }, `${main}:1`);
  fires(
    house.directions,
    { "src/core/a.ts": 'import { P } from "../../client/src/index.ts";' },
    "src/core/a.ts:1",
  );
});

holds("the acceptance suite loads nothing of src", house.blackBox);

test("blackBox: itself or through a helper", () => {
  const suiteFile = 'import { start } from "../helper.ts"; import "../../src/app.ts";';
  const files = { "test/acceptance/a.test.ts": suiteFile, "test/helper.ts": "" };
  fires(house.blackBox, files, "test/acceptance/a.test.ts:1");
  const through = { "test/acceptance/a.test.ts": '\nimport "../helper.ts";' };
  fires(house.blackBox, {
    ...through,
    "test/helper.ts": 'import "./a.ts";',
    "test/a.ts": 'import "./helper.ts";',
  });
  fires(
    house.blackBox,
    { ...through, "test/helper.ts": 'import "../src/a.ts";' },
    "test/acceptance/a.test.ts:2",
  );
  fires(house.blackBox, { "test/http/a.test.ts": 'import "../../src/app.ts";' });
});

holds("no file imports itself, by whatever way round", house.circles);

test("circles: the path of a circle is told once", () => {
  const files = {
    "src/core/a.ts": 'import "./b.ts";\nimport { x } from "./c.ts";\nawait import("./c.ts");',
    "src/core/b.ts": "",
    "src/core/c.ts": 'import type { D } from "./d.ts";',
    "src/core/d.ts": 'export { a } from "./a.ts";',
  };
  const [told] = fires(house.circles, files, "src/core/a.ts:2");
  assert.match(told!, /src\/core\/a\.ts -> src\/core\/c\.ts -> src\/core\/d\.ts -> src\/core\/a\.ts/);
  fires(house.circles, { ...files, "src/core/d.ts": "" });
});

test("circles: a file that imports itself; a worker is started, not imported", () => {
  fires(house.circles, { "src/core/a.ts": 'import "./a.ts";' }, "src/core/a.ts:1");
  for (const [pool, worker] of ["ab", "ba"]) {
    const start = `new Worker(new URL("./${worker}.ts", import.meta.url));`;
    fires(house.circles, { [`src/db/${pool}.ts`]: start, [`src/db/${worker}.ts`]: `import "./${pool}.ts";` });
  }
});

holds("only main uses the process's environment, arguments, exit and signals", house.processGlobals);

test("processGlobals: by whatever name they are reached", () => {
  const uses = [
    "process.env.HOME;",
    "f(process.argv[2]);",
    "process.exit(1);",
    'process.on("SIGTERM", f);',
    'process["env"];',
    "process?.env;",
    "globalThis.process.env;",
    "const { env } = process;",
    'import { exit } from "node:process";',
  ];
  for (const use of uses) {
    fires(house.processGlobals, { "src/core/a.ts": use }, "src/core/a.ts:1");
    fires(house.processGlobals, { "src/main.ts": use });
  }
  fires(house.processGlobals, {
    "src/core/a.ts": "process.memoryUsage(); // process.exit\na.exit(); a.env;",
  });
  fires(house.processGlobals, { "test/a.ts": "process.env.HOME;" });
});

holds("the time is read by main, app, the commands and the clock alone", house.clockReaders);

test("clockReaders: called or handed on", () => {
  fires(house.clockReaders, { "src/core/a.ts": "const f = () =>\n  Date.now();" }, "src/core/a.ts:2");
  fires(house.clockReaders, { "src/http/a.ts": "f({ clock: Date.now });" }, "src/http/a.ts:1");
  fires(house.clockReaders, { "src/jobs/a.ts": "const { now } = Date;" }, "src/jobs/a.ts:1");
  for (const path of ["src/main.ts", "src/app.ts", "src/cli/a.ts", "src/util/clock.ts", "test/a.ts"]) {
    fires(house.clockReaders, { [path]: "Date.now();" });
  }
  fires(house.clockReaders, { "src/core/a.ts": "// Date.now\nnew Date(clock());" });
});

holds("neither time nor chance is read while a file loads", house.loadTimeCalls);

test("loadTimeCalls: at the top level, and not in functions", () => {
  const calls = [
    "Date.now()",
    "new Date()",
    "Math.random()",
    "randomBytes(16)",
    "crypto.randomUUID()",
    "randomFillSync(b)",
  ];
  for (const call of calls) {
    const at = (text: string, ...expected: string[]) =>
      fires(house.loadTimeCalls, { "src/util/a.ts": text }, ...expected);
    at(`\nconst a = { b: [${call}] };`, "src/util/a.ts:2");
    at(`if (a) {\n  b = ${call};\n}`, "src/util/a.ts:2");
    at(`class A { static b = ${call}; }`, "src/util/a.ts:1");
    at(`const a = (() => ${call})();`, "src/util/a.ts:1");
    at(`const a = () => ${call}; function b() { ${call}; } class A { b = ${call}; c() { ${call}; } }`);
  }
  fires(house.loadTimeCalls, {
    "src/util/a.ts": 'const a = new Date("2026-01-01"); f(Date.now); pseudorandomBytes(1);',
  });
});

holds("no file is too long", house.fileLengths);
holds("no function is too long", house.functionLengths);

test("lengths: a file of more than 400 lines", () => {
  fires(house.fileLengths, { "src/a.ts": `${lines(400)}\n`, "bench/a.ts": lines(3) });
  const [told] = fires(house.fileLengths, { "bench/a.ts": lines(401) }, "bench/a.ts:1");
  assert.match(told!, /401 lines/);
});

test("lengths: a function, an arrow function or a method of more than 70 lines", () => {
  const shapes: [head: string, tail: string][] = [
    ["function f(a: string): void {", "}"],
    ["export const f = async () => {", "};"],
    ["test('a', function () {", "});"],
    ["class A { private f(): void {", "} }"],
    ["const a = { f() {", "} };"],
  ];
  for (const [head, tail] of shapes) {
    fires(house.functionLengths, { "test/a.ts": `${head}\n${lines(68)}\n${tail}` });
    const long = `\n${head}\n${lines(69)}\n${tail}`;
    const [told] = fires(house.functionLengths, { "test/a.ts": long }, "test/a.ts:2");
    assert.match(told!, /71 lines/);
  }
  const element = `const A = () => (\n  <p>\n${lines(68, "    text")}\n  </p>\n);`;
  fires(house.functionLengths, { "console/src/a.tsx": element }, "console/src/a.tsx:1");
  const typed = `interface A {\n${lines(80, "  a(): void;")}\n}\nfunction f() {}`;
  fires(house.functionLengths, { "src/a.ts": typed });
});

holds("every export is imported by another file", house.deadExports);
holds("every file is imported by another", house.deadFiles);

test("dead code: an export that no other file imports, of whatever kind", () => {
  const kinds = {
    a: "export const a = 1;",
    b: "export async function b() { a; }",
    C: "export class C {}",
    D: "export type D = string;",
    E: "export interface E {\n  a: string;\n}",
    f: "const e = 1;\nexport { e as f };",
    G: "type G = 1;\nexport type { G };",
    H: 'export type { H } from "node:path";',
    i: 'export * as i from "node:path";',
    default: "export default 1;",
  };
  for (const [name, text] of Object.entries(kinds)) {
    const file = { "src/util/a.ts": text };
    const line = text.split("\n").findIndex((row) => row.startsWith("export")) + 1;
    const [told] = fires(house.deadExports, file, `src/util/a.ts:${line}`);
    assert.match(told!, new RegExp(`exports ${name},`));
    fires(house.deadExports, { ...file, "src/main.ts": `import { ${name} as x } from "./util/a.ts";` });
    fires(house.deadExports, { ...file, "test/a.ts": `import type { ${name} } from "../src/util/a.ts";` });
    fires(house.deadExports, { ...file, "bench/a.ts": 'import * as a from "../src/util/a.ts";' });
    fires(house.deadExports, { ...file, "bench/a.ts": 'await import("../src/util/a.ts");' });
  }
  fires(house.deadExports, { "src/main.ts": "export const a = 1;", "test/a.ts": "export const a = 1;" });
  const byDefault = { "src/util/a.ts": kinds.default, "src/main.ts": 'import a from "./util/a.ts";' };
  fires(house.deadExports, byDefault);
});

test("dead code: an export that only its own file or a comment names", () => {
  const own = 'import { a as self } from "./a.ts";\nexport const a = 1;\n// import { a } from "./a.ts";';
  fires(house.deadExports, { "src/util/a.ts": own }, "src/util/a.ts:2");
});

test("dead code: an export that is handed on counts when its last name is imported", () => {
  const all = { "src/util/a.ts": "export const a = 1;\nexport const b = 2;" };
  const star = { ...all, "src/util/all.ts": 'export * from "./a.ts";' };
  fires(house.deadExports, star, "src/util/a.ts:1", "src/util/a.ts:2");
  fires(
    house.deadExports,
    { ...star, "test/a.ts": 'import { b } from "../src/util/all.ts";' },
    "src/util/a.ts:1",
  );
  const over = { ...star, "src/util/all.ts": 'export * from "./a.ts";\nexport const a = 3;' };
  const takesBoth = { "test/a.ts": 'import { a, b } from "../src/util/all.ts";' };
  fires(house.deadExports, { ...over, ...takesBoth }, "src/util/a.ts:1");
  const named = { ...all, "src/util/all.ts": '\n\nexport { a, b as c } from "./a.ts";' };
  fires(
    house.deadExports,
    { ...named, "test/a.ts": 'import { a } from "../src/util/all.ts";' },
    "src/util/all.ts:3",
  );
});

test("dead code: a file that no other imports", () => {
  const files = {
    "src/main.ts": 'import "./util/a.ts";',
    "src/util/a.ts": "",
    "test/a.ts": "",
    "bench/a.ts": "",
  };
  fires(house.deadFiles, files);
  fires(house.deadFiles, { ...files, "src/util/b.ts": "" }, "src/util/b.ts:1");
  fires(house.deadFiles, { ...files, "src/util/b.ts": 'import "./b.ts";' }, "src/util/b.ts:1");
  const worker = 'new Worker(new URL("../src/util/b.ts", import.meta.url));';
  fires(house.deadFiles, { ...files, "src/util/b.ts": "", "test/a.ts": worker });
});

holds("nothing is left to do in a comment", house.leftNotes);

test("leftNotes: in comments of every kind, and not in strings", () => {
  fires(house.leftNotes, { "src/a.ts": "\nf(); // TODO: more" }, "src/a.ts:2");
  fires(house.leftNotes, { "test/a.ts": "/*\n * FIXME\n */" }, "test/a.ts:2");
  fires(house.leftNotes, { "bench/a.ts": "interface A {\n  // XXX\n  a: string;\n}" }, "bench/a.ts:2");
  fires(house.leftNotes, { "src/a.ts": 'const todo = "// TODO"; // the TODOs of a user' });
});
