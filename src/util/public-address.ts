import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/** Global unicast addresses of IPv6. */
const GLOBAL_UNICAST: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse("2000::"), 3];

/** Looks public, but is Azure's service for the machine itself, as 169.254.169.254 is elsewhere. */
const PLATFORM = "168.63.129.16";

/**
 * Reports whether an IP address is on the public internet: not loopback, private, link-local or multicast, and not one
 * that stands for another (NAT64, 6to4).
 */
export function isPublicAddress(text: string): boolean {
  if (isIP(text) === 0 || text === PLATFORM) return false;
  const address = ipaddr.parse(text);
  if (address.range() !== "unicast") return false;
  return address.kind() === "ipv4" || (address as ipaddr.IPv6).match(...GLOBAL_UNICAST);
}

/** Reports whether the host of a URL, as `URL` spells it, may be public. A name is checked again on connecting. */
export function mayBePublic(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, "");
  if (isIP(host) !== 0) return isPublicAddress(host);
  return !/(?:^|\.)localhost\.?$/.test(host);
}
