import type { LookupAddress } from "node:dns";
import type { Resolver } from "node:dns/promises";
import type { IncomingMessage, RequestOptions } from "node:http";
import type { LookupFunction } from "node:net";
import { isPublicAddress, mayBePublic } from "./public-address.ts";

/** Bytes of an answer to read before closing the connection. */
const MAX_ANSWER_BYTES = 64 * 1024;
/** Bytes of the body to return. Their text can take three times as many, because each invalid byte is replaced by three. */
const KEPT_BODY_BYTES = 1024;

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

export interface Answer {
  status: number;
  /** The header `Retry-After`. */
  retryAfter: string | undefined;
  /** The start of the body as text, also of a body that was cut short; null if nothing of it arrived. */
  body: string | null;
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
 * Posts to a URL that a user chose, and returns the answer with the start of its body. Follows no redirects, uses no
 * proxy and reuses no connection. Throws if there is no answer; the message is for the operator, not for that user.
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
    let answer: Omit<Answer, "body"> | undefined;
    const start = new Uint8Array(KEPT_BODY_BYTES);
    let bytes = 0;
    // Loaded on demand: most servers never post.
    const http = process.getBuiltinModule(url.protocol === "https:" ? "node:https" : "node:http");
    const request = http.request(url, options, (response) => {
      // The status counts, even if the body is cut short.
      answer = toAnswer(response);
      response.on("data", (chunk: Uint8Array) => {
        if (bytes < KEPT_BODY_BYTES) start.set(chunk.subarray(0, KEPT_BODY_BYTES - bytes), bytes);
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
      if (answer) resolve({ ...answer, body: toText(start, bytes) });
      else fail(new Error("the connection ended without an answer"));
    });
    request.end(body);
  });
}

function toAnswer({ statusCode, headers }: IncomingMessage): Omit<Answer, "body"> {
  return { status: statusCode!, retryAfter: headers["retry-after"] };
}

/** Decodes the start of a body of so many bytes. Drops a character that the end of `start` cuts. */
function toText(start: Uint8Array, bytes: number): string | null {
  const text = new TextDecoder().decode(start.subarray(0, bytes), { stream: bytes > start.length });
  // PostgreSQL stores no NUL.
  return text === "" ? null : text.replaceAll("\0", "\ufffd");
}
