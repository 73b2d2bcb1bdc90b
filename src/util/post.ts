import type { LookupAddress } from "node:dns";
import type { Resolver } from "node:dns/promises";
import type { IncomingMessage, RequestOptions } from "node:http";
import type { LookupFunction } from "node:net";
import { isPublicAddress, mayBePublic } from "./public-address.ts";

/** Bytes of an answer to read before closing the connection. */
const MAX_ANSWER_BYTES = 64 * 1024;

export interface Post {
  url: string;
  headers: Record<string, string>;
  body: string | Uint8Array;
  /** Covers everything from the DNS lookup to the end of the answer. */
  timeoutMs: number;
  /** Whether private addresses and `http:` are allowed; names are then resolved by the system. */
  allowPrivate: boolean;
  /** Creates the resolver of one post: the machine's name servers may change between posts. */
  makeResolver: () => Resolver;
  /** Aborts the post. */
  signal: AbortSignal;
}

/** The answer to a post, without its body. */
export interface Answer {
  status: number;
  /** The header `Retry-After`. */
  retryAfter: string | undefined;
}

/** Returns all addresses of a name. Throws if there are none, or if any is not public. */
async function publicAddresses(resolver: Resolver, hostname: string): Promise<LookupAddress[]> {
  const [four, six] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  const addresses = [
    ...(four.status === "fulfilled" ? four.value.map((address) => ({ address, family: 4 })) : []),
    ...(six.status === "fulfilled" ? six.value.map((address) => ({ address, family: 6 })) : []),
  ];
  // A name can exist without addresses, for example an alias to nothing.
  if (addresses.length === 0)
    throw four.status === "rejected" ? four.reason : new Error(`${hostname} has no address`);
  if (addresses.every(({ address }) => isPublicAddress(address))) return addresses;
  throw new Error(`${hostname} has an address that is not public`);
}

/**
 * Resolves names by DNS and fails if any address is not public. The connection uses the checked addresses, so that a
 * name cannot change in between. `dns.lookup` would block one of the few threads that also read files while the name
 * servers of an untrusted name are silent.
 */
export function publicLookup(resolver: Resolver): LookupFunction {
  return (hostname, options, callback) => {
    publicAddresses(resolver, hostname).then(
      (found) => (options.all ? callback(null, found) : callback(null, found[0]!.address, found[0]!.family)),
      (error) => callback(error, ""),
    );
  };
}

/** Reports whether a URL may be posted to, as far as this is known before its name is resolved. */
export function mayPostTo(url: URL, allowPrivate: boolean): boolean {
  return allowPrivate || (url.protocol === "https:" && mayBePublic(url.hostname));
}

/**
 * Posts to a URL that a user chose, and returns the answer without its body. Follows no redirects, uses no proxy and
 * reuses no connection. Throws if there is no answer; the message is for the operator, not for that user.
 */
export function post(what: Post): Promise<Answer> {
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
    let answer: Answer | undefined;
    // Loaded on demand: most servers never post.
    const http = process.getBuiltinModule(url.protocol === "https:" ? "node:https" : "node:http");
    const request = http.request(url, options, (response) => {
      // The status counts, even if the body is cut short.
      answer = toAnswer(response);
      let bytes = 0;
      response.on("data", (chunk: Uint8Array) => {
        bytes += chunk.length;
        if (bytes > MAX_ANSWER_BYTES) request.destroy();
      });
      response.on("error", () => {});
    });
    // An answer that upgrades to another protocol has neither body nor end.
    request.on("upgrade", (response, socket) => {
      answer = toAnswer(response);
      socket.destroy();
    });
    request.on("error", (error) => {
      if (!answer) fail(error);
    });
    request.on("close", () => {
      resolver?.cancel();
      if (answer) resolve(answer);
      else fail(new Error("the connection ended without an answer"));
    });
    request.end(body);
  });
}

function toAnswer({ statusCode, headers }: IncomingMessage): Answer {
  return { status: statusCode!, retryAfter: headers["retry-after"] };
}
