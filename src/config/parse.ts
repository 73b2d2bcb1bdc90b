// Parsers of settings. They return undefined if the text is invalid.
import { isAbsolute, resolve } from "node:path";
import { parseKeySetUrl, parseOrigin } from "../util/addresses.ts";
import { isCleanText } from "../util/text.ts";

/** An S3 store. Credentials come from the AWS variables. */
export interface S3Settings {
  bucket: string;
  /** Null: AWS. */
  endpoint: string | null;
  region: string;
  /** Whether the bucket is part of the path, not of the host name. */
  pathStyle: boolean;
}

export function parseHost(text: string): string | undefined {
  return /^[A-Za-z0-9.:_-]+$/.test(text) ? text : undefined;
}

/** Returns the absolute path. */
export function parseFolder(path: string): string {
  return isAbsolute(path) ? path : resolve(path);
}

/** Parses a whole number that has at most as many digits as `max`. */
export function parseNumber(text: string, max: number): number | undefined {
  const isNumber = /^\d+$/.test(text) && text.length <= String(max).length;
  return isNumber && Number(text) <= max ? Number(text) : undefined;
}

// RFC 6838, section 4.2.
const TYPE_NAME = "[a-z0-9][a-z0-9!#$&^_.+-]{0,126}";
const TYPE_PATTERN = new RegExp(`^${TYPE_NAME}/(?:\\*|${TYPE_NAME})$`);

/** Parses media types such as "image/png", and groups of them such as "image/*", separated by commas. */
export function parseTypes(text: string): string[] | undefined {
  if (text === "") return [];
  const patterns = text.split(",").map((each) => each.trim().toLowerCase());
  return patterns.every((each) => TYPE_PATTERN.test(each)) ? patterns : undefined;
}

/** Returns a parser for two words, of which the second means true. */
export function parseFlag(no: string, yes: string): (text: string) => boolean | undefined {
  return (text) => (text === yes ? true : text === no ? false : undefined);
}

/** Checks only the scheme: the driver reads the rest. */
export function parseDatabaseUrl(text: string): string | null | undefined {
  if (text === "") return null;
  const url = URL.parse(text);
  if (!url || !/^postgres(?:ql)?:$/.test(url.protocol)) return undefined;
  // The driver connects to one host.
  const hosts = [url.hostname, ...url.searchParams.getAll("host")];
  return hosts.some((host) => host.includes(",")) ? undefined : text;
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

/** The address of clamd, or a URL that scans what is posted to it. */
export type ScannerAddress = { host: string; port: number } | string;

const CLAMD = /^clamd:\/\/(\[[0-9a-f:.]+\]|[a-z0-9._-]+):(\d{1,5})\/?$/i;

export function parseScanner(text: string): ScannerAddress | null | undefined {
  if (!text.startsWith("clamd:")) return parseKeySetUrl(text);
  const [, host, port] = CLAMD.exec(text) ?? [];
  if (host === undefined || Number(port) < 1 || Number(port) > 65_535) return undefined;
  return { host: host.replace(/^\[|\]$/g, ""), port: Number(port) };
}

/** Parses an issuer or audience. */
export function parseClaim(text: string): string | null | undefined {
  if (text === "") return null;
  return text.length <= 255 && text === text.trim() && isCleanText(text) ? text : undefined;
}
