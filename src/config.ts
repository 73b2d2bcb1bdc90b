import { isAbsolute, resolve } from "node:path";
import { OperatorError } from "./errors.ts";
import {
  isLoopback,
  isWildcard,
  parseKeySetUrl,
  parseOrigin,
  parseOrigins,
  parseProxies,
} from "./util/addresses.ts";
import { MIN_SECRET_LENGTH, parseSecrets } from "./util/data-folder.ts";
import { parseCount, parseSize } from "./util/sizes.ts";
import { isCleanText } from "./util/text.ts";

const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;

/** Bounds on what comes from outside. The names carry the units. */
export interface Limits {
  /** Of a token, with twice as many at once; 0: no rate is limited. */
  requestsPerSecond: number;
  /** How often a client's address may come with tokens and links that are not valid. */
  failuresPerSecond: number;
  /** The same at once. */
  failuresBurst: number;
  /** 0: none. */
  maxFileBytes: number;
  /** Of all files that a user has uploaded; 0: none. */
  userQuotaBytes: number;
  /** A user's; 0: any number. */
  maxContacts: number;
  /** For how long events are kept. */
  eventDays: number;
  maxBodyBytes: number;
  maxHeaderBytes: number;
  maxPartHeaderBytes: number;
  headersTimeoutMs: number;
  /** How long a body may pause. */
  bodyIdleTimeoutMs: number;
  /** The mean rate that a body must keep after its first idle time. */
  minBodyBytesPerSecond: number;
  keepAliveTimeoutMs: number;
  /** How long a connection may be silent in both directions while an answer is under way. */
  socketIdleTimeoutMs: number;
  /** Streams of events that a user may have open. */
  eventListenersPerUser: number;
  /** How often a stream of events says that it lives. */
  eventHeartbeatMs: number;
  /** How long one may take to be read, before it is cut. */
  eventStallMs: number;
  /** How long a stop waits for what runs. */
  shutdownTimeoutMs: number;
  /** How many tokens that have not expired a user may have; 0: any number. */
  maxTokens: number;
  /** A user's; 0: any number. */
  maxWebhooks: number;
  /** Whether webhooks may lead to addresses that are not public, and by `http:`. */
  webhooksAllowPrivate: boolean;
  /** How long an attempt to deliver may take, from the look-up of the name to the end of the answer. */
  webhookTimeoutMs: number;
}

/** Where an S3 store is. Credentials come from the AWS variables. */
export interface S3Settings {
  bucket: string;
  /** Null: that of AWS. */
  endpoint: string | null;
  region: string;
  /** Whether the bucket stands in the path, not in the host name. */
  pathStyle: boolean;
}

/** Whose signed tokens (JWT) are taken. */
export interface JwtSettings {
  issuer: string;
  audience: string;
  /** Where the provider's public keys are. */
  keySetUrl: string;
}

export interface Config {
  host: string;
  /** 0: any free port. */
  port: number;
  /** Absolute path. */
  dataFolder: string;
  /** Of PostgreSQL; null: SQLite in the data folder. */
  databaseUrl: string | null;
  /** Null: files in the data folder. */
  store: S3Settings | null;
  /** Whether `file_url` of a file in S3 redirects to it. */
  redirectFiles: boolean;
  /** Without a slash at its end; null: made of host and port. */
  publicUrl: string | null;
  /** The first signs links, all verify them; empty: one is made and kept in the data folder. */
  secrets: readonly string[];
  /** Proxies whose X-Forwarded-For tells the address of a client; empty: none. */
  trustedProxies: readonly string[];
  /** Origins whose pages may call the API; "*" for all; empty: none. */
  corsOrigins: readonly string[];
  /** Null: signed tokens are not taken. */
  jwt: JwtSettings | null;
  /** How long the audit trail is kept; 0: for ever. */
  auditDays: number;
  logLevel: (typeof LOG_LEVELS)[number];
  limits: Limits;
}

const DEFAULT_MAX_FILE_SIZE = "100MiB";

/** Those that no setting changes. */
const LIMITS = {
  failuresPerSecond: 10,
  failuresBurst: 100,
  maxBodyBytes: 64 * 1024,
  maxHeaderBytes: 16 * 1024,
  maxPartHeaderBytes: 8 * 1024,
  headersTimeoutMs: 15_000,
  bodyIdleTimeoutMs: 30_000,
  minBodyBytesPerSecond: 256,
  keepAliveTimeoutMs: 72_000,
  socketIdleTimeoutMs: 120_000,
  eventListenersPerUser: 20,
  eventHeartbeatMs: 15_000,
  eventStallMs: 30_000,
  webhookTimeoutMs: 15_000,
  shutdownTimeoutMs: 8_000,
};

interface Setting<T> {
  name: string;
  /** What the value must be. */
  form: string;
  /** In the environment's own form; empty: none. */
  fallback: string;
  /** Undefined where the text is not of the form. */
  parse(text: string): T | undefined;
}

const CLAIM_FORM = "a text of 1 to 255 characters, exactly as it stands in the tokens";

const SETTINGS = {
  host: setting("PARLEY_HOST", "a host name or IP address to listen on", "127.0.0.1", (text) =>
    /^[A-Za-z0-9.:_-]+$/.test(text) ? text : undefined,
  ),
  port: setting("PARLEY_PORT", "a port number from 0 (any free one) to 65535", "8080", (text) =>
    /^\d{1,5}$/.test(text) && Number(text) <= 65535 ? Number(text) : undefined,
  ),
  dataFolder: setting("PARLEY_DATA", "a path to a folder", "./data", (text) =>
    isAbsolute(text) ? text : resolve(text),
  ),
  databaseUrl: setting(
    "PARLEY_DATABASE_URL",
    "a URL such as postgres://user:password@host:5432/database",
    "",
    parseDatabaseUrl,
  ),
  store: setting(
    "PARLEY_STORE",
    "a URL such as s3://bucket?endpoint=https://host&region=us-east-1&path_style=true; all but the bucket may be left out",
    "",
    parseStore,
  ),
  redirectFiles: setting(
    "PARLEY_FILES",
    "proxy (files of an S3 store pass through the server) or redirect (clients are sent to the store)",
    "proxy",
    (text) => (text === "proxy" ? false : text === "redirect" ? true : undefined),
  ),
  publicUrl: setting(
    "PARLEY_PUBLIC_URL",
    "the http(s) URL under which clients reach the server, without query and fragment",
    "",
    (text) => (text === "" ? null : parseOrigin(text)),
  ),
  secrets: setting(
    "PARLEY_SECRET",
    `one or more secrets of at least ${MIN_SECRET_LENGTH} characters, separated by commas`,
    "",
    parseSecrets,
  ),
  maxFileBytes: setting(
    "PARLEY_MAX_FILE_SIZE",
    "a size such as 100MiB, 5GB or 1048576 (bytes); 0 for no limit",
    DEFAULT_MAX_FILE_SIZE,
    (text) => parseSize(text) ?? undefined,
  ),
  userQuotaBytes: setting(
    "PARLEY_USER_QUOTA",
    "a size such as 10GiB, for all files that a user has uploaded; 0 for no quota",
    "0",
    (text) => parseSize(text) ?? undefined,
  ),
  maxContacts: setting(
    "PARLEY_MAX_CONTACTS",
    "a whole number: how many contacts a user may have; 0 for no limit",
    "0",
    parseCount,
  ),
  eventDays: setting(
    "PARLEY_EVENT_DAYS",
    "a whole number from 1 to 3650: for how many days events are kept",
    "7",
    (text) => (/^[1-9]\d{0,3}$/.test(text) && Number(text) <= 3650 ? Number(text) : undefined),
  ),
  maxTokens: setting(
    "PARLEY_MAX_TOKENS",
    "a whole number: how many tokens that have not expired a user may have; 0 for no limit",
    "1000",
    parseCount,
  ),
  maxWebhooks: setting(
    "PARLEY_MAX_WEBHOOKS",
    "a whole number: how many webhooks a user may have; 0 for no limit",
    "20",
    parseCount,
  ),
  webhooksAllowPrivate: setting(
    "PARLEY_WEBHOOKS_ALLOW_PRIVATE",
    "true (webhooks may lead to http: and to addresses that are not public) or false",
    "false",
    (text) => (text === "true" ? true : text === "false" ? false : undefined),
  ),
  auditDays: setting(
    "PARLEY_AUDIT_DAYS",
    "a whole number: for how many days the audit trail is kept; 0 for ever",
    "90",
    parseCount,
  ),
  requestsPerSecond: setting(
    "PARLEY_RATE_LIMIT",
    "requests a second for each token, a whole number up to 1000000; 0 for no rate limits at all",
    "500",
    (text) => (/^\d{1,7}$/.test(text) && Number(text) <= 1_000_000 ? Number(text) : undefined),
  ),
  trustedProxies: setting(
    "PARLEY_TRUST_PROXY",
    "addresses and networks such as 10.0.0.5 or 10.0.0.0/8, separated by commas; loopback for this machine",
    "",
    parseProxies,
  ),
  corsOrigins: setting(
    "PARLEY_CORS_ORIGINS",
    "origins such as https://app.example.com, separated by commas, or * for all",
    "",
    parseOrigins,
  ),
  jwtIssuer: setting("PARLEY_JWT_ISSUER", CLAIM_FORM, "", parseClaim),
  jwtAudience: setting("PARLEY_JWT_AUDIENCE", CLAIM_FORM, "", parseClaim),
  jwtKeySetUrl: setting(
    "PARLEY_JWT_JWKS_URL",
    "the https URL of the provider's key set (http only on this machine), without credentials",
    "",
    parseKeySetUrl,
  ),
  logLevel: setting("PARLEY_LOG_LEVEL", `one of ${LOG_LEVELS.join(", ")}`, "info", (text) =>
    LOG_LEVELS.find((level) => level === text),
  ),
};

/** Reads the settings, all optional; an empty variable counts as unset. Throws `OperatorError`, naming the variable and the form it must have. */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const config: Config = {
    host: read(SETTINGS.host, env),
    port: read(SETTINGS.port, env),
    dataFolder: read(SETTINGS.dataFolder, env),
    databaseUrl: read(SETTINGS.databaseUrl, env),
    store: read(SETTINGS.store, env),
    redirectFiles: read(SETTINGS.redirectFiles, env),
    publicUrl: read(SETTINGS.publicUrl, env),
    secrets: read(SETTINGS.secrets, env),
    trustedProxies: read(SETTINGS.trustedProxies, env),
    corsOrigins: read(SETTINGS.corsOrigins, env),
    jwt: readJwt(env),
    auditDays: read(SETTINGS.auditDays, env),
    logLevel: read(SETTINGS.logLevel, env),
    limits: {
      ...LIMITS,
      maxFileBytes: read(SETTINGS.maxFileBytes, env),
      userQuotaBytes: read(SETTINGS.userQuotaBytes, env),
      maxContacts: read(SETTINGS.maxContacts, env),
      eventDays: read(SETTINGS.eventDays, env),
      requestsPerSecond: read(SETTINGS.requestsPerSecond, env),
      maxTokens: read(SETTINGS.maxTokens, env),
      maxWebhooks: read(SETTINGS.maxWebhooks, env),
      webhooksAllowPrivate: read(SETTINGS.webhooksAllowPrivate, env),
    },
  };
  if (config.publicUrl === null && isWildcard(config.host)) {
    throw new OperatorError(
      `PARLEY_PUBLIC_URL must be set where PARLEY_HOST is ${config.host}: links to files need an address that clients reach.`,
    );
  }
  if (config.databaseUrl !== null && config.secrets.length === 0) {
    throw new OperatorError(
      `PARLEY_SECRET must be set where PARLEY_DATABASE_URL is: all servers of a database sign links with the same. Make one: openssl rand -base64 33.`,
    );
  }
  if (config.redirectFiles && config.store === null) {
    throw new OperatorError("PARLEY_FILES=redirect needs an S3 store: set PARLEY_STORE.");
  }
  return Object.freeze(config);
}

function readJwt(env: Readonly<Record<string, string | undefined>>): JwtSettings | null {
  const issuer = read(SETTINGS.jwtIssuer, env);
  const audience = read(SETTINGS.jwtAudience, env);
  const keySetUrl = read(SETTINGS.jwtKeySetUrl, env);
  if (issuer !== null && audience !== null && keySetUrl !== null) return { issuer, audience, keySetUrl };
  if (issuer === null && audience === null && keySetUrl === null) return null;
  throw new OperatorError(
    "PARLEY_JWT_ISSUER, PARLEY_JWT_AUDIENCE and PARLEY_JWT_JWKS_URL must be set together: without any of them signed tokens cannot be checked.",
  );
}

/** What a setting without a default does when it is unset, for the reference. */
const UNSET: Readonly<Record<string, string>> = {
  PARLEY_DATABASE_URL: "the SQLite database in the data folder",
  PARLEY_STORE: "files in the data folder",
  PARLEY_PUBLIC_URL: "made of host and port; demanded where the host is a wildcard such as 0.0.0.0",
  PARLEY_SECRET: "made at the first start and kept in the data folder; demanded with `PARLEY_DATABASE_URL`",
  PARLEY_TRUST_PROXY: "none: what connects is the client",
  PARLEY_CORS_ORIGINS: "none",
  PARLEY_JWT_ISSUER: "none: signed tokens are not taken",
  PARLEY_JWT_AUDIENCE: "none; demanded with `PARLEY_JWT_ISSUER`",
  PARLEY_JWT_JWKS_URL: "none; demanded with `PARLEY_JWT_ISSUER`",
};

/** The reference of the settings as a table in Markdown. */
export function settingsReference(): string {
  const rows = Object.values(SETTINGS).map(({ name, form, fallback }) => {
    const unset = fallback === "" ? UNSET[name]! : `\`${fallback}\``;
    return `| \`${name}\` | ${unset} | ${form} |`;
  });
  return ["| variable | default | what it must be |", "|---|---|---|", ...rows].join("\n");
}

/** What the pages of this project tell people to export, for the command line, curl and the tests. */
const OTHERS = /^PARLEY_(?:(?:TOKEN|URL)$|TEST_)/;

/** Variables that begin with `PARLEY_` and are no settings, likely misspelt. */
export function unknownSettings(env: Readonly<Record<string, string | undefined>>): string[] {
  const known = new Set(Object.values(SETTINGS).map((each) => each.name));
  return Object.keys(env).filter(
    (name) => name.startsWith("PARLEY_") && !known.has(name) && !OTHERS.test(name),
  );
}

function setting<T>(
  name: string,
  form: string,
  fallback: string,
  parse: (text: string) => T | undefined,
): Setting<T> {
  return { name, form, fallback, parse };
}

function read<T>(from: Setting<T>, env: Readonly<Record<string, string | undefined>>): T {
  const value = from.parse(env[from.name] || from.fallback);
  if (value === undefined) throw new OperatorError(`${from.name} must be ${from.form}.`);
  return value;
}

/** Undefined for what is no URL of PostgreSQL. What it says beyond that is the driver's to read. */
export function parseDatabaseUrl(text: string): string | null | undefined {
  if (text === "") return null;
  return /^postgres(?:ql)?:$/.test(URL.parse(text)?.protocol ?? "") ? text : undefined;
}

// https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;

export function parseStore(text: string): S3Settings | null | undefined {
  if (text === "") return null;
  const url = URL.parse(text);
  if (url?.protocol !== "s3:" || !BUCKET.test(url.host) || !/^\/?$/.test(url.pathname) || url.hash)
    return undefined;
  const { endpoint, region, path_style, ...others } = Object.fromEntries(url.searchParams);
  if (Object.keys(others).length > 0 || url.searchParams.size > 3) return undefined;
  if (endpoint !== undefined && parseOrigin(endpoint) === undefined) return undefined;
  if (path_style !== undefined && path_style !== "true" && path_style !== "false") return undefined;
  return {
    bucket: url.host,
    endpoint: endpoint ?? null,
    region: region || "us-east-1",
    pathStyle: path_style === "true",
  };
}

function parseClaim(text: string): string | null | undefined {
  if (text === "") return null;
  return text.length <= 255 && text === text.trim() && isCleanText(text) ? text : undefined;
}

/** Whether what passes between clients and this server can be read on the way: nothing in front ends TLS. */
export function isExposed(config: Config): boolean {
  return !isLoopback(config.host) && !config.publicUrl?.startsWith("https:");
}
