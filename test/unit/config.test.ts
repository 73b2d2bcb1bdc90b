import assert from "node:assert/strict";
import { test } from "node:test";
import { isExposed, readConfig, unknownSettings } from "../../src/config/settings.ts";
import { OperatorError } from "../../src/errors.ts";
import { SETTINGS } from "./settings.ts";

for (const [name, { read, fallback, form, good, bad }] of Object.entries(SETTINGS)) {
  test(`${name} defaults to ${JSON.stringify(fallback)} when unset or empty`, () => {
    assert.deepEqual(read(readConfig({})), fallback);
    assert.deepEqual(read(readConfig({ [name]: undefined })), fallback);
    assert.deepEqual(read(readConfig({ [name]: "" })), fallback);
  });

  for (const [text, value] of good) {
    test(`${name} accepts ${JSON.stringify(text)}`, () =>
      assert.deepEqual(read(readConfig({ [name]: text })), value));
  }

  for (const text of bad) {
    test(`${name} refuses ${JSON.stringify(text)}, and the error says what it accepts`, () => {
      assert.throws(
        () => readConfig({ [name]: text }),
        (error) => error instanceof OperatorError && error.message === `${name} must be ${form}.`,
      );
    });
  }
}

test("a setting changes nothing but its own value", () => {
  const plain = readConfig({});
  for (const [name, { good }] of Object.entries(SETTINGS)) {
    const config = readConfig({ [name]: good[0]![0] });
    for (const [other, { read }] of Object.entries(SETTINGS)) {
      if (other !== name) assert.deepEqual(read(config), read(plain), `${name} changes ${other}`);
    }
  }
});

for (const host of ["0.0.0.0", "::", "0", "0.0", "0x0", "::0", "0:0:0:0:0:0:0:0", "::ffff:0.0.0.0"]) {
  test(`the host ${host} requires PARLEY_PUBLIC_URL, because links need an address`, () => {
    for (const PARLEY_PUBLIC_URL of [undefined, ""]) {
      assert.throws(
        () => readConfig({ PARLEY_HOST: host, PARLEY_PUBLIC_URL }),
        (error) => {
          assert.ok(error instanceof OperatorError);
          assert.ok(error.message.startsWith(`PARLEY_PUBLIC_URL must be set if PARLEY_HOST is ${host}`));
          return true;
        },
      );
    }
    const config = readConfig({ PARLEY_HOST: host, PARLEY_PUBLIC_URL: "https://parley.example" });
    assert.deepEqual([config.host, config.publicUrl], [host, "https://parley.example"]);
  });
}

const EXPOSED: [host: string, publicUrl: string, exposed: boolean][] = [
  ["127.0.0.1", "", false],
  ["127.1.2.3", "", false],
  ["localhost", "http://parley.example", false],
  ["LOCALHOST", "", false],
  ["::1", "", false],
  ["192.0.2.1", "", true],
  ["parley.internal", "", true],
  ["127.0.0.1.example", "", true],
  ["localhost.example", "", true],
  ["notlocalhost", "", true],
  ["0.0.0.0", "http://parley.example", true],
  ["0.0.0.0", "https://parley.example", false],
  ["192.0.2.1", "https://parley.example", false],
];

for (const [host, url, exposed] of EXPOSED) {
  test(`the host ${host} at ${url || "its own address"} is ${exposed ? "exposed" : "not exposed"}`, () =>
    assert.equal(isExposed(readConfig({ PARLEY_HOST: host, PARLEY_PUBLIC_URL: url })), exposed));
}

test("an error about a setting does not contain its value, which may be secret", () => {
  for (const name of ["PARLEY_SECRET", "PARLEY_JWT_SECRET", "PARLEY_JWT_PUBLIC_KEY"])
    assert.throws(
      () => readConfig({ [name]: "hunter2" }),
      (error: Error) => !error.message.includes("hunter2"),
    );
});

const JWT = {
  PARLEY_JWT_ISSUER: "https://login.example/realm",
  PARLEY_JWT_AUDIENCE: "parley",
  PARLEY_JWT_JWKS_URL: "https://login.example/realm/keys?v=1",
};

test("signed tokens need issuer, audience and key set together", () => {
  assert.equal(readConfig({}).jwt, null);
  const [issuer, audience, keySetUrl] = Object.values(JWT);
  const others = { secrets: [], publicKey: null, linksUsernames: false };
  assert.deepEqual(readConfig(JWT).jwt, { issuer, audience, keySetUrl, ...others });
  for (const name of Object.keys(JWT)) {
    for (const env of [{ ...JWT, [name]: "" }, { [name]: JWT[name as keyof typeof JWT] }]) {
      assert.throws(
        () => readConfig(env),
        (error) => error instanceof OperatorError && /must be set together/.test(error.message),
      );
    }
  }
});

test("with a secret, issuer and audience are optional, but not with a key set", () => {
  const PARLEY_JWT_SECRET = "s".repeat(32);
  const { PARLEY_JWT_ISSUER, PARLEY_JWT_AUDIENCE, PARLEY_JWT_JWKS_URL } = JWT;
  for (const claims of [{}, { PARLEY_JWT_ISSUER }, { PARLEY_JWT_AUDIENCE }, JWT]) {
    const { jwt } = readConfig({ PARLEY_JWT_SECRET, ...claims });
    const { PARLEY_JWT_ISSUER: issuer = null, PARLEY_JWT_AUDIENCE: audience = null } = claims as Partial<
      typeof JWT
    >;
    assert.deepEqual([jwt?.issuer, jwt?.audience], [issuer, audience]);
  }
  for (const claims of [{}, { PARLEY_JWT_ISSUER }, { PARLEY_JWT_AUDIENCE }])
    assert.throws(
      () => readConfig({ PARLEY_JWT_SECRET, PARLEY_JWT_JWKS_URL, ...claims }),
      /must be set together/,
    );
  assert.equal(readConfig({ PARLEY_JWT_LINK_USERNAMES: "true" }).jwt, null);
  assert.equal(
    readConfig({ PARLEY_JWT_SECRET, PARLEY_JWT_LINK_USERNAMES: "true" }).jwt?.linksUsernames,
    true,
  );
});

test("a database has one host", () => {
  const read = (url: string) => readConfig({ PARLEY_DATABASE_URL: url, PARLEY_SECRET: "s".repeat(32) });
  for (const url of ["postgres://ada:secret@db:5432/parley", "postgresql:///parley?host=/run/postgresql"])
    assert.equal(read(url).databaseUrl, url);
  for (const url of [
    "mysql://db/parley",
    "postgres://a,b/parley",
    "postgres://a:1,b:2/parley",
    "postgres:///p?host=a,b",
  ])
    assert.throws(() => read(url), /PARLEY_DATABASE_URL must be a URL with one host/, url);
});

test("a key set is fetched over https, or over http on loopback", () => {
  for (const url of ["http://127.0.0.1:8000/keys", "http://localhost/keys", "http://[::1]:1/keys"]) {
    assert.equal(readConfig({ ...JWT, PARLEY_JWT_JWKS_URL: url }).jwt?.keySetUrl, url);
  }
  const bad = [
    "http://login.example/keys",
    "ftp://login.example",
    "login.example",
    "data:,{}",
    "file:///keys",
  ];
  for (const url of [...bad, "https://ada:secret@login.example/keys", "http://127.0.0.1.example/"]) {
    assert.throws(() => readConfig({ ...JWT, PARLEY_JWT_JWKS_URL: url }), /PARLEY_JWT_JWKS_URL must be/, url);
  }
  for (const text of ["a\nb", " parley", "x".repeat(256)]) {
    assert.throws(() => readConfig({ ...JWT, PARLEY_JWT_AUDIENCE: text }), /PARLEY_JWT_AUDIENCE must be/);
    assert.throws(() => readConfig({ ...JWT, PARLEY_JWT_ISSUER: text }), /PARLEY_JWT_ISSUER must be/);
  }
});

test("a scanner has an address, and limits from other settings", () => {
  const address = { host: "clamav.internal", port: 3310 };
  const PARLEY_SCAN = "clamd://clamav.internal:3310";
  const usual = { address, passUnscanned: false, maxBytes: 104_857_600, timeoutMs: 30_000, atOnce: 10 };
  assert.deepEqual(readConfig({ PARLEY_SCAN }).scan, usual);
  assert.deepEqual(readConfig({ PARLEY_SCAN: "clamd://[::1]:3310" }).scan?.address, {
    host: "::1",
    port: 3310,
  });
  assert.equal(readConfig({ PARLEY_SCAN, PARLEY_MAX_FILE_SIZE: "1MB" }).scan?.maxBytes, 1_000_000);
  const set = {
    ...{ PARLEY_SCAN_AWAY: "pass", PARLEY_SCAN_MAX_SIZE: "2MB" },
    ...{ PARLEY_SCAN_TIMEOUT: "5", PARLEY_MAX_SCANS: "3" },
  };
  assert.deepEqual(readConfig({ PARLEY_SCAN, PARLEY_MAX_FILE_SIZE: "0", ...set }).scan, {
    ...{ address, passUnscanned: true, maxBytes: 2_000_000, timeoutMs: 5000, atOnce: 3 },
  });
  assert.throws(
    () => readConfig({ PARLEY_SCAN, PARLEY_MAX_FILE_SIZE: "0" }),
    /PARLEY_SCAN_MAX_SIZE must be set if PARLEY_MAX_FILE_SIZE is 0/,
  );
});

test("previews have a folder and a size", () => {
  const PARLEY_PREVIEWS = "/var/cache/parley";
  const usual = { folder: PARLEY_PREVIEWS, maxBytes: 1_073_741_824 };
  assert.deepEqual(readConfig({ PARLEY_PREVIEWS }).previews, usual);
  const small = readConfig({ PARLEY_PREVIEWS, PARLEY_PREVIEW_CACHE_SIZE: "2MB" }).previews;
  assert.deepEqual(small, { ...usual, maxBytes: 2_000_000 });
  assert.equal(readConfig({ PARLEY_PREVIEW_CACHE_SIZE: "2MB" }).previews, null);
});

test("every limit is on unless its setting can switch it off", () => {
  const canBeOff = [
    ...["maxFileBytes", "userQuotaBytes", "filesPerDay", "maxContacts", "maxTokens", "maxWebhooks"],
    "minAppendBytes",
  ];
  const { limits: all } = readConfig({ PARLEY_MAX_FILE_SIZE: "0", PARLEY_MAX_TOKENS: "0" });
  const { webhooksAllowPrivate, webhookIdsOnly, informsOfUploads, ...others } = all;
  assert.deepEqual([webhooksAllowPrivate, webhookIdsOnly, informsOfUploads], [false, false, false]);
  const { allowedTypes, refusedTypes, ...limits } = others;
  assert.deepEqual([allowedTypes, refusedTypes], [[], []]);
  for (const [name, limit] of Object.entries(limits)) {
    assert.ok(Number.isSafeInteger(limit) && (limit > 0 || canBeOff.includes(name)), `${name} is ${limit}`);
  }
});

test("the settings are frozen once read", () => {
  assert.ok(Object.isFrozen(readConfig({})));
});

test("only PARLEY_ variables that are not settings are reported as unknown", () => {
  const known = Object.fromEntries(Object.keys(SETTINGS).map((name) => [name, "x"]));
  assert.deepEqual(
    unknownSettings({ ...known, PATH: "/bin", HOME: "/root", XPARLEY_PORT: "1", parley_port: "1" }),
    [],
  );
  assert.deepEqual(
    unknownSettings({ ...known, PARLEY_PROT: "80", PATH: "/bin", PARLEY_: "", PARLEY_PORTS: "1" }),
    ["PARLEY_PROT", "PARLEY_", "PARLEY_PORTS"],
  );
});
