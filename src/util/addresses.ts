// Parsers for the addresses in settings. They return undefined or false if the form is wrong.
import { isIP } from "node:net";

/** An http(s) URL without credentials. */
export function parseHttpUrl(text: string): URL | undefined {
  const url = URL.parse(text);
  return url && /^https?:$/.test(url.protocol) && !url.username && !url.password ? url : undefined;
}

/** An http(s) URL without query, fragment, credentials and trailing slash. */
export function parseOrigin(text: string): string | undefined {
  return /[?#]/.test(text) ? undefined : parseHttpUrl(text)?.href.replace(/\/+$/, "");
}

/** Origins, or "*", separated by commas. */
export function parseOrigins(text: string): string[] | undefined {
  if (text === "") return [];
  const origins = text.split(",").map((origin) => origin.trim());
  return origins.every(isOrigin) ? origins : undefined;
}

function isOrigin(text: string): boolean {
  return text === "*" || (/^https?:\/\/[^*]+$/.test(text) && URL.parse(text)?.origin === text);
}

/** Addresses and networks, or "loopback", separated by commas. */
export function parseProxies(text: string): string[] | undefined {
  if (text === "") return [];
  const proxies = text.split(",").map((proxy) => proxy.trim());
  return proxies.every((proxy) => proxy === "loopback" || isNetwork(proxy)) ? proxies : undefined;
}

function isNetwork(text: string): boolean {
  const [address = "", bits, ...rest] = text.split("/");
  const version = isIP(address);
  if (version === 0 || address.includes("%") || rest.length > 0) return false;
  if (bits === undefined) return true;
  // Not 0: a network that contains everybody would let each client choose its own address.
  return /^[1-9]\d{0,2}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128);
}

export function isLoopback(host: string): boolean {
  return /^(?:localhost|127\.[0-9.]+|::1|\[::1\])$/i.test(host);
}

export function isWildcard(host: string): boolean {
  // Covers all spellings: 0, 0x0, ::0, ::ffff:0.0.0.0.
  return /^(?:::ffff:)?[0x.:]+$/i.test(host);
}

/** Returns the http address of a host, which may be an IPv6 address, and a port. */
export function toHttpUrl(host: string, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/**
 * The URL of a key set: https, or http on loopback, because anybody who can change the keys in transit can sign
 * tokens. Null if the setting is empty, undefined if it is invalid.
 */
export function parseKeySetUrl(text: string): string | null | undefined {
  if (text === "") return null;
  const url = parseHttpUrl(text);
  return url && (url.protocol === "https:" || isLoopback(url.hostname)) ? url.href : undefined;
}
