import assert from "node:assert/strict";
import { test } from "node:test";
import {
  call,
  contact,
  form,
  fresh,
  json,
  newContact,
  type Options,
  type Problem,
  problem,
  type Reply,
  unknownLike,
} from "./client.ts";
import { raw } from "./raw.ts";
import { needsPlain, target } from "./target.ts";
import { newAttachment } from "./upload.ts";

const HOST = new URL(target.url).host;

for (const path of ["/v1/nothing", "/v1/contact", "/v1/contacts/x/y", "/v1/CONTACTS", "/v2/contacts"]) {
  test(`${path} is not a route: 404`, async () => {
    for (const method of ["GET", "POST", "PUT", "DELETE"]) problem(await call(method, path), 404);
    const head = await call("HEAD", path);
    assert.equal(head.status, 404);
    assert.equal(head.bytes.length, 0);
  });
}

test("a path with a missing id at its end is 404", async () => {
  for (const path of ["/v1/contacts/", "/v1/attachments/"]) problem(await call("GET", path), 404);
});

test("an unknown route outside of /v1 is 404 even without a token", async () => {
  problem(await call("GET", "/nothing-here", { token: null }), 404);
  problem(await call("GET", "/files", { token: null }), 404);
});

test("a path that cannot be decoded is 400 or 404 with a problem", async () => {
  for (const path of ["/v1/contacts/%zz", "/v1/contacts/%", "/v1/contacts/%ff", "/v1/attachments/%c3%28"]) {
    const reply = await call("GET", path);
    assert.ok(reply.status === 400 || reply.status === 404, `${path} answered ${reply.status}`);
    problem(reply, reply.status);
  }
});

for (const [path, methods, others] of [
  ["/v1/contacts", ["GET", "HEAD", "POST"], ["PUT", "DELETE", "PATCH"]],
  ["/v1/contacts/ID", ["GET", "HEAD", "PUT", "DELETE"], ["POST", "PATCH"]],
  ["/v1/attachments", ["GET", "HEAD", "POST"], ["PUT", "DELETE", "PATCH"]],
  ["/v1/attachments/ID", ["GET", "HEAD", "PUT", "DELETE"], ["POST", "PATCH"]],
] as const) {
  test(`${path} accepts ${methods.join(", ")}: any other method is 405 with Allow`, async () => {
    const id = path.includes("contacts") ? (await newContact()).id : (await newAttachment()).id;
    for (const method of others) {
      for (const options of [
        {},
        json({ display_name: "x" }),
        { headers: { "content-type": "text/plain" }, body: "x" },
      ]) {
        const reply = await call(method, path.replace("ID", id), options);
        problem(reply, 405);
        const allowed = (reply.headers.get("allow") ?? "").split(/\s*,\s*/);
        for (const known of methods) assert.ok(allowed.includes(known), `Allow has no ${known}: ${allowed}`);
        for (const other of others) assert.ok(!allowed.includes(other), `Allow has ${other}`);
      }
    }
  });
}

const TYPES = [
  "text/plain",
  "text/json",
  "application/xml",
  "application/merge-patch+json",
  "application/jsonp",
  "application/json\tx",
  "application/json/x",
  "application/x-www-form-urlencodedx",
  "multipart/form-data; boundary=x",
  "nonsense",
];

for (const type of TYPES) {
  test(`a body of type ${JSON.stringify(type)} is 415 if fields are expected`, async () => {
    const made = await newContact({ display_name: "before" });
    const path = `/v1/contacts/${made.id}`;
    const attachment = await newAttachment();
    for (const body of ['{"display_name":"after"}', "display_name=after"]) {
      const options: Options = { headers: { "content-type": type }, body };
      problem(await call("POST", "/v1/contacts", options), 415);
      problem(await call("PUT", path, options), 415);
      problem(await call("PUT", `/v1/attachments/${attachment.id}`, options), 415);
    }
    assert.deepEqual(contact(await call("GET", path)), made);
  });
}

test("a body without a type is 415", async () => {
  const made = await newContact({ display_name: "before" });
  const options: Options = { body: Buffer.from("display_name=after") };
  problem(await call("POST", "/v1/contacts", options), 415);
  problem(await call("PUT", `/v1/contacts/${made.id}`, options), 415);
  assert.deepEqual(contact(await call("GET", `/v1/contacts/${made.id}`)), made);
});

const BROKEN_JSON = [
  "{",
  '{"username":}',
  "{'username':'x'}",
  '{"username":"x",}',
  '{"username":"x"} trailing',
  '{"username":"x"}{"username":"y"}',
  '{"username":"a\nb"}',
  "username=x",
  "NaN",
  "[]",
  '[{"username":"x"}]',
  '"text"',
  "7",
  "true",
  "null",
];

for (const body of BROKEN_JSON) {
  test(`the JSON body ${JSON.stringify(body)} is not an object of fields: 400`, async () => {
    problem(await call("POST", "/v1/contacts", json(body)), 400);
    const { id } = await newContact();
    problem(await call("PUT", `/v1/contacts/${id}`, json(body)), 400);
  });
}

test("JSON that is not UTF-8 is 400", async () => {
  const { id } = await newContact();
  for (const bytes of [[0xff], [0xc3], [0xed, 0xa0, 0x80], [0xc0, 0x80]]) {
    const body = Buffer.concat([Buffer.from('{"display_name":"a'), Buffer.from(bytes), Buffer.from('b"}')]);
    problem(await call("PUT", `/v1/contacts/${id}`, { ...json(""), body }), 400);
  }
});

test("deeply nested JSON is 400 without delay", async () => {
  const depth = 20_000;
  const started = Date.now();
  problem(
    await call("POST", "/v1/contacts", json(`{"username":${"[".repeat(depth)}${"]".repeat(depth)}}`)),
    400,
  );
  assert.ok(Date.now() - started < 10_000);
});

for (const value of ["%", "%z", "%zz", "%e", "%ff", "%c3", "%ed%a0%80", "%c0%80", "a%"]) {
  test(`a form with ${value} in a value or a name is malformed: 400`, async () => {
    const made = await newContact({ display_name: "before" });
    for (const body of [`display_name=${value}`, `display_name=x&${value}=1`]) {
      problem(await call("PUT", `/v1/contacts/${made.id}`, form(body)), 400);
    }
    assert.deepEqual(contact(await call("GET", `/v1/contacts/${made.id}`)), made);
  });
}

test("JSON sent as a form is 400, and the answer names the right type", async () => {
  for (const body of ['{"username":"a&b=c"}', ' \n{ "username": "a" }']) {
    const { detail } = problem(await call("POST", "/v1/contacts", form(body)), 400, "malformed_body");
    assert.match(detail, /application\/json/);
  }
});

test("a query that cannot be decoded is 400", async () => {
  for (const query of ["limit=%zz", "limit=%ff", "%zz=1", "starting_after=%00"]) {
    problem(await call("GET", `/v1/contacts?${query}`), 400);
  }
});

test("every answer has a unique Request-Id, equal to request_id in errors", async () => {
  const made = await newContact();
  const replies = [
    await call("GET", "/v1/contacts"),
    await call("GET", `/v1/contacts/${made.id}`),
    await call("PUT", `/v1/contacts/${made.id}`),
    await call("POST", "/v1/contacts", form({ username: fresh("id"), phone_number: "5550100" })),
    await call("DELETE", `/v1/contacts/${made.id}`),
    await call("DELETE", `/v1/contacts/${made.id}`),
    await call("GET", "/v1/nothing"),
    await call("GET", "/v1/contacts", { token: null }),
    await call("HEAD", "/v1/contacts"),
    await call("GET", "/healthz"),
    await call("GET", (await newAttachment()).file_url, { token: null }),
  ];
  const ids = replies.map(({ headers }) => headers.get("request-id"));
  assert.ok(ids.every(Boolean), `an answer has no Request-Id: ${ids}`);
  assert.equal(new Set(ids).size, ids.length);
});

test("each kind of error has its own code", async () => {
  const unknown = unknownLike((await newContact()).id);
  const faults: [number, () => Promise<Reply>][] = [
    [401, () => call("GET", "/v1/contacts", { token: null })],
    [404, () => call("GET", `/v1/contacts/${unknown}`)],
    [405, () => call("PATCH", "/v1/contacts")],
    [415, () => call("POST", "/v1/contacts", { headers: { "content-type": "text/plain" }, body: "x" })],
    [400, () => call("POST", "/v1/contacts", json("{"))],
  ];
  const codes = new Set<string>();
  for (const [status, request] of faults) {
    const { code, type, title } = problem(await request(), status);
    const again = problem(await request(), status);
    assert.deepEqual({ code, type, title }, { code: again.code, type: again.type, title: again.title });
    codes.add(code);
  }
  assert.equal(codes.size, faults.length);
});

test("the type of a problem is a URL on this server that explains its code", async () => {
  const replies = [
    await call("GET", "/v1/nothing"),
    await call("GET", "/v1/contacts?limit=0"),
    await call("GET", "/v1/contacts", { token: null }),
  ];
  for (const { json } of replies) {
    const { type, code } = json as Problem;
    const address = new URL(type, `${target.url}/`);
    if (target.own) assert.equal(address.origin, target.url);
    const page = await call("GET", address.pathname + address.search, { token: null });
    assert.equal(page.status, 200, `${type} answered ${page.status}`);
    assert.ok(page.text.includes(code), `${type} does not speak of ${code}`);
  }
});

test("headers that are too long are 431 with a problem", { skip: needsPlain }, async () => {
  const long = `GET /v1/contacts HTTP/1.1\r\nHost: ${HOST}\r\nX-Long: ${"x".repeat(96 * 1024)}\r\n\r\n`;
  problem(await raw(long), 431);
});

for (const [what, request] of [
  ["a request line that is garbage", "what is this?\r\n\r\n"],
  ["bytes that are no text", Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x0d, 0x0a, 0x0d, 0x0a])],
  ["an unknown version of HTTP", `GET / HTTP/9.9\r\nHost: ${HOST}\r\n\r\n`],
  ["a header line without a colon", `GET /healthz HTTP/1.1\r\nHost: ${HOST}\r\nnonsense\r\n\r\n`],
  ["a header with NUL", `GET /healthz HTTP/1.1\r\nHost: ${HOST}\r\nX-A: a\0b\r\n\r\n`],
  ["no Host", "GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n"],
  [
    "a length and chunks at once",
    `POST /v1/contacts HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  ],
  [
    "two lengths",
    `POST /v1/contacts HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!`,
  ],
] as [string, string | Buffer][]) {
  test(`a request with ${what} is 400 with a problem`, { skip: needsPlain }, async () => {
    problem(await raw(request), 400);
  });
}

test("the server survives a bad request line", { skip: needsPlain }, async () => {
  await Promise.all(Array.from({ length: 20 }, () => raw("garbage\r\n\r\n")));
  assert.equal((await call("GET", "/healthz")).status, 200);
});
