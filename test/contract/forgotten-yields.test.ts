// Calling a generator does nothing by itself: a write must pass each one to `yield*` or return it.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { readModules } from "../support/house.ts";
import { walkSyntax } from "../support/syntax.ts";

const ROOT = join(import.meta.dirname, "../..");
type Modules = ReturnType<typeof readModules>;
type Node = Modules[number]["ast"];
type Named = Node & { name?: string };
type Parents = readonly Node[];

/** Returns the name by which a function is called, also if `write(…)` declares it; undefined if it has none. */
function nameOf(node: Node, parents: Parents): string | undefined {
  if (node.type === "FunctionDeclaration") return (node.id as Named).name;
  const declared = parents.find((parent) => parent.type !== "CallExpression");
  return declared?.type === "VariableDeclarator" ? (declared.id as Named).name : undefined;
}

const isGenerator = (node: Node) =>
  (node.type === "FunctionDeclaration" || node.type === "FunctionExpression") &&
  node.generator &&
  !node.async;

const calledName = (node: Node) => (node.type === "CallExpression" ? (node.callee as Named).name : undefined);

/** Reports whether the node's value is passed to `yield*` or returned, also through a condition or a named function. */
function isHandedOn(node: Node, parents: Parents): boolean {
  const [parent, ...more] = parents;
  if (parent?.type === "YieldExpression") return parent.delegate === true;
  if (parent?.type === "ReturnStatement") return true;
  if (parent?.type === "ArrowFunctionExpression") {
    const isListed = more[0]?.type === "ArrayExpression";
    return parent.body === node && (isListed || nameOf(parent, more) !== undefined);
  }
  return parent?.type === "ConditionalExpression" && parent.test !== node && isHandedOn(parent, more);
}

/** Returns the names of generators, and of functions that return a call of one. */
function generatorNames(modules: Modules): Set<string> {
  const names = new Set<string>();
  for (let before = -1; before < names.size; ) {
    before = names.size;
    for (const { ast } of modules) {
      walkSyntax(ast, (node, parents) => {
        if (isGenerator(node)) names.add(nameOf(node, parents) ?? "");
        const isReturned =
          parents[0]?.type === "ReturnStatement" || parents[0]?.type === "ArrowFunctionExpression";
        if (!isReturned || !names.has(calledName(node) ?? "-")) return;
        const index = parents.findIndex((parent) => /Function/.test(parent.type));
        if (index !== -1) names.add(nameOf(parents[index]!, parents.slice(index + 1)) ?? "");
      });
    }
  }
  names.delete("");
  return names;
}

/**
 * Returns the places where a generator is called and dropped, or statements are yielded without the functions of
 * write.ts.
 */
function forgotten(sources: Record<string, string>): string[] {
  const modules = readModules(new Map(Object.entries(sources)));
  const names = generatorNames(modules);
  return modules.flatMap(({ path, text, ast }) => {
    const found = new Set<string>();
    walkSyntax(ast, (node, parents) => {
      const name = calledName(node);
      const isCall = name !== undefined && names.has(name) && !isHandedOn(node, parents);
      const inside = parents.find((parent) => /Function/.test(parent.type));
      const isBare = node.type === "YieldExpression" && !node.delegate && inside && isGenerator(inside);
      if (isCall || (isBare && !path.endsWith("db/write.ts")))
        found.add(`${path}:${text.slice(0, node.start).split("\n").length}`);
    });
    return [...found];
  });
}

test("every generator called in a write is passed to `yield*`", () => {
  const paths = readdirSync(join(ROOT, "src/db"), { recursive: true, encoding: "utf8" })
    .map((path) => `src/db/${path}`)
    .filter((path) => path.endsWith(".ts") && !path.includes("/engines/"));
  const sources = Object.fromEntries(paths.map((path) => [path, readFileSync(join(ROOT, path), "utf8")]));
  assert.ok(paths.length > 25);
  assert.deepEqual(forgotten(sources), []);
});

test("a forgotten `yield*` is found", () => {
  const sql = "export function* run(it: string): Generator<string[], void> { yield [it]; }";
  const find = (text: string) => forgotten({ "src/db/write.ts": sql, "src/db/queries/a.ts": text });
  for (const lost of [
    "function* a() { run('DELETE'); }",
    "function* a() { const rows = run('SELECT'); }",
    "function* a() { yield run('SELECT'); }",
    "function* a() { yield ['SELECT']; }",
    "function* a() { if (run('SELECT')) return; }",
    "function* b() { yield* run('x'); } function* a() { b(); }",
    "function b() { return run('x'); } function* a() { b(); }",
    "const b = () => run('x'); function* a() { b(); }",
    "function* a(all) { all.forEach((it) => run(it)); }",
    "const b = write({}, function* () { yield* run('x'); }); function* a() { b(); }",
  ])
    assert.deepEqual(find(lost), ["src/db/queries/a.ts:1"], lost);
  for (const kept of [
    "function* a() { yield* run('DELETE'); return run('x'); }",
    "function* a(b) { const rows = yield* b ? run('SELECT') : run('x'); }",
    "const a = (left) => run(left);",
    "async function* a() { yield 1; }",
  ])
    assert.deepEqual(find(kept), [], kept);
});
