import type { LookupAddress } from "node:dns";
import type { Resolver } from "node:dns/promises";
import { type RequestOptions, request as requestPlain } from "node:http";
import { request as requestSecure } from "node:https";
import type { LookupFunction } from "node:net";
import { isPublicAddress, mayBePublic } from "./public-address.ts";

/** What is read of an answer, before it is cut. */
const MAX_ANSWER_BYTES = 64 * 1024;

interface Post {
  url: string;
  headers: Record<string, string>;
  body: string;
  /** For all of it, from the look-up of the name to the end of the answer. */
  timeoutMs: number;
  /** Whether addresses that are not public, and `http:`, will do; then names are looked up as the machine does it. */
  allowPrivate: boolean;
  /** One is made for each post, as the machine's name servers may be others by then. */
  makeResolver: () => Resolver;
  /** Ends it. */
  signal: AbortSignal;
}

/** All addresses of a name. Throws where there are none, and where any is not public. */
async function publicAddresses(resolver: Resolver, hostname: string): Promise<LookupAddress[]> {
  const [four, six] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  const addresses = [
    ...(four.status === "fulfilled" ? four.value.map((address) => ({ address, family: 4 })) : []),
    ...(six.status === "fulfilled" ? six.value.map((address) => ({ address, family: 6 })) : []),
  ];
  // A name may be there and have none, as where an alias leads nowhere.
  if (addresses.length === 0)
    throw four.status === "rejected" ? four.reason : new Error(`${hostname} has no address`);
  if (addresses.every(({ address }) => isPublicAddress(address))) return addresses;
  throw new Error(`${hostname} has an address that is not public`);
}

/**
 * Looks names up in the DNS, and fails where any address of one is not public. Who connects is given those that were looked at,
 * so that a name cannot lead elsewhere in between. Not by `dns.lookup`: that blocks one of the few threads that read files,
 * too, for as long as the name servers of whoever chose the name are silent.
 */
export function publicLookup(resolver: Resolver): LookupFunction {
  return (hostname, options, callback) => {
    publicAddresses(resolver, hostname).then(
      (found) => (options.all ? callback(null, found) : callback(null, found[0]!.address, found[0]!.family)),
      (error) => callback(error, ""),
    );
  };
}

/** Whether a URL may be posted to, as far as it can be told before its name is looked up. */
export function mayPostTo(url: URL, allowPrivate: boolean): boolean {
  return allowPrivate || (url.protocol === "https:" && mayBePublic(url.hostname));
}

/**
 * Posts to an address that a user chose, and returns the status of the answer. Follows no redirects, uses no proxy, and
 * no connection twice. Throws, with a message that the user may see, where no answer came.
 */
export function post(what: Post): Promise<number> {
  const { headers, body, timeoutMs, allowPrivate, makeResolver } = what;
  const url = new URL(what.url);
  if (!mayPostTo(url, allowPrivate)) throw new Error(`${url.hostname} is not public, or not asked by https`);
  const late = AbortSignal.timeout(timeoutMs);
  const resolver = allowPrivate ? undefined : makeResolver();
  const options: RequestOptions = {
    method: "POST",
    headers: { ...headers, "content-length": Buffer.byteLength(body) },
    agent: false,
    signal: AbortSignal.any([late, what.signal]),
    ...(resolver && { lookup: publicLookup(resolver) }),
  };
  return new Promise((resolve, reject) => {
    const fail = (error: Error) =>
      reject(late.aborted ? new Error(`no whole answer came within ${timeoutMs / 1000} s`) : error);
    let status: number | undefined;
    const request = (url.protocol === "https:" ? requestSecure : requestPlain)(url, options, (response) => {
      // The status is the answer, also where its body is cut short.
      status = response.statusCode;
      let bytes = 0;
      response.on("data", (chunk: Uint8Array) => {
        bytes += chunk.length;
        if (bytes > MAX_ANSWER_BYTES) request.destroy();
      });
      response.on("error", () => {});
    });
    // An answer that turns to another protocol has neither body nor end.
    request.on("upgrade", (response, socket) => {
      status = response.statusCode;
      socket.destroy();
    });
    request.on("error", (error) => {
      if (status === undefined) fail(error);
    });
    // However it ended.
    request.on("close", () => {
      resolver?.cancel();
      if (status === undefined) fail(new Error("the connection ended without an answer"));
      else resolve(status);
    });
    request.end(body);
  });
}
