import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const FILE = new URL("../../src/http/openapi/openapi.json", import.meta.url);

test("Redocly finds no error or warning in the OpenAPI document", async () => {
  const redocly = fileURLToPath(new URL("../../node_modules/.bin/redocly", import.meta.url));
  const env = { ...process.env, REDOCLY_TELEMETRY: "off" };
  const { stderr } = await promisify(execFile)(process.execPath, [redocly, "lint", fileURLToPath(FILE)], {
    env,
  });
  assert.match(stderr, /Your API description is valid/);
  assert.doesNotMatch(stderr, /warning/i);
});
