// The forms of addresses that settings take. Undefined, or false, for what has not the form.
import { isIP } from "node:net";

/** An http(s) address without query, fragment and credentials, and without a slash at its end. */
export function parseOrigin(text: string): string | undefined {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol) || /[?#]/.test(text) || url.username || url.password)
    return undefined;
  return url.href.replace(/\/+$/, "");
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
  // Not 0: whoever trusts everybody is told the address by the client itself.
  return /^[1-9]\d{0,2}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128);
}

export function isLoopback(host: string): boolean {
  return /^(?:localhost|127\.[0-9.]+|::1|\[::1\])$/i.test(host);
}

export function isWildcard(host: string): boolean {
  // In each of the spellings that name the same: 0, 0x0, ::0, ::ffff:0.0.0.0.
  return /^(?:::ffff:)?[0x.:]+$/i.test(host);
}

/** The URL of a key set as a setting gives it, null for none; undefined for others. Whoever could change the keys on their way could be anybody. */
export function parseKeySetUrl(text: string): string | null | undefined {
  if (text === "") return null;
  const url = URL.parse(text);
  if (!url || url.username || url.password) return undefined;
  const safe = url.protocol === "https:" || (url.protocol === "http:" && isLoopback(url.hostname));
  return safe ? url.href : undefined;
}
