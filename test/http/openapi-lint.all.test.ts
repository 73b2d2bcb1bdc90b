import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const FOLDER = new URL("../../src/http/openapi/", import.meta.url);

async function lint(name: string): Promise<string> {
  const redocly = fileURLToPath(new URL("../../node_modules/.bin/redocly", import.meta.url));
  const env = { ...process.env, REDOCLY_TELEMETRY: "off" };
  const args = [redocly, "lint", fileURLToPath(new URL(name, FOLDER))];
  return (await promisify(execFile)(process.execPath, args, { env })).stderr;
}

test("Redocly finds no error or warning in the OpenAPI document", async () => {
  const said = await lint("openapi.json");
  assert.match(said, /Your API description is valid/);
  assert.doesNotMatch(said, /warning/i);
});

test("Redocly finds no error in the document for generators", async () => {
  assert.match(await lint("openapi-3.0.json"), /Your API description is valid/);
});
