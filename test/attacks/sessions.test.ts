// Browser sessions: forged and stolen cookies, cross-site requests (CWE-352, CWE-1275, CWE-384, CWE-613). Tests in
// browsers are in test/console/sign-in.test.ts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Seal } from "../../src/core/node/seal.ts";
import { revokeTokensOf, SCOPES } from "../../src/core/people/tokens.ts";
import { startApp, startOn, type TestApp, type TestUser, testConfig, upload } from "../support/app.ts";
import { type Answered, attack, codeOf } from "./attack.ts";

const KEY = "0123456789abcdef".repeat(4);
const OTHER_KEY = "f".repeat(64);
const HEADER = "parley-session";

type Headers = readonly [name: string, value: string][];

const get = (server: Pick<TestApp, "url">, path: string, headers: Headers) =>
  attack(server, undefined, { method: "GET", path, headers });

function valuesOf({ headers }: Answered, name: string): string[] {
  return headers.filter(([each]) => each === name).map(([, value]) => value);
}

async function start(server: Pick<TestApp, "url">, user: TestUser, key = KEY): Promise<string> {
  const answer = await attack(server, user, { path: "/session", headers: [[HEADER, key]] });
  assert.equal(answer.status, 204);
  const [cookie, ...others] = valuesOf(answer, "set-cookie");
  assert.equal(others.length, 0);
  return cookie!;
}

/** Returns the part of the cookie that browsers send back. */
const sent = (cookie: string) => cookie.split(";")[0]!;

const sessionOf = (cookie: string, key = KEY): Headers => [
  ["cookie", cookie],
  [HEADER, key],
];

/** Forges a cookie for a text, with a key of the attacker's choice. */
const forge = (server: TestApp, cookie: string, text: string, key = KEY) =>
  `${cookie.split("=")[0]}=${new Seal([key], server.app.core.random).seal(text, "session")}`;

test("neither the cookie nor the session key works alone, on any route", async (t) => {
  const server = await startApp(t);
  const user = await server.user({ scopes: SCOPES });
  const made = await upload(server.url, user, new File(["x"], "x.txt"));
  const { file_url } = (await made.json()) as { file_url: string };
  const cookie = sent(await start(server, user));
  const session: Headers = sessionOf(cookie);
  const file = new URL(file_url).pathname;
  for (const path of ["/v1/me", "/v1/contacts", "/v1/audit", "/metrics", file]) {
    assert.equal((await get(server, path, session)).status, 200, path);
    for (const alone of session) {
      const answer = await get(server, path, [alone]);
      assert.equal(answer.status, path === file ? 403 : 401, `${path} with ${alone[0]}`);
    }
  }
  for (const line of [
    "POST /v1/contacts",
    "PUT /v1/contacts/con_x",
    "DELETE /v1/contacts/con_x",
    "POST /session",
  ]) {
    const [method = "", path = ""] = line.split(" ");
    for (const alone of session) {
      const answer = await attack(server, undefined, { method, path, headers: [alone] });
      assert.equal(codeOf(answer), "missing_token", `${method} ${path} with ${alone[0]}`);
    }
  }
});

test("the cookie is HttpOnly and SameSite=Strict, and contains no spelling of the token", async (t) => {
  const now = Date.UTC(2026, 0, 1);
  const server = await startApp(t, {}, { clock: () => now });
  const user = await server.user();
  const cookie = await start(server, user);
  assert.match(
    cookie,
    /^parley-[\w-]{16}=[\w-]+; Max-Age=2592000; HttpOnly; SameSite=Strict$/,
    "without Path, Domain and Expires",
  );
  const value = sent(cookie).split("=")[1]!;
  for (const text of [value, Buffer.from(value, "base64url").toString("latin1")]) {
    const raw = Buffer.from(user.token.slice(7), "base64url").toString("latin1");
    for (const secret of [user.token.slice(7), raw, KEY]) assert.ok(!text.includes(secret));
  }
  assert.notEqual(sent(await start(server, user)), sent(cookie), "the same text is never encrypted alike");
  const brief = await server.user({ expiresAt: now + 60_000 });
  assert.match(await start(server, brief), /; Max-Age=60;/);
  // Another Parley on this host does not overwrite the cookie.
  const second = await startApp(t);
  assert.notEqual((await start(second, await second.user())).split("=")[0], cookie.split("=")[0]);
});

test("with an https PARLEY_PUBLIC_URL the cookie is Secure", async (t) => {
  const config = { ...(await testConfig(t)), publicUrl: "https://chat.example/parley" };
  const server = await startOn(t, config);
  const place = { url: `http://127.0.0.1:${server.app.port()}` };
  const cookie = await start(place, await server.user());
  assert.match(cookie, /^__Secure-parley-[\w-]{16}=[\w-]+; Max-Age=\d+; HttpOnly; SameSite=Strict; Secure$/);
  const session: Headers = sessionOf(sent(cookie));
  assert.equal((await get(place, "/v1/me", session)).status, 200);
  const ended = await attack(place, undefined, { method: "DELETE", path: "/session", headers: session });
  assert.match(
    valuesOf(ended, "set-cookie")[0]!,
    /^__Secure-parley-[\w-]{16}=; Max-Age=0; HttpOnly; SameSite=Strict; Secure$/,
  );
});

test("a changed or truncated cookie, or another key, is 401", async (t) => {
  const server = await startApp(t);
  const cookie = sent(await start(server, await server.user()));
  const [name, value] = cookie.split("=") as [string, string];
  const flipped = Buffer.from(value, "base64url");
  const changed = [0, 11, 12, 20, flipped.length - 1].map((at) => {
    const bytes = Buffer.from(flipped);
    bytes[at]! ^= 1;
    return bytes.toString("base64url");
  });
  const cut = [0, 1, 8, 16, 20, 27, 28, 40].map((bytes) => flipped.subarray(0, bytes).toString("base64url"));
  for (const each of [...changed, ...cut, `${value}AAAA`, "%", '"', "=", value.toUpperCase()])
    assert.equal(codeOf(await get(server, "/v1/me", sessionOf(`${name}=${each}`))), "missing_token", each);
  for (const key of [OTHER_KEY, KEY.slice(1), `${KEY}0`, KEY.toUpperCase(), "", "x", `${KEY}, ${KEY}`])
    assert.equal((await get(server, "/v1/me", sessionOf(cookie, key))).status, 401, key);
  const twice: Headers = [
    ["cookie", cookie],
    [HEADER, KEY],
    [HEADER, KEY],
  ];
  assert.equal((await get(server, "/v1/me", twice)).status, 401);
  for (const other of [`x${name}`, name.slice(1), name.toUpperCase()])
    assert.equal((await get(server, "/v1/me", sessionOf(`${other}=${value}`))).status, 401, other);
});

test("cookies set by another server of the host do not replace a session", async (t) => {
  const server = await startApp(t);
  const [ann, eve] = [await server.user(), await server.user()];
  const cookie = sent(await start(server, ann));
  const [name] = cookie.split("=");
  const evil = [forge(server, cookie, eve.token, OTHER_KEY), `${name}=`, `${name}=x`, `${name}`];
  for (const header of [
    [...evil, cookie],
    [cookie, ...evil],
    ["a=b", cookie, "c=d"],
  ]) {
    const answer = await get(server, "/v1/me", sessionOf(header.join("; "), KEY));
    assert.equal((JSON.parse(answer.body) as { id: string }).id, ann.id);
  }
  const split: Headers = [
    ...evil.map((each) => ["cookie", each] as [string, string]),
    ["cookie", cookie],
    [HEADER, KEY],
  ];
  assert.equal((JSON.parse((await get(server, "/v1/me", split)).body) as { id: string }).id, ann.id);
  // Many such cookies cost no more than a few.
  const many = [...Array(200).fill(`${name}=x`), cookie].join("; ");
  assert.equal((await get(server, "/v1/me", sessionOf(many))).status, 401);
});

test("an Authorization header takes precedence over a session, even a wrong one", async (t) => {
  const server = await startApp(t);
  const [ann, bob] = [await server.user(), await server.user()];
  const session: Headers = sessionOf(sent(await start(server, ann)));
  const answer = await attack(server, bob, { method: "GET", path: "/v1/me", headers: session });
  assert.equal((JSON.parse(answer.body) as { id: string }).id, bob.id);
  for (const authorization of ["", "Bearer", "Bearer parley_wrong", "Basic eDp4"])
    assert.equal(
      codeOf(await get(server, "/v1/me", [...session, ["authorization", authorization]])),
      "invalid_token",
      authorization,
    );
});

test("a session has the scopes of its token, and ends with it", async (t) => {
  let now = Date.UTC(2026, 0, 1);
  const server = await startApp(t, {}, { clock: () => now });
  const weak = await server.user({ scopes: ["contacts:read"] });
  const ask = async (user: TestUser) => {
    const session: Headers = sessionOf(sent(await start(server, user)));
    return (method: string, path: string) => attack(server, undefined, { method, path, headers: session });
  };
  const asWeak = await ask(weak);
  assert.equal((await asWeak("GET", "/v1/contacts")).status, 200);
  assert.equal(codeOf(await asWeak("GET", "/v1/users")), "insufficient_scope");
  assert.equal(codeOf(await asWeak("POST", "/v1/contacts")), "insufficient_scope");
  await revokeTokensOf(server.app.core, null, weak.id);
  for (const [method, path] of [
    ["GET", "/v1/contacts"],
    ["POST", "/session"],
  ] as const) {
    const refused = await asWeak(method, path);
    assert.equal(codeOf(refused), "invalid_token");
    assert.deepEqual(valuesOf(refused, "set-cookie"), []);
  }
  // The cookie of an ended session can still be deleted.
  const ended = await asWeak("DELETE", "/session");
  assert.equal(ended.status, 204);
  assert.match(valuesOf(ended, "set-cookie")[0]!, /=; Max-Age=0; HttpOnly; SameSite=Strict$/);
  const brief = await ask(await server.user({ expiresAt: now + 60_000 }));
  assert.equal((await brief("GET", "/v1/me")).status, 200);
  now += 60_000;
  assert.equal(codeOf(await brief("GET", "/v1/me")), "invalid_token");
});

test("guessing tokens through sessions counts as failures of the address", async (t) => {
  const limits = { requestsPerSecond: 1000, failuresPerSecond: 1, failuresBurst: 5 };
  const now = Date.UTC(2026, 0, 1);
  const server = await startApp(t, limits, { clock: () => now });
  const user = await server.user();
  const cookie = sent(await start(server, user));
  const statusOf = async (each: string) => (await get(server, "/v1/me", sessionOf(each))).status;
  for (let i = 0; i < 10; i++) {
    const guess = forge(server, cookie, `parley_${String(i).padStart(43, "0")}`);
    assert.equal(await statusOf(guess), i < 5 ? 401 : 429);
  }
  for (const text of ["", "x", "\0", "parley_", `${user.token} `, "a.b.c"])
    assert.equal(await statusOf(forge(server, cookie, text)), 429, text);
  assert.equal(await statusOf(cookie), 200, "a known user is let in");
});

test("only POST /session sets a cookie, and only the session key deletes it", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const cookie = sent(await start(server, user));
  const session: Headers = sessionOf(cookie);
  for (const path of "/ /session /v1/me /healthz /docs /push-worker.js /nothing".split(" ")) {
    for (const method of ["GET", "HEAD", "OPTIONS"]) {
      const headers = Object.fromEntries(session);
      const answer = await fetch(server.url + path, { method, headers });
      assert.deepEqual(answer.headers.getSetCookie(), [], `${method} ${path}`);
    }
  }
  for (const headers of [
    [],
    [["cookie", cookie]],
    [[HEADER, KEY]],
    sessionOf(cookie, OTHER_KEY),
  ] as Headers[]) {
    const answer = await attack(server, undefined, { method: "DELETE", path: "/session", headers });
    assert.equal(answer.status, 204);
    assert.deepEqual(valuesOf(answer, "set-cookie"), []);
  }
  const renewed = await attack(server, undefined, { path: "/session", headers: session });
  assert.match(valuesOf(renewed, "set-cookie")[0]!, /; Max-Age=2592000;/);
});

test("a session starts only with a valid key and token", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  for (const key of ["", "x", KEY.slice(1), `${KEY}0`, KEY.toUpperCase(), "g".repeat(64)]) {
    const answer = await attack(server, user, { path: "/session", headers: [[HEADER, key]] });
    assert.deepEqual([answer.status, codeOf(answer)], [400, "invalid_parameter"], key);
    assert.deepEqual(valuesOf(answer, "set-cookie"), []);
  }
  for (const method of ["POST", "DELETE"]) {
    const headers: Headers = [[HEADER, KEY]];
    const query = await attack(server, user, { method, path: "/session?token=x", headers });
    assert.equal(codeOf(query), "unknown_parameter");
    const body = await attack(server, user, { method, path: "/session", headers, body: "{}" });
    assert.equal(codeOf(body), method === "POST" ? "unsupported_media_type" : "malformed_body");
  }
  const strange = { headers: { authorization: `Bearer parley_${"A".repeat(43)}` } };
  for (const who of [undefined, strange]) {
    const answer = await attack(server, who, { path: "/session", headers: [[HEADER, KEY]] });
    assert.equal(answer.status, 401);
    assert.deepEqual(valuesOf(answer, "set-cookie"), []);
  }
});

test("CORS never allows the session header or cookies", async (t) => {
  for (const corsOrigins of [[], ["https://app.example"], ["*"]]) {
    const server = await startOn(t, { ...(await testConfig(t)), corsOrigins });
    const user = await server.user();
    const cookie = sent(await start(server, user));
    for (const [method, path] of [
      ["GET", "/v1/me"],
      ["POST", "/session"],
      ["DELETE", "/session"],
    ] as const) {
      // Nor does a wildcard allow the session header.
      const preflights = await Promise.all(
        [`authorization,${HEADER}`, `*,${HEADER.toUpperCase()} ,cookie`].map((asked) =>
          attack(server, undefined, {
            method: "OPTIONS",
            path,
            headers: [
              ["origin", "https://app.example"],
              ["access-control-request-method", method],
              ["access-control-request-headers", asked],
            ],
          }),
        ),
      );
      const answer = await attack(server, undefined, {
        method,
        path,
        headers: [
          ["origin", "https://app.example"],
          ["cookie", cookie],
        ],
      });
      for (const each of [...preflights, answer]) {
        assert.deepEqual(valuesOf(each, "access-control-allow-credentials"), []);
        assert.doesNotMatch(
          valuesOf(each, "access-control-allow-headers").join(),
          /parley-session|cookie|\*/i,
        );
      }
      assert.notEqual(answer.status, 200);
      assert.deepEqual(valuesOf(answer, "set-cookie"), []);
    }
  }
});

/** Posts fields that start a session. */
function begin(
  server: Pick<TestApp, "url">,
  fields: Record<string, string>,
  headers: Headers,
): Promise<Answered> {
  const body = String(new URLSearchParams(fields));
  const type: Headers[number] = ["content-type", "application/x-www-form-urlencoded"];
  return attack(server, undefined, { path: "/session", headers: [...headers, type], body });
}

test("a sign-in link works for two minutes, only unchanged, and only while its token does", async (t) => {
  const clock = { now: Date.UTC(2026, 0, 1) };
  const server = await startOn(t, await testConfig(t), { clock: () => clock.now });
  const user = await server.user();
  const made = await attack(server, user, { path: "/sign-in-link", headers: [] });
  const { code } = JSON.parse(made.body);
  const key: Headers = [[HEADER, KEY]];
  assert.doesNotMatch(code, /parley_/);
  for (const broken of ["", "x", `${code.slice(0, -3)}AAA`, user.token, code.slice(2)]) {
    assert.equal(codeOf(await begin(server, { code: broken }, key)), "invalid_token", broken);
  }
  // A text that the server has encrypted for another purpose.
  const foreign = server.app.core.seal.seal(JSON.stringify([clock.now + 1000, user.token]), "session");
  assert.equal(codeOf(await begin(server, { code: foreign }, key)), "invalid_token");
  assert.equal(codeOf(await begin(server, { code }, [])), "invalid_parameter");
  const begun = await begin(server, { code }, key);
  assert.equal(begun.status, 204);
  const session = sessionOf(sent(valuesOf(begun, "set-cookie")[0]!));
  assert.equal((await get(server, "/v1/me", session)).status, 200);
  clock.now += 120_000;
  assert.equal(codeOf(await begin(server, { code }, key)), "invalid_token");
  const fresh = JSON.parse((await attack(server, user, { path: "/sign-in-link", headers: [] })).body);
  await revokeTokensOf(server.app.core, null, user.id);
  assert.equal(codeOf(await begin(server, { code: fresh.code }, key)), "invalid_token");
});

test("without a sign-in that this browser began, an answer of the provider starts nothing", async (t) => {
  const openId = { issuer: "http://127.0.0.1:9", clientId: "parley", clientSecret: null };
  const server = await startOn(t, { ...(await testConfig(t)), openId });
  const user = await server.user();
  const cookie = sent(await start(server, user));
  const name = `${cookie.split("=")[0]}-sign-in`;
  const seal = (key: string, context: string, text = '{"state":"s","nonce":"n","verifier":"v"}') =>
    new Seal([key], server.app.core.random).seal(text, context);
  const forged: Headers[] = [
    [[HEADER, KEY]],
    sessionOf(`${name}=x`),
    sessionOf(`${name}=${seal(OTHER_KEY, "sign-in")}`),
    sessionOf(`${name}=${seal(KEY, "session")}`),
    [["cookie", `${name}=${seal(KEY, "sign-in")}`]],
    sessionOf(cookie),
  ];
  for (const headers of forged) {
    const answer = await begin(server, { answer: "code=c&state=s" }, headers);
    assert.equal(codeOf(answer), "invalid_token");
    assert.deepEqual(valuesOf(answer, "set-cookie"), []);
  }
  // A browser has the key of its cookie, and can put any text into it.
  for (const text of ["", "x", "null", "1"]) {
    const own = sessionOf(`${name}=${seal(KEY, "sign-in", text)}`);
    assert.equal(codeOf(await begin(server, { answer: "code=c&state=s" }, own)), "invalid_token", text);
  }
  assert.equal(codeOf(await begin(server, { answer: "a", code: "c" }, forged[0]!)), "invalid_parameter");
  const without = await startApp(t);
  assert.equal(codeOf(await begin(without, { answer: "code=c&state=s" }, forged[0]!)), "route_not_found");
});

test("an outage of the identity provider is no failure of the address", async (t) => {
  const limits = { requestsPerSecond: 1000, failuresPerSecond: 1, failuresBurst: 2 };
  const openId = { issuer: "http://127.0.0.1:9", clientId: "parley", clientSecret: null };
  const now = Date.UTC(2026, 0, 1);
  const server = await startOn(t, { ...(await testConfig(t, limits)), openId }, { clock: () => now });
  const name = sent(await start(server, await server.user())).split("=")[0];
  const pending = '{"state":"s","nonce":"n","verifier":"v"}';
  const cookie = `${name}-sign-in=${new Seal([KEY], server.app.core.random).seal(pending, "sign-in")}`;
  const statusOf = async (headers: Headers) =>
    (await begin(server, { answer: "code=c&state=s" }, headers)).status;
  for (let i = 0; i < 4; i++) assert.equal(await statusOf(sessionOf(cookie)), 503);
  for (const status of [401, 401, 429]) assert.equal(await statusOf([[HEADER, KEY]]), status);
});
