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
  return addressIn(request.ip) ?? addressIn(request.socket.remoteAddress) ?? UNKNOWN;
}

function addressIn(text = ""): string | undefined {
  const host = /^\[([^\]]*)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
  // Of an address with a zone, which may be any text, only the address is the client's.
  const [address = ""] = host.split("%", 1);
  return isIP(address) === 0 ? undefined : ipaddr.process(address).toString();
}
