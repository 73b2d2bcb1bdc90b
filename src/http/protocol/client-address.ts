import { isIP } from "node:net";
import type { FastifyRequest } from "fastify";
import ipaddr from "ipaddr.js";

/** Of a connection that is gone already. */
const UNKNOWN = "0.0.0.0";

/**
 * The client's address: of the connection, or what a trusted proxy tells, in one spelling and without a port. What a proxy
 * tells need not be an address: then the connection's counts.
 */
export function clientAddress(request: FastifyRequest): string {
  return knownAddress(request.ip) ?? knownAddress(request.socket.remoteAddress) ?? UNKNOWN;
}

/** Texts whose address is kept in mind: a client comes again and again, and a download asks for it each time. */
const MAX_KNOWN = 10_000;
const MAX_KNOWN_LENGTH = 64;
const known = new Map<string, string | undefined>();

function knownAddress(text = ""): string | undefined {
  if (known.has(text)) return known.get(text);
  const address = addressIn(text);
  if (known.size >= MAX_KNOWN) known.clear();
  if (text.length <= MAX_KNOWN_LENGTH) known.set(text, address);
  return address;
}

function addressIn(text: string): string | undefined {
  const host = /^\[([^\]]*)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
  // Of an address with a zone, which may be any text, only the address is the client's.
  const [address = ""] = host.split("%", 1);
  return isIP(address) === 0 ? undefined : ipaddr.process(address).toString();
}
