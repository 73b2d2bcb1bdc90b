import assert from "node:assert/strict";
import { test } from "node:test";
import { catalogue, type ErrorCode, ParleyError } from "../../src/errors.ts";
import { problemOf, statusOf } from "../../src/http/protocol/problems.ts";

const ORIGIN = "https://parley.example";
const REQUEST_ID = "req_01h455vb4pex5vsknk084sn02q";
const CODES = Object.keys(catalogue) as ErrorCode[];

/** Types defined elsewhere. */
const IANA = "https://iana.org/assignments/http-problem-types#";
const REGISTERED: Partial<Record<ErrorCode, string>> = {
  upload_offset_mismatch: `${IANA}mismatching-upload-offset`,
  upload_completed: `${IANA}completed-upload`,
  upload_length_mismatch: `${IANA}inconsistent-upload-length`,
};

function answer(...error: ConstructorParameters<typeof ParleyError>) {
  const { status, headers, body } = problemOf(new ParleyError(...error), REQUEST_ID, ORIGIN);
  const { "content-type": type, "cache-control": caching, ...own } = headers;
  assert.deepEqual([type, caching], ["application/problem+json", "no-store"]);
  return { status, headers: own, body: JSON.parse(body) as Record<string, unknown> };
}

for (const code of CODES) {
  test(`the problem ${code} has a status, a page, a title and a sentence that helps`, () => {
    const { status, body } = answer(code, undefined, { header: "x" });
    assert.ok(Number.isInteger(status) && status >= 400 && status <= 599, String(status));
    assert.equal(statusOf(code), status);
    assert.match(code, /^[a-z]+(_[a-z]+)*$/);
    assert.deepEqual(body, {
      type: REGISTERED[code] ?? `${ORIGIN}/docs/errors/${code}`,
      title: catalogue[code].title,
      status,
      detail: catalogue[code].explanation,
      code,
      request_id: REQUEST_ID,
    });
    assert.match(catalogue[code].title, /^[A-Z].*[^.]$/);
    assert.match(catalogue[code].explanation, /^[A-Z].*\.$/s);
  });
}

const STATUSES: Record<number, ErrorCode[]> = {
  400: [
    "malformed_request",
    "malformed_body",
    "missing_parameter",
    "invalid_parameter",
    "unknown_parameter",
    "repeated_parameter",
    "digest_mismatch",
  ],
  401: ["missing_token", "invalid_token"],
  403: ["insufficient_scope", "invalid_signature", "not_uploader"],
  404: CODES.filter((code) => code.endsWith("_not_found")),
  405: ["method_not_allowed"],
  408: ["request_timeout"],
  409: [
    "contact_exists",
    "username_taken",
    "identity_taken",
    "count_limit_reached",
    "idempotency_in_progress",
    "client_id_conflict",
  ],
  412: ["precondition_failed"],
  413: ["file_too_large", "body_too_large"],
  415: ["unsupported_media_type", "file_type_refused"],
  416: ["range_not_satisfiable"],
  422: ["idempotency_key_reused", "file_infected", "metadata_not_removable"],
  429: ["rate_limited", "daily_limit_reached"],
  431: ["headers_too_large"],
  500: ["internal_error"],
  503: ["unavailable"],
  507: ["disk_full"],
};

for (const [status, codes] of Object.entries(STATUSES)) {
  test(`the status ${status} is that of ${codes.join(", ")}`, () => {
    for (const code of codes)
      assert.equal(answer(code, undefined, { header: "x" }).status, Number(status), code);
  });
}

const HEADERS: [code: ErrorCode, header: string | undefined, headers: Record<string, string>][] = [
  ["missing_token", undefined, { "www-authenticate": "Bearer" }],
  ["invalid_token", undefined, { "www-authenticate": 'Bearer error="invalid_token"' }],
  [
    "insufficient_scope",
    "contacts:write",
    { "www-authenticate": 'Bearer error="insufficient_scope", scope="contacts:write"' },
  ],
  ["method_not_allowed", "GET, HEAD", { allow: "GET, HEAD" }],
  ["range_not_satisfiable", "1234", { "content-range": "bytes */1234" }],
  ["unavailable", undefined, { "retry-after": "1" }],
  ["idempotency_in_progress", undefined, { "retry-after": "1" }],
  ["daily_limit_reached", "60", { "retry-after": "60" }],
  ["invalid_signature", undefined, {}],
  ["contact_not_found", undefined, {}],
  ["internal_error", undefined, {}],
];

for (const [code, header, headers] of HEADERS) {
  const names = Object.keys(headers).join(", ") || "no further header";
  test(`the problem ${code} has ${names}`, () => {
    assert.deepEqual(answer(code, "Why.", header === undefined ? {} : { header }).headers, headers);
  });
}

test("a problem says what was wrong, with which field, and further details", () => {
  const { body } = answer("contact_exists", "Ada is in the list.", {
    param: "username",
    members: { existing_id: "con_1" },
    cause: new Error("secret"),
  });
  assert.deepEqual(Object.entries(body), [
    ["type", `${ORIGIN}/docs/errors/contact_exists`],
    ["title", "Contact already exists"],
    ["status", 409],
    ["detail", "Ada is in the list."],
    ["code", "contact_exists"],
    ["param", "username"],
    ["existing_id", "con_1"],
    ["request_id", REQUEST_ID],
  ]);
});

test("an empty param is included", () =>
  assert.equal(answer("unknown_parameter", "Why.", { param: "" }).body.param, ""));

test("an error has its detail as message and keeps its cause", () => {
  const cause = new Error("disk");
  const error = new ParleyError("unavailable", "Not now.", { cause });
  assert.ok(error instanceof Error);
  assert.deepEqual([error.name, error.message, error.cause], ["ParleyError", "Not now.", cause]);
  assert.equal(new ParleyError("unavailable").message, catalogue.unavailable.explanation);
});
