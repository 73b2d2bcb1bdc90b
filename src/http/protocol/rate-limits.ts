import type { FastifyReply, FastifyRequest } from "fastify";
import ipaddr from "ipaddr.js";
import type { Limits } from "../../config/limits.ts";
import type { Caller } from "../../core/node/caller.ts";
import { ParleyError } from "../../errors.ts";
import type { Clock } from "../../util/clock.ts";
import { Rate } from "../../util/rate.ts";
import { clientAddress, type Requester } from "./client-address.ts";

const IPV6_NETWORK_BYTES = 8;

/** How many bytes of rows one request may leave. A write that leaves more counts as several requests. */
const ROW_BYTES = 1800;
/** How many bytes a write leaves besides copies of its answer: ids and indexes. */
const FIXED_ROW_BYTES = 300;
/** How many copies of its answer a write leaves, in rows and events. An idempotency key adds one, the kept result. */
const ANSWERS_LEFT = { POST: 3, PUT: 2 };

/**
 * Limits requests per token (per user for tokens of an identity provider), and invalid tokens and links per address. The
 * counts are in memory, for this node only.
 */
export class RateLimits {
  readonly #on: boolean;
  readonly #requests: Policy;
  readonly #failures: Policy;

  constructor(limits: Limits, clock: Clock) {
    const { requestsPerSecond, failuresPerSecond, failuresBurst } = limits;
    this.#on = requestsPerSecond > 0;
    this.#requests = new Policy(
      "default",
      requestsPerSecond,
      2 * requestsPerSecond,
      clock,
      `A token can make ${requestsPerSecond} requests per second. Retry after the time in the Retry-After header.`,
    );
    this.#failures = new Policy(
      "authentication",
      failuresPerSecond,
      failuresBurst,
      clock,
      "This address sent too many invalid tokens or links. Check yours, then retry after the time in the Retry-After header.",
    );
  }

  /** Counts a request, and sets the headers of the reply with the number that is left. Throws `rate_limited`. */
  count(caller: Caller, reply?: FastifyReply): void {
    if (!this.#on) return;
    const key = keyOf(caller);
    const used = this.#requests.rate.next(key);
    this.#requests.enforce(used, reply);
    this.#requests.rate.note(key, used);
  }

  /** Counts a write again, by the rows that it has left, so that rows are limited as requests are. */
  countWrite(caller: Caller, request: FastifyRequest, answerBytes: number): void {
    const copies = ANSWERS_LEFT[request.method as keyof typeof ANSWERS_LEFT];
    if (!this.#on || copies === undefined) return;
    const kept = request.headers["idempotency-key"] === undefined ? 0 : 1;
    const bytes = FIXED_ROW_BYTES + (copies + kept) * answerBytes;
    const key = keyOf(caller);
    this.#requests.rate.note(key, this.#requests.rate.next(key, Math.ceil(bytes / ROW_BYTES) - 1));
  }

  /** Throws `rate_limited` if the address sent too many invalid tokens or links. Call this before checking an unknown one. */
  refuseGuess(request: Requester, reply?: FastifyReply): void {
    if (!this.#on) return;
    const { rate } = this.#failures;
    const used = rate.next(networkOf(request));
    if (rate.isTooMuch(used)) this.#failures.enforce(used, reply);
  }

  /** Counts an invalid token or link. */
  countFailure(request: Requester): void {
    if (!this.#on) return;
    const { rate } = this.#failures;
    const key = networkOf(request);
    rate.note(key, rate.next(key));
  }
}

/** A rate that clients see in headers (draft-ietf-httpapi-ratelimit-headers). */
class Policy {
  readonly rate: Rate;
  readonly #name: string;
  readonly #header: string;
  readonly #refusal: string;

  constructor(name: string, perSecond: number, burst: number, clock: Clock, refusal: string) {
    this.rate = new Rate(perSecond, burst, clock);
    this.#name = name;
    this.#header = `"${name}";q=${burst};w=${Math.ceil(burst / perSecond)}`;
    this.#refusal = refusal;
  }

  /** Sets the headers of a reply. Throws `rate_limited` if the limit is exceeded. */
  enforce(used: number, reply?: FastifyReply): void {
    const { rate } = this;
    reply?.header("ratelimit-policy", this.#header);
    reply?.header("ratelimit", `"${this.#name}";r=${rate.left(used)};t=${rate.secondsUntilWhole(used)}`);
    if (!rate.isTooMuch(used)) return;
    throw new ParleyError("rate_limited", this.#refusal, { header: String(rate.secondsUntilFree(used)) });
  }
}

function keyOf({ tokenId, userId }: Caller): string {
  return tokenId ?? userId;
}

/** Returns the client's IPv4 address, or its IPv6 network, because one client usually has a whole network. */
export function networkOf(request: Requester): string {
  const address = ipaddr.parse(clientAddress(request));
  if (address.kind() === "ipv4") return address.toString();
  return address.toByteArray().slice(0, IPV6_NETWORK_BYTES).join(".");
}
