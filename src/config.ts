import { isAbsolute, resolve } from "node:path";
import { OperatorError } from "./errors.ts";
import { MIN_SECRET_LENGTH } from "./util/data-folder.ts";
import { parseSize } from "./util/sizes.ts";

const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;

/** Bounds on what comes from outside. The names carry the units. */
export interface Limits {
  /** 0: none. */
  maxFileBytes: number;
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
  /** How long a stop waits for what runs. */
  shutdownTimeoutMs: number;
}

export interface Config {
  host: string;
  /** 0: any free port. */
  port: number;
  /** Absolute path. */
  dataFolder: string;
  /** Without a slash at its end; null: made of host and port. */
  publicUrl: string | null;
  /** The first signs links, all verify them; empty: one is made and kept in the data folder. */
  secrets: readonly string[];
  /** Origins whose pages may call the API; "*" for all; empty: none. */
  corsOrigins: readonly string[];
  logLevel: (typeof LOG_LEVELS)[number];
  limits: Limits;
}

const DEFAULT_MAX_FILE_SIZE = "100MiB";

const LIMITS: Omit<Limits, "maxFileBytes"> = {
  maxBodyBytes: 64 * 1024,
  maxHeaderBytes: 16 * 1024,
  maxPartHeaderBytes: 8 * 1024,
  headersTimeoutMs: 15_000,
  bodyIdleTimeoutMs: 30_000,
  minBodyBytesPerSecond: 256,
  keepAliveTimeoutMs: 72_000,
  socketIdleTimeoutMs: 120_000,
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
  corsOrigins: setting(
    "PARLEY_CORS_ORIGINS",
    "origins such as https://app.example.com, separated by commas, or * for all",
    "",
    parseOrigins,
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
    publicUrl: read(SETTINGS.publicUrl, env),
    secrets: read(SETTINGS.secrets, env),
    corsOrigins: read(SETTINGS.corsOrigins, env),
    logLevel: read(SETTINGS.logLevel, env),
    limits: { ...LIMITS, maxFileBytes: read(SETTINGS.maxFileBytes, env) },
  };
  if (config.publicUrl === null && isWildcard(config.host)) {
    throw new OperatorError(
      `PARLEY_PUBLIC_URL must be set where PARLEY_HOST is ${config.host}: links to files need an address that clients reach.`,
    );
  }
  return Object.freeze(config);
}

/** What a setting without a default does when it is unset, for the reference. */
const UNSET: Readonly<Record<string, string>> = {
  PARLEY_PUBLIC_URL: "made of host and port; demanded where the host is a wildcard such as 0.0.0.0",
  PARLEY_SECRET: "made at the first start and kept in the data folder",
  PARLEY_CORS_ORIGINS: "none",
};

/** The reference of the settings as a table in Markdown. */
export function settingsReference(): string {
  const rows = Object.values(SETTINGS).map(({ name, form, fallback }) => {
    const unset = fallback === "" ? UNSET[name]! : `\`${fallback}\``;
    return `| \`${name}\` | ${unset} | ${form} |`;
  });
  return ["| variable | default | what it must be |", "|---|---|---|", ...rows].join("\n");
}

/** What the pages of this project tell people to export, for use with curl and the tests. */
const OTHERS = ["PARLEY_TOKEN", "PARLEY_TEST_URL", "PARLEY_TEST_TOKEN", "PARLEY_TEST_TOKEN_2"];

/** Variables that begin with `PARLEY_` and are no settings, likely misspelt. */
export function unknownSettings(env: Readonly<Record<string, string | undefined>>): string[] {
  const known = new Set(Object.values(SETTINGS).map((each) => each.name));
  return Object.keys(env).filter(
    (name) => name.startsWith("PARLEY_") && !known.has(name) && !OTHERS.includes(name),
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

function parseOrigin(text: string): string | undefined {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol) || /[?#]/.test(text) || url.username || url.password)
    return undefined;
  return url.href.replace(/\/+$/, "");
}

function parseOrigins(text: string): string[] | undefined {
  if (text === "") return [];
  const origins = text.split(",").map((origin) => origin.trim());
  return origins.every(isOrigin) ? origins : undefined;
}

function isOrigin(text: string): boolean {
  return text === "*" || (/^https?:\/\/[^*]+$/.test(text) && URL.parse(text)?.origin === text);
}

function parseSecrets(text: string): string[] | undefined {
  if (text === "") return [];
  const secrets = text.split(",").map((secret) => secret.trim());
  return secrets.every((secret) => secret.length >= MIN_SECRET_LENGTH) ? secrets : undefined;
}

/** Whether what passes between clients and this server can be read on the way: nothing in front ends TLS. */
export function isExposed(config: Config): boolean {
  const loopback = /^(?:localhost|127\.[0-9.]+|::1)$/i.test(config.host);
  return !loopback && !config.publicUrl?.startsWith("https:");
}

function isWildcard(host: string): boolean {
  // In each of the spellings that name the same: 0, 0x0, ::0, ::ffff:0.0.0.0.
  return /^(?:::ffff:)?[0x.:]+$/i.test(host);
}
