import assert from "node:assert/strict";
import { test } from "node:test";
import { explain, nameLimit } from "../../console/src/failures.ts";
import { ParleyApiError } from "../../packages/parley-client/src/index.ts";
import { catalogue } from "../../src/errors.ts";

test("errors are explained by code and field, never by the server's text", () => {
  const failure = (code: ParleyApiError["code"], param?: string) =>
    explain(new ParleyApiError({ code, status: 400, param, detail: "words of the server" }));
  assert.match(failure("invalid_parameter", "username"), /^Username must have 1 to 128 characters/);
  assert.match(failure("invalid_parameter", "phone_number"), /^Phone number must have/);
  assert.match(failure("invalid_parameter", "display_name"), /^Display name must have at most/);
  assert.match(failure("invalid_parameter", "filename"), /^The name must have/);
  assert.match(failure("contact_exists", "username"), /^You already have/);
  assert.match(failure("connection_failed"), /^The server cannot be reached/);
  assert.match(failure("source_changed"), /^The file was changed/);
  assert.equal(failure("invalid_parameter", "limit"), "The server does not accept this value.");
  assert.match(failure("quota_exceeded"), /^Your storage is full/);
});

test("a reached limit is named, and other errors stay unchanged", () => {
  const toText = (code: ParleyApiError["code"]) =>
    explain(nameLimit(new ParleyApiError({ code, status: 409, detail: "words of the server" }), "Too many."));
  assert.equal(toText("count_limit_reached"), "Too many.");
  assert.match(toText("quota_exceeded"), /^Your storage is full/);
});

test("every error code of the catalogue has a text of the console", () => {
  const toText = (code: string) =>
    explain(
      new ParleyApiError({
        code: code as ParleyApiError["code"],
        status: 400,
        detail: "words of the server",
        requestId: "req_1",
      }),
    );
  const unknown = toText("of_a_newer_server");
  assert.equal(unknown, "The server refused this. Request ID: req_1.");
  const codes = Object.keys(catalogue);
  assert.ok(codes.length > 40);
  for (const code of codes) {
    const text = toText(code);
    assert.doesNotMatch(text, /words of the server/, code);
    assert.doesNotMatch(text, /_(?!1\.$)/, code);
    assert.notEqual(text, unknown, code);
    assert.match(text, /^[A-Z].*\.$/, code);
  }
  assert.match(toText("internal_error"), /^The server failed\. .* Request ID: req_1\.$/);
});
