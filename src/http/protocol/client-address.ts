import { isIP } from "node:net";
import type { FastifyRequest } from "fastify";
import ipaddr from "ipaddr.js";

/** The parts of a request by which its caller is found. */
export type Requester = Pick<FastifyRequest, "id" | "ip" | "socket" | "headers">;

/** The address if the connection is already gone. */
const UNKNOWN = "0.0.0.0";

/**
 * Returns the client's address, normalized and without a port: the one that a trusted proxy sends, or else the
 * connection's. A value from a proxy that is not an address is ignored.
 */
export function clientAddress(request: Requester): string {
  return knownAddress(request.ip) ?? knownAddress(request.socket.remoteAddress) ?? UNKNOWN;
}

/** The number of parsed texts to cache: clients send many requests, and each download needs the address. */
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
  // Cut off the zone, which may be any text.
  const [address = ""] = host.split("%", 1);
  return isIP(address) === 0 ? undefined : ipaddr.process(address).toString();
}
