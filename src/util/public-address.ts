import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/** What addresses of the public internet have in common: 2000::/3. */
const GLOBAL_UNICAST: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse("2000::"), 3];

/** Public by its form, and on Azure the machine's own platform (168.63.129.16), as 169.254.169.254 is elsewhere. */
const PLATFORM = "168.63.129.16";

/**
 * Whether an IP address is one of the public internet: not of this machine, of a private network, of a link, of many at once, or
 * one that stands for another, as NAT64 and 6to4 have it.
 */
export function isPublicAddress(text: string): boolean {
  if (isIP(text) === 0 || text === PLATFORM) return false;
  const address = ipaddr.parse(text);
  if (address.range() !== "unicast") return false;
  return address.kind() === "ipv4" || (address as ipaddr.IPv6).match(...GLOBAL_UNICAST);
}

/** Whether the host of a URL, as `URL` spells it, may be public: a name is looked at again when it is connected to. */
export function mayBePublic(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, "");
  if (isIP(host) !== 0) return isPublicAddress(host);
  return !/(?:^|\.)localhost\.?$/.test(host);
}
