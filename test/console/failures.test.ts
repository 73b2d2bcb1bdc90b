import assert from "node:assert/strict";
import { test } from "node:test";
import { ParleyApiError } from "../../client/src/index.ts";
import { explain } from "../../console/src/failures.ts";

test("errors are explained by code and field, whatever the words of the server", () => {
  const failure = (code: ParleyApiError["code"], param?: string) =>
    explain(new ParleyApiError({ code, status: 400, param, detail: "words of the server" }));
  assert.match(failure("invalid_parameter", "username"), /^Username must have 1 to 128 characters/);
  assert.match(failure("invalid_parameter", "phone_number"), /^Phone number must have/);
  assert.match(failure("invalid_parameter", "display_name"), /^Display name must have at most/);
  assert.match(failure("invalid_parameter", "filename"), /^The name must have/);
  assert.match(failure("contact_exists", "username"), /^You already have/);
  assert.match(failure("connection_failed"), /^The server cannot be reached/);
  assert.match(failure("source_changed"), /^The file was changed/);
  assert.equal(failure("invalid_parameter", "limit"), "words of the server");
  assert.match(failure("quota_exceeded"), /^Your storage is full/);
});
