import assert from "node:assert/strict";
import { resolve } from "node:path";
import { test } from "node:test";
import { type Config, isExposed, readConfig, unknownSettings } from "../../src/config/settings.ts";
import { OperatorError } from "../../src/errors.ts";

const SECRET = "s".repeat(32);
const OTHER_SECRET = "o".repeat(32);

type Value = string | number | boolean | null | string[];

interface Setting {
  read(config: Config): unknown;
  fallback: Value;
  form: string;
  good: [text: string, value: Value][];
  bad: string[];
}

const SETTINGS: Record<string, Setting> = {
  PARLEY_HOST: {
    read: (config) => config.host,
    fallback: "127.0.0.1",
    form: "a host name or IP address to listen on",
    good: [
      ["localhost", "localhost"],
      ["parley-1.internal", "parley-1.internal"],
      ["192.0.2.1", "192.0.2.1"],
      ["::1", "::1"],
    ],
    bad: [" ", "a b", "[::1]", "http://localhost", "localhost/", "hö.example", "a\nb"],
  },
  PARLEY_PORT: {
    read: (config) => config.port,
    fallback: 8080,
    form: "a port number from 0 (any free port) to 65535",
    good: [
      ["0", 0],
      ["1", 1],
      ["443", 443],
      ["65535", 65535],
    ],
    bad: ["65536", "100000", "-1", "+1", " 80", "80 ", "80a", "8080.0", "1e3", "0x50", "٨٠", "http"],
  },
  PARLEY_DATA: {
    read: (config) => config.dataFolder,
    fallback: resolve("data"),
    form: "a path to a folder",
    good: [
      ["/var/lib/parley", "/var/lib/parley"],
      // Behind a symbolic link ".." names another folder than the text says.
      ["/var/link/../parley", "/var/link/../parley"],
      ["some/where", resolve("some/where")],
      ["../up", resolve("../up")],
    ],
    bad: [],
  },
  PARLEY_PUBLIC_URL: {
    read: (config) => config.publicUrl,
    fallback: null,
    form: "the http(s) URL at which clients reach the server, without query or fragment",
    good: [
      ["https://parley.example", "https://parley.example"],
      ["https://parley.example/", "https://parley.example"],
      ["http://192.0.2.1:8080", "http://192.0.2.1:8080"],
      ["https://a.example/parley/", "https://a.example/parley"],
      ["HTTPS://Parley.Example:443//", "https://parley.example"],
    ],
    bad: [
      "parley.example",
      "//parley.example",
      "https://",
      "ftp://parley.example",
      "httpx://parley.example",
      "javascript:alert(1)",
      "https://parley.example/?a=b",
      "https://parley.example/#a",
      "https://ada@parley.example",
      "https://ada:secret@parley.example",
      "https://parley.example:99999",
    ],
  },
  PARLEY_SECRET: {
    read: (config) => config.secrets,
    fallback: [],
    form: "one or more secrets of at least 32 characters, separated by commas",
    good: [
      [SECRET, [SECRET]],
      [`${SECRET},${OTHER_SECRET}`, [SECRET, OTHER_SECRET]],
      [` ${OTHER_SECRET} , ${SECRET}\n`, [OTHER_SECRET, SECRET]],
    ],
    bad: [SECRET.slice(1), `${SECRET.slice(1)} `, `${SECRET},`, `,${SECRET}`, `${SECRET},short`, ",", " "],
  },
  PARLEY_MAX_FILE_SIZE: {
    read: (config) => config.limits.maxFileBytes,
    fallback: 104_857_600,
    form: "a size such as 100MiB, 5GB or 1048576 (bytes); 0 for no limit",
    good: [
      ["0", 0],
      ["1048576", 1_048_576],
      ["1MiB", 1_048_576],
      ["5GB", 5_000_000_000],
    ],
    bad: ["-1", "lots", "1.5GB", "100 Megabytes", "9999999TiB", "Infinity"],
  },
  PARLEY_USER_QUOTA: {
    read: (config) => config.limits.userQuotaBytes,
    fallback: 0,
    form: "a size such as 10GiB, for all files that a user has uploaded; 0 for no quota",
    good: [
      ["0", 0],
      ["10GiB", 10_737_418_240],
    ],
    bad: ["-1", "lots", "1.5GB", "none"],
  },
  PARLEY_MAX_CONTACTS: {
    read: (config) => config.limits.maxContacts,
    fallback: 0,
    form: "a whole number: how many contacts a user may have; 0 for no limit",
    good: [
      ["0", 0],
      ["100000", 100_000],
    ],
    bad: ["-1", "1.5", "1e3", "many", "9999999999"],
  },
  PARLEY_MAX_MEMBERS: {
    read: (config) => config.limits.maxMembers,
    fallback: 256,
    form: "a whole number from 2 to 1000: how many members a group may have, with those who are invited",
    good: [
      ["2", 2],
      ["1000", 1000],
    ],
    bad: ["0", "1", "00", "01", "1001", "-2", "2.5", "1e2", "all"],
  },
  PARLEY_RATE_LIMIT: {
    read: (config) => config.limits.requestsPerSecond,
    fallback: 500,
    form: "a whole number up to 1000000: requests per second for each token; 0 for no rate limits",
    good: [
      ["0", 0],
      ["1", 1],
      ["1000000", 1_000_000],
    ],
    bad: ["-1", "1000001", "10000000", "1.5", "1e3", "many", " 1", "0x10"],
  },
  PARLEY_TRUST_PROXY: {
    read: (config) => config.trustedProxies,
    fallback: [],
    form: "addresses and networks such as 10.0.0.5 or 10.0.0.0/8, separated by commas; loopback for this machine",
    good: [
      ["loopback", ["loopback"]],
      ["10.0.0.5", ["10.0.0.5"]],
      [" 10.0.0.0/8 , 2001:db8::/32,loopback,::1", ["10.0.0.0/8", "2001:db8::/32", "loopback", "::1"]],
    ],
    bad: [
      ...["true", "*", "1", "proxy.example", "10.0.0.5,", "10.0.0.5 10.0.0.6", "10.0.0", "010.0.0.5"],
      ...["0.0.0.0/0", "::/0", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/8/8", "10.0.0.0/255.0.0.0"],
      ...["2001:db8::/129", "[::1]", "fe80::1%eth0", "uniquelocal"],
    ],
  },
  PARLEY_MAX_TOKENS: {
    read: (config) => config.limits.maxTokens,
    fallback: 1000,
    form: "a whole number: how many unexpired tokens a user may have; 0 for no limit",
    good: [
      ["0", 0],
      ["5", 5],
      ["999999", 999_999],
    ],
    bad: ["-1", "1.5", "1e3", "1000000000", " 5", "many"],
  },
  PARLEY_MAX_WEBHOOKS: {
    read: (config) => config.limits.maxWebhooks,
    fallback: 20,
    form: "a whole number: how many webhooks a user may have; 0 for no limit",
    good: [
      ["0", 0],
      ["5", 5],
    ],
    bad: ["-1", "1.5", "many"],
  },
  PARLEY_WEBHOOKS_ALLOW_PRIVATE: {
    read: (config) => config.limits.webhooksAllowPrivate,
    fallback: false,
    form: "true (webhooks and push subscriptions may use http: and private addresses) or false",
    good: [
      ["true", true],
      ["false", false],
    ],
    bad: ["1", "yes", "TRUE", " true"],
  },
  PARLEY_WEBHOOK_CONTENT: {
    read: (config) => config.limits.webhookIdsOnly,
    fallback: false,
    form: "full or ids (webhooks of all users get only the ids of what changed)",
    good: [
      ["full", false],
      ["ids", true],
    ],
    bad: ["none", "id", "IDS", " ids"],
  },
  PARLEY_AUDIT_DAYS: {
    read: (config) => config.auditDays,
    fallback: 90,
    form: "a whole number: how many days to keep the audit trail; 0 for ever",
    good: [
      ["0", 0],
      ["365", 365],
    ],
    bad: ["-1", "0.5", "90d", "for ever"],
  },
  PARLEY_CORS_ORIGINS: {
    read: (config) => config.corsOrigins,
    fallback: [],
    form: "origins such as https://app.example.com, separated by commas, or * for all",
    good: [
      ["*", ["*"]],
      ["https://app.example", ["https://app.example"]],
      [" https://app.example ,http://localhost:3000", ["https://app.example", "http://localhost:3000"]],
    ],
    bad: [
      "app.example",
      "https://app.example/",
      "https://app.example/path",
      "https://App.example",
      "https://app.example:443",
      "https://app.example,",
      "https://a.example https://b.example",
      "null",
      "data:x",
      "true",
    ],
  },
  PARLEY_LOG_LEVEL: {
    read: (config) => config.logLevel,
    fallback: "info",
    form: "one of fatal, error, warn, info, debug, trace, silent",
    good: ["fatal", "error", "warn", "info", "debug", "trace", "silent"].map((level) => [level, level]),
    bad: ["INFO", "verbose", " info", "constructor"],
  },
};

for (const [name, { read, fallback, form, good, bad }] of Object.entries(SETTINGS)) {
  test(`${name} is ${JSON.stringify(fallback)} where it is unset or empty`, () => {
    assert.deepEqual(read(readConfig({})), fallback);
    assert.deepEqual(read(readConfig({ [name]: undefined })), fallback);
    assert.deepEqual(read(readConfig({ [name]: "" })), fallback);
  });

  for (const [text, value] of good) {
    test(`${name} may be ${JSON.stringify(text)}`, () =>
      assert.deepEqual(read(readConfig({ [name]: text })), value));
  }

  for (const text of bad) {
    test(`${name} may not be ${JSON.stringify(text)}, and the error says what it must be`, () => {
      assert.throws(
        () => readConfig({ [name]: text }),
        (error) => error instanceof OperatorError && error.message === `${name} must be ${form}.`,
      );
    });
  }
}

test("a setting changes nothing but itself", () => {
  const plain = readConfig({});
  for (const [name, { good }] of Object.entries(SETTINGS)) {
    const config = readConfig({ [name]: good[0]![0] });
    for (const [other, { read }] of Object.entries(SETTINGS)) {
      if (other !== name) assert.deepEqual(read(config), read(plain), `${name} changes ${other}`);
    }
  }
});

for (const host of ["0.0.0.0", "::", "0", "0.0", "0x0", "::0", "0:0:0:0:0:0:0:0", "::ffff:0.0.0.0"]) {
  test(`the host ${host} wants PARLEY_PUBLIC_URL, because links need an address`, () => {
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

test("an error of a setting does not repeat its value, which may be a secret", () => {
  assert.throws(
    () => readConfig({ PARLEY_SECRET: "hunter2" }),
    (error: Error) => !error.message.includes("hunter2"),
  );
});

const JWT = {
  PARLEY_JWT_ISSUER: "https://login.example/realm",
  PARLEY_JWT_AUDIENCE: "parley",
  PARLEY_JWT_JWKS_URL: "https://login.example/realm/keys?v=1",
};

test("signed tokens are taken where issuer, audience and key set are set, and only together", () => {
  assert.equal(readConfig({}).jwt, null);
  const [issuer, audience, keySetUrl] = Object.values(JWT);
  assert.deepEqual(readConfig(JWT).jwt, { issuer, audience, keySetUrl });
  for (const name of Object.keys(JWT)) {
    for (const env of [{ ...JWT, [name]: "" }, { [name]: JWT[name as keyof typeof JWT] }]) {
      assert.throws(
        () => readConfig(env),
        (error) => error instanceof OperatorError && /must be set together/.test(error.message),
      );
    }
  }
});

test("a key set is fetched over https, and on this machine also over http", () => {
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

test("all limits but those that can be switched off are always on", () => {
  const canBeOff = ["maxFileBytes", "userQuotaBytes", "maxContacts", "maxTokens", "maxWebhooks"];
  const { webhooksAllowPrivate, webhookIdsOnly, ...limits } = readConfig({
    PARLEY_MAX_FILE_SIZE: "0",
    PARLEY_MAX_TOKENS: "0",
  }).limits;
  assert.deepEqual([webhooksAllowPrivate, webhookIdsOnly], [false, false]);
  for (const [name, limit] of Object.entries(limits)) {
    assert.ok(Number.isSafeInteger(limit) && (limit > 0 || canBeOff.includes(name)), `${name} is ${limit}`);
  }
});

test("the settings cannot be changed once they are read", () => {
  assert.ok(Object.isFrozen(readConfig({})));
});

test("only variables that begin with PARLEY_ and are no settings are unknown", () => {
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
