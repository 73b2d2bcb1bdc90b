// What the claims scope and scp of a JWT allow.
import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULT_SCOPES } from "../../../src/core/people/tokens.ts";
import { fileScope, startOn, testConfig } from "../../support/app.ts";
import { AUDIENCE, ISSUER, makeKey, ownSettings, signJwt } from "../../support/identity-provider.ts";

const key = makeKey("HS256", "a");
const scope = fileScope();
const open = async () => startOn(scope, { ...(await testConfig(scope)), jwt: ownSettings(key) });
let server: ReturnType<typeof open> | undefined;

async function ask(path: string, claims: object, init: RequestInit = {}): Promise<Response> {
  server ??= open();
  const exp = Date.now() / 1000 + 600;
  const token = signJwt(key, { iss: ISSUER, aud: AUDIENCE, sub: "ada", exp, ...claims });
  return fetch((await server).url + path, { ...init, headers: { authorization: `Bearer ${token}` } });
}

const ALL = [...DEFAULT_SCOPES];
const CASES: [name: string, claims: object, scopes: string[]][] = [
  ["no claim", {}, ALL],
  ["the names in scope", { scope: "contacts:read messages:write" }, ["contacts:read", "messages:write"]],
  ["the names in scp, a text", { scp: "contacts:read messages:write" }, ["contacts:read", "messages:write"]],
  ["the names in scp, an array", { scp: ["openid", "contacts:read"] }, ["contacts:read"]],
  [
    "names after the address of the API",
    { scp: "api://parley/contacts:read https://x/y/messages:read" },
    ["contacts:read", "messages:read"],
  ],
  ["scope wins over scp", { scope: "contacts:read", scp: "messages:read" }, ["contacts:read"]],
  ["names of others only", { scope: "openid profile email" }, []],
  ["names of others only, in scp", { scp: ["User.Read", "offline_access"] }, []],
  ["an empty scope", { scope: "" }, []],
  ["an empty scope beside scp", { scope: "", scp: "contacts:read" }, []],
  ["an empty scp", { scp: "" }, []],
  ["an empty array", { scp: [] }, []],
  ["admin", { scope: "admin" }, []],
  ["admin and act_as beside another", { scope: "admin act_as contacts:read" }, ["contacts:read"]],
  ["admin after an address", { scp: ["api://parley/admin", "api://parley/act_as"] }, []],
  ["names in another case", { scope: "Contacts:Read CONTACTS:WRITE" }, []],
  ["names with more around them", { scope: "contacts:read2 xcontacts:read contacts:read/ contacts:*" }, []],
  ["names separated by other characters", { scope: "contacts:read,messages:read contacts:write\tadmin" }, []],
];

interface Profile {
  scopes: string[];
  display_name: string;
}

for (const [name, claims, scopes] of CASES) {
  test(`a JWT with ${name} has ${scopes.length === ALL.length ? "all" : scopes.length} scopes`, async () => {
    const me = (await (await ask("/v1/me", claims)).json()) as Profile;
    assert.deepEqual(me.scopes.toSorted(), scopes.toSorted());
    const body = new URLSearchParams({ display_name: name });
    const changed = await ask("/v1/me", claims, { method: "PUT", body });
    assert.deepEqual([changed.status, ((await changed.json()) as Profile).display_name], [200, name]);
    for (const [path, needed] of [
      ["/v1/contacts", "contacts:read"],
      ["/v1/messages?q=a", "messages:read"],
      ["/v1/users", "admin"],
    ] as const) {
      const response = await ask(path, claims);
      const { code } = (await response.json()) as { code?: string };
      const expected = scopes.includes(needed) ? [200, undefined] : [403, "insufficient_scope"];
      assert.deepEqual([response.status, code], expected, path);
    }
  });
}
