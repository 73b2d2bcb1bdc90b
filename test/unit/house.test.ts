// Checks the rules of the house on the sources, and that each rule can fail.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import { test } from "node:test";
import * as house from "../support/house.ts";

type Files = Record<string, string>;

const ROOT = join(import.meta.dirname, "../..");

function readSources(): Map<string, string> {
  const tree = new Map<string, string>();
  const packages = readdirSync(join(ROOT, "packages")).map((name) => `packages/${name}/src`);
  for (const folder of ["src", ...packages, "examples", "console/src", "tools", "test", "bench"].filter(
    (name) => existsSync(join(ROOT, name)),
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
    if (broken.length > 0) assert.fail(`${broken.length} to fix:\n${broken.join("\n")}`);
  });
}

// Asserts that the rule fails exactly at `expected` ("path:line"), in any order.
function fires(rule: house.Rule, files: Files, ...expected: string[]): string[] {
  const found = rule(house.readModules(new Map(Object.entries(files))));
  assert.deepEqual(found.map((line) => line.split(" ")[0]).sort(), expected.sort());
  return found;
}

// Asserts the same for one file, at `line` or not at all.
function sees(rule: house.Rule, path: string, text: string, line?: number): string[] {
  return fires(rule, { [path]: text }, ...(line === undefined ? [] : [`${path}:${line}`]));
}

test("the rules of the house find all sources", () => {
  const paths = [...readSources().keys()];
  for (const path of ["src/main.ts", "src/app.ts", "test/support/house.ts", "test/unit/house.test.ts"]) {
    assert.ok(paths.includes(path), path);
  }
});

test("a source with a syntax error is named", () => {
  assert.throws(
    () => house.readModules(new Map([["src/a.ts", "let let = ;"]])),
    /src\/a\.ts cannot be parsed/,
  );
});

holds("imports only go down", house.directions);

test("directions: each folder imports only what it may", () => {
  const good = {
    "src/main.ts": 'import { run } from "./cli/run.ts";',
    "src/cli/run.ts": 'import { createApp } from "../app.ts"; import page from "../../package.json";',
    "src/app.ts": 'import * as http from "./http/server.ts"; import "./jobs/sweep.ts";',
    "src/http/server.ts": 'import { contacts } from "./routes/contacts.ts";',
    "src/http/routes/contacts.ts":
      'import { add } from "../../core/contacts.ts"; import { readBody } from "../protocol/bodies.ts";',
    "src/jobs/sweep.ts":
      'import type { Config } from "../config/settings.ts"; import type { Disk } from "../blobs/disk.ts";',
    "src/core/contacts.ts":
      'import { insert } from "../db/queries/contacts.ts"; import { fail } from "../errors.ts";',
    "src/db/queries/contacts.ts": 'import { run } from "../write.ts";',
    "src/util/ids.ts": 'import { fail } from "../errors.ts"; import "fastify";',
    "test/unit/ids.test.ts": 'import { id } from "../../src/util/ids.ts";',
  };
  fires(house.directions, good);
});

test("directions: imports upwards, sideways and outwards", () => {
  sees(house.directions, "src/db/a.ts", '\nimport { a } from "../core/a.ts";', 2);
  for (const [from, to] of [
    ["src/db/queries/a.ts", "../engines/sqlite/b.ts"],
    ["src/db/engines/sqlite/a.ts", "../postgres/b.ts"],
    ["src/core/events/a.ts", "../../db/engines/sqlite/b.ts"],
    ["src/core/a.ts", "../../bench/a.ts"],
    ["src/core/a.ts", "../../packages/parley-client/src/index.ts"],
    ["src/http/protocol/a.ts", "../routes/b.ts"],
    ["src/http/routes/a.ts", "../openapi/b.ts"],
    ["src/http/a.ts", "../jobs/a.ts"],
    ["src/http/a.ts", "../db/a.ts"],
    ["src/http/a.ts", "../../console/src/a.tsx"],
    ["src/errors.ts", "./util/a.ts"],
    ["src/cli/a.ts", "../http/a.ts"],
    ["src/app.ts", "./cli/a.ts"],
    ["src/app.ts", "../test/a.ts"],
    ["packages/parley-client/src/a.ts", "../../src/util/a.ts"],
    ["console/src/a.tsx", "../../src/core/a.ts"],
    ["console/src/a.ts", "../../test/a.ts"],
  ])
    sees(house.directions, from!, `import { a } from "${to}";`, 1);
  sees(house.directions, "src/attic/a.ts", "", 1);
});

test("directions: the console imports the client, and its texts import nothing", () => {
  const jsx = 'export function A() {\n  return <p>import x from "../../src/app.ts"</p>;\n}';
  const calls = `import { P } from "../../packages/parley-client/src/index.ts"; import "preact";\n${jsx}`;
  sees(house.directions, "console/src/a.tsx", calls);
});

test("directions: every form of import counts, comments and strings do not", () => {
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
  ])
    sees(house.directions, "src/db/a.ts", way, 1);
  const quiet = [
    '// import { a } from "../core/a.ts";',
    "const a = `import { a } from '../core/a.ts';`;",
    "const b = \"import '../core/a.ts'\";",
    'interface C {\n  /* import "../core/a.ts" */\n  d: string;\n}',
  ];
  sees(house.directions, "src/db/a.ts", quiet.join("\n"));
});

test("directions: config and blobs may import some folders as types only", () => {
  for (const path of ["src/http/a.ts", "src/core/a.ts", "src/jobs/a.ts"]) {
    sees(house.directions, path, 'import type { Config } from "../config/settings.ts";');
    const [fault] = sees(house.directions, path, 'import { config } from "../config/settings.ts";', 1);
    assert.match(fault!, /use `import type`/);
  }
  sees(house.directions, "src/core/a.ts", 'import type { Store } from "../blobs/store.ts";');
  sees(house.directions, "src/core/a.ts", 'import { disk } from "../blobs/disk.ts";', 1);
  // Stripping leaves `import {} from`, which loads the file.
  sees(house.directions, "src/jobs/a.ts", 'import { type S } from "../blobs/s.ts";', 1);
  sees(house.directions, "src/db/a.ts", 'import type { Config } from "../config/settings.ts";', 1);
});

holds("a subject imports only subjects below it", house.subjects);

test("subjects: imports upwards and from outside of all subjects", () => {
  sees(house.subjects, "src/core/groups/a.ts", 'import { a } from "../messages/b.ts"; import "./c.ts";');
  sees(house.subjects, "src/core/messages/a.ts", '\nimport type { A } from "../groups/b.ts";', 2);
  sees(house.subjects, "src/db/queries/record/a.ts", 'import { a } from "../people/b.ts";', 1);
  sees(house.subjects, "src/core/attic/a.ts", "", 1);
});

holds("folders of routes and tests have the names of subjects", house.subjectNames);

test("subjectNames: a folder without a subject's name", () => {
  sees(house.subjectNames, "test/http/messages/a.test.ts", "");
  sees(house.subjectNames, "test/http/a.test.ts", "");
  sees(house.subjectNames, "test/http/mails/a.test.ts", "", 1);
  sees(house.subjectNames, "src/http/routes/attic/a.ts", "", 1);
});

for (const [layer, most] of [
  ["src/db/queries", 40],
  ["src/core", 35],
] as const) {
  test(`${layer} has at most 12 subjects and ${most} arrows between them`, (t) => {
    sources ??= house.readModules(readSources());
    const arrows = [...house.subjectArrows(sources, layer)].sort();
    t.diagnostic(`${house.SUBJECTS[layer]!.length} subjects, ${arrows.length} arrows: ${arrows.join(", ")}`);
    assert.ok(house.SUBJECTS[layer]!.length <= 12);
    assert.ok(arrows.length > 0 && arrows.length <= most, arrows.join("\n"));
  });
}

holds("database, file system and web server are imported in their rooms only", house.packages);

test("packages: only in their folders", () => {
  const files = 'import { open } from "node:fs/promises"; import "node:path";';
  for (const [path, text] of [
    ["src/db/engines/sqlite/a.ts", 'import { DatabaseSync } from "node:sqlite";'],
    ["src/db/engines/postgres/a.ts", 'import "pg";'],
    ["src/http/a.ts", 'import fastify from "fastify";'],
    ["src/app.ts", files],
    ["src/blobs/a.ts", files],
    ["src/cli/a.ts", files],
    ["src/assets.ts", files],
    ["src/util/a.ts", files],
  ])
    sees(house.packages, path!, text!);
  for (const [path, text] of [
    ["src/db/a.ts", 'import "pg";'],
    ["src/jobs/a.ts", 'import type { Pool } from "pg";'],
    ["src/core/a.ts", 'import { DatabaseSync } from "node:sqlite";'],
    ["src/core/a.ts", files],
    ["src/core/a.ts", 'await import("@fastify/busboy");'],
    ["src/config/settings.ts", 'import fs from "fs";'],
    ["src/app.ts", 'import type { FastifyInstance } from "fastify";'],
    ["src/http/a.ts", 'import { S3 } from "@aws-sdk/client-s3";'],
  ])
    sees(house.packages, path!, text!, 1);
});

holds("the client stands alone", house.clientAlone);

test("clientAlone: no packages, no server code, and Node modules only on demand", () => {
  fires(house.clientAlone, {
    "packages/parley-client/src/upload.ts":
      'import { a } from "./form.ts"; const { f } = await import("./node-files.ts");',
    "packages/parley-client/src/node-files.ts": 'import { stat } from "node:fs/promises";',
    "src/cli/a.ts": 'import { Parley } from "../../packages/parley-client/src/index.ts";',
  });
  for (const spec of ["node:fs/promises", "mime", "../../src/util/a.ts", "./node-files.ts"])
    sees(house.clientAlone, "packages/parley-client/src/upload.ts", `import { a } from "${spec}";`, 1);
});

holds("parley-sync stands alone", house.syncAlone);

test("syncAlone: types of the client, and stores only where the app loads them", () => {
  fires(house.syncAlone, {
    "packages/parley-sync/src/sync.ts":
      'import type { Parley } from "parley-client"; import { Copy } from "./copy.ts";',
    "packages/parley-sync/src/indexeddb.ts": 'import { openDB } from "idb";',
    "packages/parley-sync/src/sqlite.ts": 'import { DatabaseSync } from "node:sqlite";',
  });
  const path = "packages/parley-sync/src/sync.ts";
  for (const spec of ["parley-client", "idb", "node:sqlite", "./sqlite.ts", "../../../src/util/clock.ts"])
    sees(house.syncAlone, path, `import { a } from "${spec}";`, 1);
});

holds("parley-react stands alone", house.reactAlone);

test("reactAlone: React, and types of parley-sync", () => {
  const path = "packages/parley-react/src/index.ts";
  const good = 'import type { Sync } from "parley-sync"; import { useMemo } from "react"; import "./a.ts";';
  sees(house.reactAlone, path, good);
  for (const spec of ["parley-sync", "parley-client", "react-dom", "../../parley-sync/src/sync.ts"])
    sees(house.reactAlone, path, `import { a } from "${spec}";`, 1);
});

holds("the acceptance suite loads nothing of src", house.blackBox);

test("blackBox: imports of the server directly or through a helper", () => {
  const path = "test/acceptance/a.test.ts";
  sees(house.blackBox, path, 'import { start } from "../helper.ts"; import "../../src/app.ts";', 1);
  sees(house.blackBox, "test/http/a.test.ts", 'import "../../src/app.ts";');
  const through = { [path]: '\nimport "../helper.ts";', "test/helper.ts": 'import "./a.ts";' };
  fires(house.blackBox, { ...through, "test/a.ts": 'import "./helper.ts";' });
  fires(house.blackBox, { ...through, "test/a.ts": 'import "../src/a.ts";' }, `${path}:2`);
});

holds("only main uses the process's environment, arguments, exit and signals", house.processGlobals);

test("processGlobals: under any name", () => {
  for (const use of [
    "process.env.HOME;",
    "f(process.argv[2]);",
    "process.exit(1);",
    'process.on("SIGTERM", f);',
    'process["env"];',
    "process?.env;",
    "globalThis.process.env;",
    "const { env } = process;",
    'import { exit } from "node:process";',
  ]) {
    sees(house.processGlobals, "src/core/a.ts", use, 1);
    sees(house.processGlobals, "src/main.ts", use);
  }
  sees(house.processGlobals, "src/core/a.ts", "process.memoryUsage(); // process.exit\na.exit(); a.env;");
  sees(house.processGlobals, "test/a.ts", "process.env.HOME;");
});

holds("the time is read by main, app, the commands and the clock alone", house.clockReaders);

test("clockReaders: called or passed on", () => {
  sees(house.clockReaders, "src/core/a.ts", "const f = () =>\n  Date.now();", 2);
  sees(house.clockReaders, "src/http/a.ts", "f({ clock: Date.now });", 1);
  sees(house.clockReaders, "src/jobs/a.ts", "const { now } = Date;", 1);
  for (const path of ["src/main.ts", "src/app.ts", "src/cli/a.ts", "src/util/clock.ts", "test/a.ts"])
    sees(house.clockReaders, path, "Date.now();");
  sees(house.clockReaders, "src/core/a.ts", "// Date.now\nnew Date(clock());");
});

holds("neither time nor chance is read while a file loads", house.loadTimeCalls);

test("loadTimeCalls: at the top level but not inside functions", () => {
  const at = (text: string, line?: number) => sees(house.loadTimeCalls, "src/util/a.ts", text, line);
  for (const call of [
    "Date.now()",
    "new Date()",
    "Math.random()",
    "randomBytes(16)",
    "crypto.randomUUID()",
    "randomFillSync(b)",
  ]) {
    at(`\nconst a = { b: [${call}] };`, 2);
    at(`if (a) {\n  b = ${call};\n}`, 2);
    at(`class A { static b = ${call}; }`, 1);
    at(`const a = (() => ${call})();`, 1);
    at(`const a = () => ${call}; function b() { ${call}; } class A { b = ${call}; c() { ${call}; } }`);
  }
  at('const a = new Date("2026-01-01"); f(Date.now); pseudorandomBytes(1);');
});

holds("nothing is left to do in a comment", house.leftNotes);

test("leftNotes: in any comment but not in strings", () => {
  sees(house.leftNotes, "src/a.ts", "\nf(); // TODO: more", 2);
  sees(house.leftNotes, "test/a.ts", "/*\n * FIXME\n */", 2);
  sees(house.leftNotes, "bench/a.ts", "interface A {\n  // XXX\n  a: string;\n}", 2);
  sees(house.leftNotes, "src/a.ts", 'const todo = "// TODO"; // the TODOs of a user');
});

holds("a name that files of the console share has one meaning", house.sharedNames);

test("sharedNames: two declarations, one exported, outside of functions", () => {
  const ofTwo = (one: string, other: string, ...expected: string[]) =>
    fires(house.sharedNames, { "console/src/a.ts": one, "console/src/b/c.tsx": other }, ...expected);
  const both = ["console/src/a.ts:2", "console/src/b/c.tsx:1"];
  ofTwo("\nexport const A = 1;", "function A() {}", ...both);
  ofTwo("\ntype A = 1;", "export interface A {}", ...both);
  ofTwo("\nexport class A {}", "export let A;", ...both);
  ofTwo("const A = 1;", "const A = 2;");
  ofTwo("export const A = 1;", "function b() { const A = 2; }");
  fires(house.sharedNames, { "src/a.ts": "export const A = 1;", "console/src/a.ts": "export const A = 2;" });
});
