import assert from "node:assert/strict";
import { test } from "node:test";
import { call, contact, form, fresh, newContact, type Options, problem, type Reply } from "../client.ts";
import { target } from "../target.ts";
import { newAttachment } from "../upload.ts";

const ROUTES: [string, string][] = [
  ["GET", "/v1/contacts"],
  ["HEAD", "/v1/contacts"],
  ["POST", "/v1/contacts"],
  ["GET", "/v1/attachments"],
  ["HEAD", "/v1/attachments"],
  ["POST", "/v1/attachments"],
  ...["contacts/con_x", "attachments/att_x"].flatMap((path) =>
    ["GET", "HEAD", "PUT", "DELETE"].map((method): [string, string] => [method, `/v1/${path}`]),
  ),
  ["GET", "/v1/nothing-here"],
  ["POST", "/v1/nothing-here"],
  ["PATCH", "/v1/contacts"],
  ["DELETE", "/v1/attachments"],
  ["GET", "/v1/contacts/con_x/nothing-here"],
];

function refused(reply: Reply, method: string): void {
  if (method === "HEAD") assert.equal(reply.status, 401);
  else problem(reply, 401);
  assert.match(reply.headers.get("www-authenticate") ?? "", /^Bearer(\s|$)/);
}

const { token } = target;
const flipped = token.replace(/_(.)/, (_, first: string) => `_${first === "A" ? "B" : "A"}`);

for (const [what, authorization] of [
  ["no Authorization header", undefined],
  ["an empty Authorization header", ""],
  ["the scheme without a token", "Bearer"],
  ["the token without a scheme", token],
  ["another scheme", `Basic ${Buffer.from(`admin:${token}`).toString("base64")}`],
  ["an unknown scheme", `Token ${token}`],
  ["a token of another form", "Bearer nonsense"],
  ["a token that was never given out", `Bearer parley_${"A".repeat(43)}`],
  ["a token with another first character", `Bearer ${flipped}`],
  ["a token with one character more", `Bearer ${token}A`],
  ["a token with one character less", `Bearer ${token.slice(0, -1)}`],
  ["a token in the other case", `Bearer ${token.toUpperCase()}`],
  ["two tokens", `Bearer ${token} ${token}`],
  ["a token list", `Bearer ${token}, Bearer ${token}`],
  ["an unsigned JWT", "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZG1pbiJ9."],
  ["a token that is not ASCII", "Bearer é"],
  ["a very long token", `Bearer ${"A".repeat(4000)}`],
] as const) {
  test(`${what} is 401 with WWW-Authenticate: Bearer, on every route and on unknown ones`, async () => {
    const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
    for (const [method, path] of ROUTES) refused(await call(method, path, { token: null, headers }), method);
  });
}

test("a token is checked first: other errors of the request stay hidden", async () => {
  const text: Options = { headers: { "content-type": "text/plain" }, body: "x" };
  const broken: Options = { headers: { "content-type": "application/json" }, body: "{" };
  const cut: Options = { headers: { "content-type": "multipart/form-data; boundary=x" }, body: "--x" };
  const requests: [string, string, Options][] = [
    ["GET", "/v1/contacts?limit=0", {}],
    ["GET", "/v1/contacts?surprise=1", {}],
    ["POST", "/v1/contacts", text],
    ["POST", "/v1/contacts", broken],
    ["POST", "/v1/contacts", form("username=%zz")],
    ["PUT", "/v1/contacts/nonsense", broken],
    ["POST", "/v1/attachments", text],
    ["POST", "/v1/attachments", cut],
    ["POST", "/v1/attachments?conversation_id=nonsense", cut],
    ["GET", "/v1/attachments?conversation_id=nonsense", {}],
    ["PUT", "/v1/attachments/nonsense", text],
  ];
  for (const [method, path, options] of requests) {
    refused(await call(method, path, { ...options, token: null }), method);
    refused(await call(method, path, { ...options, token: flipped }), method);
  }
});

test("without a token, existing and unknown ids have the same answer", async () => {
  const made = [`/v1/contacts/${(await newContact()).id}`, `/v1/attachments/${(await newAttachment()).id}`];
  for (const path of made) {
    for (const method of ["GET", "PUT", "DELETE"]) {
      const { request_id: one, ...there } = problem(await call(method, path, { token: null }), 401);
      const { request_id: two, ...none } = problem(await call(method, `${path}0`, { token: null }), 401);
      assert.deepEqual(there, none);
      assert.notEqual(one, two);
    }
    assert.equal((await call("GET", path)).status, 200);
  }
});

test("nothing is written without a token", async () => {
  const fields = { username: fresh("unseen"), phone_number: "5550100" };
  problem(await call("POST", "/v1/contacts", { ...form(fields), token: null }), 401);
  contact(await call("POST", "/v1/contacts", form(fields)), 201);
});

test("a token in the query or in the body does not count", async () => {
  for (const name of ["access_token", "token", "authorization"]) {
    problem(await call("GET", `/v1/contacts?${name}=${token}`, { token: null }), 401);
    problem(await call("POST", "/v1/contacts", { ...form({ [name]: token }), token: null }), 401);
  }
});

test("a refusal does not repeat the token", async () => {
  const secret = `parley_${fresh("canary").padEnd(43, "x")}`;
  const reply = await call("GET", "/v1/contacts", { token: secret });
  refused(reply, "GET");
  assert.ok(!JSON.stringify([reply.text, ...reply.headers]).includes(secret));
});

test("/healthz answers 200 without a token", async () => {
  for (const method of ["GET", "HEAD"])
    assert.equal((await call(method, "/healthz", { token: null })).status, 200);
});
