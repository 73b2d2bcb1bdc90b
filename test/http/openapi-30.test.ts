// The small document for generators of clients.
import assert from "node:assert/strict";
import { test } from "node:test";
import { startApp } from "../support/app.ts";

type Json = Record<string, unknown>;
interface Document {
  openapi: string;
  paths: Record<string, Record<string, Json>>;
  components: { schemas: Record<string, Json> };
}

/** Generators read a small document faster, and some editors refuse a large one. */
const MAX_BYTES = 120_000;

async function retrieve(url: string): Promise<{ text: string; document: Document }> {
  const response = await fetch(url);
  assert.equal(response.status, 200);
  const text = await response.text();
  return { text, document: JSON.parse(text) };
}

/** Returns all objects in a value, each with its path. */
function objectsIn(value: unknown, at = ""): [at: string, object: Json][] {
  if (typeof value !== "object" || value === null) return [];
  const inner = Object.entries(value).flatMap(([name, member]) => objectsIn(member, `${at}/${name}`));
  return Array.isArray(value) ? inner : [[at, value as Json], ...inner];
}

test("the document for generators has all operations and fields, in forms of OpenAPI 3.0", async (t) => {
  const server = await startApp(t);
  const { document: full } = await retrieve(`${server.url}/openapi.json`);
  const { text, document: small } = await retrieve(`${server.url}/openapi-3.0.json`);
  assert.equal(small.openapi, "3.0.3");
  assert.ok(text.length <= MAX_BYTES, `${text.length} bytes`);
  const operationsOf = ({ paths }: Document) =>
    Object.values(paths).flatMap((path) => Object.values(path).map(({ operationId }) => operationId));
  assert.deepEqual(operationsOf(small), operationsOf(full));
  for (const [name, { properties, required }] of Object.entries(full.components.schemas)) {
    const found = small.components.schemas[name]!;
    assert.deepEqual(Object.keys(found.properties as Json), Object.keys(properties as Json), name);
    assert.deepEqual(found.required, required);
    for (const [field, schema] of Object.entries(properties as Record<string, Json>)) {
      const types = [schema.type, ...((schema.anyOf as Json[]) ?? []).map(({ type }) => type)].flat();
      const { nullable = false } = (found.properties as Record<string, Json>)[field]!;
      assert.equal(nullable, types.includes("null"), `${name}.${field}`);
    }
  }
  for (const [at, object] of objectsIn(small)) {
    const isNamed = /(\/properties|\/schemas|\/parameters)$/.test(at);
    if (isNamed) continue;
    assert.equal(Array.isArray(object.type), false, at);
    for (const name of ["anyOf", "const", "examples", "pattern", "contentSchema"])
      assert.equal(name in object, false, at);
    if (object.type === "integer") assert.equal(object.format, "int64", at);
    const [, referred] = /^#\/components\/schemas\/(.*)$/.exec(String(object.$ref)) ?? [];
    if (referred !== undefined) assert.ok(small.components.schemas[referred], `${at} refers to ${referred}`);
  }
});
