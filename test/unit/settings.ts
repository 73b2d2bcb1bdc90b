// The settings with their defaults, what they accept, and valid and invalid values.
import { resolve } from "node:path";
import type { Config } from "../../src/config/settings.ts";

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

export const SETTINGS: Record<string, Setting> = {
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
      // After a symbolic link, ".." names another folder than the text suggests.
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
  PARLEY_MAX_FILES_PER_DAY: {
    read: (config) => config.limits.filesPerDay,
    fallback: 0,
    form: "a whole number: how many files a user may upload per day (UTC); 0 for no limit",
    good: [
      ["0", 0],
      ["500", 500],
    ],
    bad: ["-1", "many", "1.5", "1000000000"],
  },
  PARLEY_ALLOWED_TYPES: {
    read: (config) => config.limits.allowedTypes,
    fallback: [],
    form: "media types such as image/*,application/pdf, separated by commas",
    good: [
      ["image/*", ["image/*"]],
      [" Image/PNG , application/vnd.ms-excel", ["image/png", "application/vnd.ms-excel"]],
    ],
    bad: [
      "image",
      "*/*",
      "*",
      "image/",
      "image/p*",
      "/png",
      "image/*,",
      "image/png;q=1",
      "a/b/c",
      "im age/png",
    ],
  },
  PARLEY_REFUSED_TYPES: {
    read: (config) => config.limits.refusedTypes,
    fallback: [],
    form: "media types such as video/*,application/zip, separated by commas",
    good: [["video/*,application/zip", ["video/*", "application/zip"]]],
    bad: ["video", "*/*", ",video/*"],
  },
  PARLEY_SCAN: {
    read: (config) => config.scan?.address ?? null,
    fallback: null,
    form: "clamd://host:port, or an https URL (http only on this machine) to which files are posted",
    good: [
      ["https://scanner.example/scan?key=1", "https://scanner.example/scan?key=1"],
      ["http://127.0.0.1:9000/", "http://127.0.0.1:9000/"],
      ["http://localhost/scan", "http://localhost/scan"],
    ],
    bad: [
      ...["clamd", "clamd://", "clamd://host", "clamd://host:0", "clamd://host:65536", "clamd://a b:3310"],
      ...["clamd://user@host:3310", "clamd://host:3310/path", "clamd:///run/clamd.ctl", "CLAMD://host:3310"],
      ...["http://scanner.example/", "https://ada:secret@scanner.example/", "icap://host:1344/avscan"],
    ],
  },
  // The next four have no effect without a scanner.
  PARLEY_SCAN_AWAY: {
    read: () => null,
    fallback: null,
    form: "refuse (without the scanner, uploads are 503) or pass (files pass unscanned, with a mark)",
    good: [["pass", null]],
    bad: ["true", "Pass", "0"],
  },
  PARLEY_SCAN_MAX_SIZE: {
    read: () => null,
    fallback: null,
    form: "a size such as 25MiB; larger files pass unscanned, with a mark",
    good: [["25MiB", null]],
    bad: ["0", "-1", "lots", "1.5GB"],
  },
  PARLEY_SCAN_TIMEOUT: {
    read: () => null,
    fallback: null,
    form: "a whole number from 1 to 50: how many seconds a scan may take",
    good: [["50", null]],
    bad: ["0", "51", "1.5", "30s"],
  },
  PARLEY_MAX_SCANS: {
    read: () => null,
    fallback: null,
    form: "a whole number from 1 to 1000: how many scans one server runs at once",
    good: [["1000", null]],
    bad: ["0", "1001", "many"],
  },
  PARLEY_PREVIEWS: {
    read: (config) => config.previews?.folder ?? null,
    fallback: null,
    form: "a path to a folder of this server, for previews of pictures, which may be lost",
    good: [
      ["/var/cache/parley", "/var/cache/parley"],
      ["some/where", resolve("some/where")],
    ],
    bad: [],
  },
  // No effect without a folder.
  PARLEY_PREVIEW_CACHE_SIZE: {
    read: () => null,
    fallback: null,
    form: "a size such as 1GiB, from 1MiB: how many bytes of previews to keep",
    good: [["1MiB", null]],
    bad: ["0", "1048575", "-1", "lots", "1.5GB"],
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
  PARLEY_JWT_SECRET: {
    read: (config) => config.jwt?.secrets ?? [],
    fallback: [],
    form: "one or more secrets of at least 32 bytes, separated by commas; create one: openssl rand -base64 33",
    good: [
      [SECRET, [SECRET]],
      [` ${SECRET} , ${OTHER_SECRET}`, [SECRET, OTHER_SECRET]],
      [`é${"s".repeat(30)}`, [`é${"s".repeat(30)}`]],
    ],
    bad: [
      ...["s".repeat(31), `${SECRET},`, ",", `${SECRET},short`, " ".repeat(40)],
      `-----BEGIN PUBLIC KEY-----${SECRET}`,
    ],
  },
  PARLEY_JWT_PUBLIC_KEY: {
    read: (config) => config.jwt?.publicKey?.algorithm ?? null,
    fallback: null,
    form: "a public key as PEM or JWK: RSA of at least 2048 bits (RS256), P-256 (ES256) or Ed25519 (EdDSA)",
    // The examples of RFC 7517 and RFC 8037.
    good: [
      [
        '{"kty":"EC","crv":"P-256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}',
        "ES256",
      ],
      [
        ' {"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","use":"sig","alg":"EdDSA"}',
        "EdDSA",
      ],
    ],
    bad: [
      ...["-----BEGIN PUBLIC KEY-----", "{}", "key", "null", "[]"],
      '{"kty":"oct","k":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}',
    ],
  },
  PARLEY_JWT_LINK_USERNAMES: {
    read: (config) => config.jwt?.linksUsernames ?? false,
    fallback: false,
    form: "true (the first token with the username of a user who has no identity signs in as this user) or false",
    good: [["false", false]],
    bad: ["yes", "1", "TRUE"],
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
