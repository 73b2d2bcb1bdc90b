// Explains why a webhook fails and how to fix it, from the last answer of its receiver.
import type { Delivery, Webhook } from "../../../packages/parley-client/src/index.ts";
import type { Tone } from "./parts.tsx";

/** The last answer of a receiver, in words. */
export interface Diagnosis {
  /** In a few words, such as "Returned 500". */
  short: string;
  /** The problem. */
  problem: string;
  /** How to fix it. */
  advice: string;
}

type Advice = readonly [problem: string, advice: string];

const NO_ANSWER: Advice = [
  "The receiver did not answer within the time limit, or Parley could not connect to it.",
  "Check that the receiver runs, and that this server can resolve its name and reach its port. It must answer before it does its own work. The log of this server has the exact reason.",
];

const BY_STATUS: Readonly<Record<number, Advice>> = {
  400: [
    "The receiver rejects the request.",
    "Most often its check of the signature fails. It must use the secret of this webhook and the body exactly as it arrives, before any parsing. Its clock must be right.",
  ],
  401: [
    "The receiver, or a proxy in front of it, asks for a sign-in.",
    "Parley signs its requests and sends no credentials. Exempt this address from the sign-in, and check the signature instead.",
  ],
  403: [
    "The receiver, or a firewall in front of it, refuses the request.",
    "Allow requests from this server to this address. If the receiver checks the signature, compare its secret with that of this webhook.",
  ],
  404: [
    "The receiver has nothing at this address.",
    "Compare the path of the webhook with the one that the receiver serves. Correct the address if it has changed.",
  ],
  405: [
    "The receiver does not accept POST at this address.",
    "Parley sends each event as a POST. Serve POST there, or correct the address.",
  ],
  408: [
    "The receiver timed out while it waited for the request.",
    "Check the network between this server and the receiver. Parley retries by itself.",
  ],
  410: [
    "The receiver says that it is gone for good, so Parley disabled the webhook.",
    "Delete the webhook if the receiver no longer exists. Otherwise fix the receiver, and enable the webhook again.",
  ],
  413: [
    "The event is larger than the receiver accepts.",
    "Raise the limit of the receiver, or of the proxy in front of it, for the size of a body.",
  ],
  415: [
    "The receiver does not accept JSON.",
    "Parley sends application/json. Make the receiver accept this type.",
  ],
  429: [
    "The receiver limits how many requests it accepts.",
    "Raise its limit for this server, or choose fewer types of events. Parley retries later by itself.",
  ],
  500: [
    "The receiver fails while it handles the event.",
    "Look in the log of the receiver: the request has the id of the event in its header webhook-id. After the fix, send the event again.",
  ],
  502: [
    "A proxy in front of the receiver cannot reach it.",
    "Check that the receiver runs behind its proxy. Parley retries by itself.",
  ],
  503: [
    "The receiver is down or overloaded.",
    "Start the receiver, or give it more capacity. Parley retries by itself.",
  ],
  504: [
    "A proxy in front of the receiver timed out.",
    "The receiver must answer before it does its own work. Parley retries by itself.",
  ],
};

const REDIRECT: Advice = [
  "The receiver redirects to another address. Parley does not follow redirects.",
  "Set the address of the webhook to the one that the receiver redirects to.",
];
const CLIENT_ERROR: Advice = [
  "The receiver rejects the request.",
  "Look in the log of the receiver for the reason.",
];

export function diagnose({ last_status: status }: Delivery): Diagnosis {
  if (status === null) return toDiagnosis("No answer", NO_ANSWER);
  const short = `Returned ${status}`;
  if (status >= 300 && status < 400) return toDiagnosis(short, REDIRECT);
  return toDiagnosis(short, BY_STATUS[status] ?? (status >= 500 ? BY_STATUS[500]! : CLIENT_ERROR));
}

function toDiagnosis(short: string, [problem, advice]: Advice): Diagnosis {
  return { short, problem, advice };
}

/** Whether an attempt to deliver it failed, also if it will be retried. */
export function isFailing({ state, attempts }: Delivery): boolean {
  return state === "failed" || (state === "pending" && attempts > 0);
}

/** Whether a webhook works. */
export interface HookState {
  tone: Tone;
  label: string;
  /** Explains the last failure, if the webhook does not deliver. */
  diagnosis?: Diagnosis;
}

/** Judges a webhook by its latest deliveries, newest first. */
export function toHookState({ enabled }: Webhook, deliveries: readonly Delivery[]): HookState {
  const tried = deliveries
    .filter((each) => each.state === "delivered" || isFailing(each))
    .sort((a, b) => b.updated_at - a.updated_at);
  const latest = tried[0];
  const diagnosis = latest && isFailing(latest) ? { diagnosis: diagnose(latest) } : {};
  if (!enabled) return { tone: "plain", label: "Disabled", ...diagnosis };
  if (!latest) return { tone: "plain", label: deliveries.length > 0 ? "Waiting" : "Nothing sent yet" };
  if (isFailing(latest)) return { tone: "bad", label: "Failing", ...diagnosis };
  if (deliveries.some((each) => each.state === "pending" && isFailing(each)))
    return { tone: "warn", label: "Catching up" };
  return { tone: "good", label: "Delivering" };
}

/** Returns the state of a delivery in one word. */
export function toDeliveryState(delivery: Delivery): { tone: Tone; label: string } {
  switch (delivery.state) {
    case "delivered":
      return { tone: "good", label: "Delivered" };
    case "failed":
      return { tone: "bad", label: "Failed" };
    case "skipped":
      return { tone: "plain", label: "Skipped" };
    default:
      return delivery.attempts > 0 ? { tone: "bad", label: "Retrying" } : { tone: "plain", label: "Waiting" };
  }
}

const KINDS: Readonly<Record<string, string>> = {
  attachment: "File",
  contact: "Contact",
  conversation: "Conversation",
  group: "Group",
  member: "Member",
  message: "Message",
  reaction: "Reaction",
  user: "User",
  webhook: "Webhook",
};

const CHANGES: Readonly<Record<string, string>> = {
  message: "created updated deleted mentioned",
  reaction: "created deleted",
  attachment: "created updated deleted",
  conversation: "updated",
  contact: "created updated deleted",
  group: "created updated deleted",
  member: "created updated deleted",
  user: "updated",
  webhook: "disabled",
};

/** All types of events, by what they are about. */
export const EVENT_TYPES: readonly string[] = Object.entries(CHANGES).flatMap(([kind, changes]) =>
  changes.split(" ").map((change) => `${kind}.${change}`),
);

/** Names a type of event, such as "Message created". */
export function toEventName(type: string): string {
  if (type === "webhook.test") return "Test event";
  const [kind = "", change = ""] = type.split(".");
  return `${KINDS[kind] ?? kind} ${change}`;
}

export function toEventsText({ events, all_users }: Webhook): string {
  const types = events === null ? "All types" : events.map(toEventName).join(", ");
  return all_users ? `${types}, of all users` : types;
}

/** Returns scheme, host and port only: the path may contain a secret. */
export function toOrigin({ url }: Webhook): string {
  return new URL(url).origin;
}
