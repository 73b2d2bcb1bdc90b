// The client's types are those of the OpenAPI document.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { test } from "node:test";
import { clientTypes } from "../../tools/client-types.ts";

const SCHEMA = new URL("../../packages/parley-client/src/schema.ts", import.meta.url);
const DOCUMENT = new URL("../../src/http/openapi/openapi.json", import.meta.url);

test("packages/parley-client/src/schema.ts matches the OpenAPI document", async () => {
  const types = clientTypes(JSON.parse(await readFile(DOCUMENT, "utf8")));
  if (process.env.UPDATE_CLIENT_TYPES) await writeFile(SCHEMA, types);
  assert.equal(await readFile(SCHEMA, "utf8"), types, "Make it anew: npm run client-types");
});

test("schemas that the types cannot express are refused", () => {
  const schemas = { Odd: { properties: { a: { type: "number" } }, required: ["a"] } };
  assert.throws(() => clientTypes({ paths: {}, components: { schemas } }), /nothing of "number"/);
});
