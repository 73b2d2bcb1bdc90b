import type { FastifyReply, FastifyRequest } from "fastify";
import ipaddr from "ipaddr.js";
import type { Limits } from "../config.ts";
import type { Caller } from "../core/caller.ts";
import { ParleyError } from "../errors.ts";
import type { Clock } from "../util/clock.ts";
import { Rate } from "../util/rate.ts";
import { clientAddress } from "./client-address.ts";

const IPV6_NETWORK_BYTES = 8;

/**
 * Bounds how often this server is asked: with each token (of an identity provider: by each user), and with what is no
 * valid token from each address. In memory, for this node alone.
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
      `A token may make ${requestsPerSecond} requests a second. Go on after the time in the header Retry-After.`,
    );
    this.#failures = new Policy(
      "authentication",
      failuresPerSecond,
      failuresBurst,
      clock,
      "Too many tokens or links that are not valid came from this address. Check yours, and go on after the time in the header Retry-After.",
    );
  }

  /** Counts a request, and says in the answer what is left. Throws `rate_limited`. */
  count(caller: Caller, reply: FastifyReply): void {
    if (!this.#on) return;
    const key = caller.tokenId ?? caller.userId;
    const used = this.#requests.rate.next(key);
    this.#requests.tell(reply, used);
    this.#requests.rate.note(key, used);
  }

  /** For requests with a token that is not known yet. Throws `rate_limited` where too many of the address were not valid. */
  refuseGuess(request: FastifyRequest, reply: FastifyReply): void {
    if (!this.#on) return;
    const { rate } = this.#failures;
    const used = rate.next(networkOf(request));
    if (rate.isTooMuch(used)) this.#failures.tell(reply, used);
  }

  /** Counts a token or a link that was not valid. */
  countFailure(request: FastifyRequest): void {
    if (!this.#on) return;
    const { rate } = this.#failures;
    const key = networkOf(request);
    rate.note(key, rate.next(key));
  }
}

/** A rate that clients are told of, as draft-ietf-httpapi-ratelimit-headers wants it. */
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

  /** Throws `rate_limited` where more was used than there was. */
  tell(reply: FastifyReply, used: number): void {
    const { rate } = this;
    reply.header("ratelimit-policy", this.#header);
    reply.header("ratelimit", `"${this.#name}";r=${rate.left(used)};t=${rate.secondsUntilWhole(used)}`);
    if (!rate.isTooMuch(used)) return;
    throw new ParleyError("rate_limited", this.#refusal, { header: String(rate.secondsUntilFree(used)) });
  }
}

/** The client's address; of IPv6 its network, which one client has for itself. */
function networkOf(request: FastifyRequest): string {
  const address = ipaddr.parse(clientAddress(request));
  if (address.kind() === "ipv4") return address.toString();
  return address.toByteArray().slice(0, IPV6_NETWORK_BYTES).join(".");
}
