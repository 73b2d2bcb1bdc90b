import type { NewEntry } from "../../db/queries/record/audit-trail.ts";
import type { DueDelivery } from "../../db/queries/webhooks/deliveries.ts";
import type { WebhookRow } from "../../db/queries/webhooks/webhooks.ts";
import type { Answer, Post } from "../../util/post.ts";
import type { Core, DataAccess } from "../node/core.ts";

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
/** The pause after each failed attempt. If the attempt after the last pause fails, the delivery fails. */
const RETRY_AFTER_MS = [
  ...[SECOND_MS, 5 * SECOND_MS, 30 * SECOND_MS, 5 * MINUTE_MS, 30 * MINUTE_MS],
  ...[2 * HOUR_MS, 5 * HOUR_MS, 10 * HOUR_MS, 14 * HOUR_MS, 20 * HOUR_MS, 24 * HOUR_MS],
];
/** Each pause varies by this share, so that deliveries that failed together are not retried together. */
const JITTER = 0.2;
/** The two forms of Retry-After: seconds, with a limited number of digits, and a date (RFC 9110, section 5.6.7). */
const SECONDS = /^\d{1,9}$/;
const DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** The request of an attempt. */
export type Request = Pick<Post, "headers" | "body">;

/** The outcome of an attempt. */
export interface AttemptResult {
  hook: WebhookRow;
  delivery: DueDelivery;
  /** Attempts of this delivery so far. */
  attempts: number;
  /** Null if no answer came. */
  answer: Answer | null;
  isDelivered: boolean;
  /** The receiver has accepted nothing for too long. */
  isFailing: boolean;
  entry: NewEntry;
}

/** The parts in which deliveries of webhooks and of push subscriptions differ. */
export interface DeliveryKind {
  /** Returns the request; undefined if there is no longer anything to send. */
  toRequest(core: Core, hook: WebhookRow, delivery: DueDelivery): Promise<Request | undefined>;
  /** Ends a delivery without an attempt. */
  skip(core: Core, hook: WebhookRow, delivery: DueDelivery): Promise<void>;
  /** Stores the outcome of an attempt. */
  settle(core: Core, attempt: AttemptResult): Promise<void>;
}

/** Returns the pause after so many failed attempts; undefined after the last. */
export function pauseAfter(core: DataAccess, attempts: number): number | undefined {
  const pause = RETRY_AFTER_MS[attempts - 1];
  if (pause === undefined) return undefined;
  const bytes = new Uint8Array(4);
  core.random(bytes);
  const part = new DataView(bytes.buffer).getUint32(0) / 2 ** 32;
  return Math.round(pause * (1 - JITTER + 2 * JITTER * part));
}

/** Returns the pause that the receiver's Retry-After requests, in milliseconds; 0 if it is missing or malformed. */
export function askedPause({ answer, entry }: AttemptResult): number {
  const text = answer?.retryAfter ?? "";
  if (SECONDS.test(text)) return Number(text) * SECOND_MS;
  const until = DATE.test(text) ? Date.parse(text) : Number.NaN;
  return until > entry.at ? until - entry.at : 0;
}
