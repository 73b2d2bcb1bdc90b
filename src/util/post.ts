import { lookup as lookUpName } from "node:dns";
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
  /** Whether addresses that are not public, and `http:`, will do. */
  allowPrivate: boolean;
  /** Ends it. */
  signal: AbortSignal;
}

/**
 * Looks a name up as `dns.lookup` does, and fails where any of its addresses is not public. Who connects is given those that
 * were looked at, so that a name cannot lead elsewhere in between.
 */
export const lookUpPublic: LookupFunction = (hostname, options, callback) => {
  lookUpName(hostname, { ...options, all: true }, (error, addresses) => {
    if (error) return callback(error, "");
    if (!addresses.every(({ address }) => isPublicAddress(address))) {
      return callback(new Error(`${hostname} has an address that is not public`), "");
    }
    if (options.all) return callback(null, addresses);
    return callback(null, addresses[0]!.address, addresses[0]!.family);
  });
};

/** Whether a URL may be posted to, as far as it can be told before its name is looked up. */
export function mayPostTo(url: URL, allowPrivate: boolean): boolean {
  return allowPrivate || (url.protocol === "https:" && mayBePublic(url.hostname));
}

/**
 * Posts to an address that a user chose, and returns the status of the answer. Follows no redirects, uses no proxy, and
 * no connection twice. Throws, with a message that the user may see, where no answer came.
 */
export function post(what: Post): Promise<number> {
  const { headers, body, timeoutMs, allowPrivate } = what;
  const url = new URL(what.url);
  if (!mayPostTo(url, allowPrivate)) throw new Error(`${url.hostname} is not public, or not asked by https`);
  const late = AbortSignal.timeout(timeoutMs);
  const options: RequestOptions = {
    method: "POST",
    headers: { ...headers, "content-length": Buffer.byteLength(body) },
    agent: false,
    signal: AbortSignal.any([late, what.signal]),
    ...(allowPrivate ? {} : { lookup: lookUpPublic }),
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
      if (status === undefined) fail(new Error("the connection ended without an answer"));
      else resolve(status);
    });
    request.end(body);
  });
}
