import { OperatorError } from "../errors.ts";
import {
  isLoopback,
  isWildcard,
  parseKeySetUrl,
  parseOrigin,
  parseOrigins,
  parseProxies,
  toHttpUrl,
} from "../util/addresses.ts";
import { MIN_SECRET_LENGTH, parseSecrets } from "../util/data-folder.ts";
import { parseCount } from "../util/sizes.ts";
import {
  FILE_SETTINGS,
  type PreviewSettings,
  readPreviews,
  readScan,
  type ScanSettings,
} from "./file-settings.ts";
import { JWT_SETTINGS, type JwtSettings, readJwt } from "./jwt-settings.ts";
import { LIMITS, type Limits } from "./limits.ts";
import {
  parseClaim,
  parseDatabaseUrl,
  parseFlag,
  parseFolder,
  parseHost,
  parseNumber,
  parseStore,
  type S3Settings,
} from "./parse.ts";
import { type Environment, read, type Setting } from "./setting.ts";

const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;

/** How the console is registered at the identity provider. */
export interface OpenIdSettings {
  issuer: string;
  clientId: string;
  /** Null for a public client. */
  clientSecret: string | null;
}

/** A person whom the page /hello shows: their name and token, and the username of whom they talk to. */
export interface HelloPerson {
  name: string;
  token: string;
  other: string;
}

export interface Config {
  host: string;
  /** 0: any free port. */
  port: number;
  /** Absolute path. */
  dataFolder: string;
  /** The URL of PostgreSQL; null: SQLite in the data folder. */
  databaseUrl: string | null;
  /** Null: files in the data folder. */
  store: S3Settings | null;
  /** Whether the server is ready while the storage is full. */
  isReadyWhenFull: boolean;
  /** Whether `file_url` of a file in S3 redirects to it. */
  redirectFiles: boolean;
  /** Without a trailing slash; null: built from host and port. */
  publicUrl: string | null;
  /** The first signs links, all verify them; empty: one is created in the data folder. */
  secrets: readonly string[];
  /** Proxies whose X-Forwarded-For is trusted. */
  trustedProxies: readonly string[];
  /** Origins whose pages may call the API; "*" for all. */
  corsOrigins: readonly string[];
  /** Null: signed tokens are not accepted. */
  jwt: JwtSettings | null;
  /** Null: the console offers no sign-in at the identity provider. */
  openId: OpenIdSettings | null;
  /** Null: files are not scanned. */
  scan: ScanSettings | null;
  /** Null: no previews of pictures are made. */
  previews: PreviewSettings | null;
  /** How many days to keep the audit trail; 0: for ever. */
  auditDays: number;
  /** Only `parley dev` has any; nobody: there is no page /hello. */
  hello: readonly HelloPerson[];
  logLevel: (typeof LOG_LEVELS)[number];
  limits: Limits;
}

const SETTINGS = {
  host: {
    name: "PARLEY_HOST",
    accepts: "a host name or IP address to listen on",
    fallback: "127.0.0.1",
    parse: parseHost,
  },
  port: {
    name: "PARLEY_PORT",
    accepts: "a port number from 0 (any free port) to 65535",
    fallback: "8080",
    parse: (text) => parseNumber(text, 65_535),
  },
  dataFolder: {
    name: "PARLEY_DATA",
    accepts: "a path to a folder",
    fallback: "./data",
    parse: parseFolder,
  },
  databaseUrl: {
    name: "PARLEY_DATABASE_URL",
    accepts:
      "a URL with one host, such as postgres://user:password@host:5432/database. For a failover, name an address that follows the primary",
    fallback: "",
    unset: "the SQLite database in the data folder",
    parse: parseDatabaseUrl,
  },
  store: {
    name: "PARLEY_STORE",
    accepts:
      "a URL such as s3://bucket?endpoint=https://host&region=us-east-1&path_style=true; everything except the bucket is optional",
    fallback: "",
    unset: "files in the data folder",
    parse: parseStore,
  },
  isReadyWhenFull: {
    name: "PARLEY_READY_WHEN_FULL",
    accepts: "true or false: whether `/readyz` is 200 while the storage is full, when reads still work",
    fallback: "true",
    parse: parseFlag("false", "true"),
  },
  redirectFiles: {
    name: "PARLEY_FILES",
    accepts: "proxy (the server sends files of an S3 store) or redirect (clients fetch them from the store)",
    fallback: "proxy",
    parse: parseFlag("proxy", "redirect"),
  },
  publicUrl: {
    name: "PARLEY_PUBLIC_URL",
    accepts: "the http(s) URL at which clients reach the server, without query or fragment",
    fallback: "",
    unset: "built from host and port; required if the host is a wildcard such as 0.0.0.0",
    parse: (text) => (text === "" ? null : parseOrigin(text)),
  },
  secrets: {
    name: "PARLEY_SECRET",
    accepts: `one or more secrets of at least ${MIN_SECRET_LENGTH} characters, separated by commas`,
    fallback: "",
    unset: "created at the first start in the data folder; required with `PARLEY_DATABASE_URL`",
    parse: parseSecrets,
  },
  ...FILE_SETTINGS,
  maxContacts: {
    name: "PARLEY_MAX_CONTACTS",
    accepts: "a whole number: how many contacts a user may have; 0 for no limit",
    fallback: "0",
    parse: parseCount,
  },
  maxMembers: {
    name: "PARLEY_MAX_MEMBERS",
    accepts: "a whole number from 2 to 1000: how many members a group may have, with those who are invited",
    fallback: "256",
    parse: (text) => (/^0*[01]$/.test(text) ? undefined : parseNumber(text, 1000)),
  },
  eventDays: {
    name: "PARLEY_EVENT_DAYS",
    accepts: "a whole number from 1 to 3650: how many days to keep events",
    fallback: "7",
    parse: (text) => (text.startsWith("0") ? undefined : parseNumber(text, 3650)),
  },
  maxTokens: {
    name: "PARLEY_MAX_TOKENS",
    accepts: "a whole number: how many unexpired tokens a user may have; 0 for no limit",
    fallback: "1000",
    parse: parseCount,
  },
  maxWebhooks: {
    name: "PARLEY_MAX_WEBHOOKS",
    accepts: "a whole number: how many webhooks a user may have; 0 for no limit",
    fallback: "20",
    parse: parseCount,
  },
  webhooksAllowPrivate: {
    name: "PARLEY_WEBHOOKS_ALLOW_PRIVATE",
    accepts: "true (webhooks and push subscriptions may use http: and private addresses) or false",
    fallback: "false",
    parse: parseFlag("false", "true"),
  },
  webhookIdsOnly: {
    name: "PARLEY_WEBHOOK_CONTENT",
    accepts: "full or ids (webhooks of all users get only the ids of what changed)",
    fallback: "full",
    parse: parseFlag("full", "ids"),
  },
  auditDays: {
    name: "PARLEY_AUDIT_DAYS",
    accepts: "a whole number: how many days to keep the audit trail; 0 for ever",
    fallback: "90",
    parse: parseCount,
  },
  requestsPerSecond: {
    name: "PARLEY_RATE_LIMIT",
    accepts: "a whole number up to 1000000: requests per second for each token; 0 for no rate limits",
    fallback: "500",
    parse: (text) => parseNumber(text, 1_000_000),
  },
  messagesPerMinute: {
    name: "PARLEY_MESSAGE_LIMIT",
    accepts:
      "a whole number up to 1000000: messages that a user may send to others per minute; 0 for no limit",
    fallback: "600",
    parse: (text) => parseNumber(text, 1_000_000),
  },
  trustedProxies: {
    name: "PARLEY_TRUST_PROXY",
    accepts:
      "addresses and networks such as 10.0.0.5 or 10.0.0.0/8, separated by commas; loopback for this machine",
    fallback: "",
    unset: "none: the client is the peer of the connection",
    parse: parseProxies,
  },
  corsOrigins: {
    name: "PARLEY_CORS_ORIGINS",
    accepts: "origins such as https://app.example.com, separated by commas, or * for all",
    fallback: "",
    unset: "none",
    parse: parseOrigins,
  },
  ...JWT_SETTINGS,
  oidcClientId: {
    name: "PARLEY_OIDC_CLIENT_ID",
    accepts: "the client id of the console at the identity provider: a string of 1 to 255 characters",
    fallback: "",
    unset: "none: the console offers no sign-in at the provider",
    parse: parseClaim,
  },
  oidcClientSecret: {
    name: "PARLEY_OIDC_CLIENT_SECRET",
    accepts: "the client secret: a string of 1 to 255 characters",
    fallback: "",
    unset: "none: the console is a public client",
    parse: parseClaim,
  },
  logLevel: {
    name: "PARLEY_LOG_LEVEL",
    accepts: `one of ${LOG_LEVELS.join(", ")}`,
    fallback: "info",
    parse: (text) => LOG_LEVELS.find((level) => level === text),
  },
} satisfies Record<string, Setting<unknown>>;

/** Reads the settings, all optional; an empty variable counts as unset. Throws `OperatorError`, naming the variable and the form it must have. */
export function readConfig(env: Environment): Config {
  const config: Config = {
    host: read(SETTINGS.host, env),
    port: read(SETTINGS.port, env),
    dataFolder: read(SETTINGS.dataFolder, env),
    databaseUrl: read(SETTINGS.databaseUrl, env),
    store: read(SETTINGS.store, env),
    isReadyWhenFull: read(SETTINGS.isReadyWhenFull, env),
    redirectFiles: read(SETTINGS.redirectFiles, env),
    publicUrl: read(SETTINGS.publicUrl, env),
    secrets: read(SETTINGS.secrets, env),
    trustedProxies: read(SETTINGS.trustedProxies, env),
    corsOrigins: read(SETTINGS.corsOrigins, env),
    jwt: readJwt(env),
    openId: readOpenId(env),
    scan: readScan(env),
    previews: readPreviews(env),
    auditDays: read(SETTINGS.auditDays, env),
    hello: [],
    logLevel: read(SETTINGS.logLevel, env),
    limits: {
      ...LIMITS,
      maxFileBytes: read(FILE_SETTINGS.maxFileBytes, env),
      userQuotaBytes: read(FILE_SETTINGS.userQuotaBytes, env),
      filesPerDay: read(FILE_SETTINGS.filesPerDay, env),
      allowedTypes: read(FILE_SETTINGS.allowedTypes, env),
      refusedTypes: read(FILE_SETTINGS.refusedTypes, env),
      maxUploads: read(FILE_SETTINGS.maxUploads, env),
      uploadHours: read(FILE_SETTINGS.uploadHours, env),
      minAppendBytes: read(FILE_SETTINGS.minAppendBytes, env),
      informsOfUploads: read(FILE_SETTINGS.informsOfUploads, env),
      maxContacts: read(SETTINGS.maxContacts, env),
      maxMembers: read(SETTINGS.maxMembers, env),
      eventDays: read(SETTINGS.eventDays, env),
      requestsPerSecond: read(SETTINGS.requestsPerSecond, env),
      messagesPerMinute: read(SETTINGS.messagesPerMinute, env),
      maxTokens: read(SETTINGS.maxTokens, env),
      maxWebhooks: read(SETTINGS.maxWebhooks, env),
      webhooksAllowPrivate: read(SETTINGS.webhooksAllowPrivate, env),
      webhookIdsOnly: read(SETTINGS.webhookIdsOnly, env),
    },
  };
  if (config.publicUrl === null && isWildcard(config.host)) {
    throw new OperatorError(
      `PARLEY_PUBLIC_URL must be set if PARLEY_HOST is ${config.host}: links to files need an address that clients can reach.`,
    );
  }
  if (config.databaseUrl !== null && config.secrets.length === 0) {
    throw new OperatorError(
      `PARLEY_SECRET must be set with PARLEY_DATABASE_URL: all servers of a database sign links with the same secret. Create one: openssl rand -base64 33.`,
    );
  }
  if (config.redirectFiles && config.store === null) {
    throw new OperatorError("PARLEY_FILES=redirect needs an S3 store: set PARLEY_STORE.");
  }
  return Object.freeze(config);
}

/** Returns the address of a server with these settings, as seen from its own machine. */
export function localUrl(env: Environment): string {
  const host = read(SETTINGS.host, env);
  return toHttpUrl(isWildcard(host) ? "127.0.0.1" : host, read(SETTINGS.port, env));
}

function readOpenId(env: Environment): OpenIdSettings | null {
  const clientId = read(SETTINGS.oidcClientId, env);
  if (clientId === null) return null;
  const issuer = read(SETTINGS.jwtIssuer, env);
  if (issuer === null || !parseKeySetUrl(issuer)) {
    throw new OperatorError(
      "PARLEY_OIDC_CLIENT_ID needs PARLEY_JWT_ISSUER with the https URL of the identity provider.",
    );
  }
  return { issuer, clientId, clientSecret: read(SETTINGS.oidcClientSecret, env) };
}

/** Returns the reference of the settings as a Markdown table. */
export function settingsReference(): string {
  const all: Setting<unknown>[] = Object.values(SETTINGS);
  const rows = all.map(
    ({ name, accepts, fallback, unset }) => `| \`${name}\` | ${unset ?? `\`${fallback}\``} | ${accepts} |`,
  );
  return ["| variable | default | what it must be |", "|---|---|---|", ...rows].join("\n");
}

/** Variables that the command line, the docs and the tests use. */
const OTHERS = /^PARLEY_(?:(?:TOKEN|URL)$|TEST_)/;

/** Returns the variables that begin with `PARLEY_` but are not settings: likely misspelled. */
export function unknownSettings(env: Environment): string[] {
  const known = new Set(Object.values(SETTINGS).map((each) => each.name));
  return Object.keys(env).filter(
    (name) => name.startsWith("PARLEY_") && !known.has(name) && !OTHERS.test(name),
  );
}

/** Reports whether clients connect unencrypted: not on loopback, and without a TLS proxy in front. */
export function isExposed(config: Config): boolean {
  return !isLoopback(config.host) && !config.publicUrl?.startsWith("https:");
}
