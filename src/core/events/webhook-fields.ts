import { RESOURCE_EVENTS } from "../../db/queries/events/events.ts";
import { parseHttpUrl } from "../../util/addresses.ts";
import { someOf } from "../resource/choices.ts";
import {
  describedField,
  type Field,
  nullable,
  optional,
  reference,
  trueOrFalse,
} from "../resource/fields.ts";
import {
  bool,
  count,
  described,
  id,
  integer,
  listOf,
  oneOf,
  orNull,
  resource,
  text,
  textOrNull,
  time,
} from "../resource/schema.ts";

/** Null means all. */
const hookEvents = nullable<string, true>({
  required: true,
  accepts: `one or more of ${RESOURCE_EVENTS.join(", ")}: an array in JSON, or a string separated by commas; null in JSON for all`,
  schema: {
    type: ["array", "string"],
    items: { type: "string", enum: [...RESOURCE_EVENTS] },
    minItems: 1,
    minLength: 1,
  },
  parse: (value) => someOf(RESOURCE_EVENTS, value)?.join(" "),
});

const MAX_URL_CHARACTERS = 2048;

/** Checks the form only; `refuseAddress` checks whether the server may send there. */
export const hookUrl: Field<string, true> = {
  required: true,
  accepts: `an https URL of at most ${MAX_URL_CHARACTERS} characters with a public address, without credentials and without a fragment`,
  schema: { type: "string", format: "uri", maxLength: MAX_URL_CHARACTERS },
  parse(value) {
    if (typeof value !== "string" || value.length > MAX_URL_CHARACTERS || /[\s\p{Cc}]/u.test(value))
      return undefined;
    return value.includes("#") ? undefined : parseHttpUrl(value)?.href;
  },
};

/** The fields of a new webhook. */
export const webhookFields = { url: hookUrl, events: optional(hookEvents), all_users: optional(trueOrFalse) };
/** The fields of an update. */
export const webhookChanges = {
  url: optional(hookUrl),
  events: optional(hookEvents),
  enabled: optional(trueOrFalse),
};

/** The filters of a list of webhooks. */
export const webhookFilters = {
  all: optional(
    describedField(trueOrFalse, "Lists the webhooks of all users, which also requires the scope `admin`."),
  ),
  user_id: optional(
    describedField(reference("usr"), "Lists those of one user, which also requires the scope `admin`."),
  ),
  failing: optional(
    describedField(
      trueOrFalse,
      "True lists only those whose last attempt failed, also if they are disabled.",
    ),
  ),
};

const webhookMembers = {
  user_id: described(id("usr"), "Its owner."),
  // No format: the URL Standard keeps some characters, such as [ in a path, that RFC 3986 does not allow.
  url: described(text, "As the URL Standard (WHATWG) writes it."),
  events: described(orNull(listOf(oneOf<string>(...RESOURCE_EVENTS))), "Types of events; null for all."),
  all_users: described(bool, "Whether it receives the events of all users."),
  enabled: described(bool, "False once Parley has stopped sending to it."),
  created_at: time,
};
export const webhookResource = resource("Webhook", { id: id("whk"), ...webhookMembers });
/** The answer to a creation or a rotation. Only these have the secret. */
export const webhookWithSecretResource = resource("WebhookWithSecret", {
  id: id("whk"),
  secret: described(text, "Signs the requests: `whsec_…`. It is shown only once."),
  ...webhookMembers,
});

export const deliveryResource = resource("Delivery", {
  id: id("dlv"),
  event_id: described(id("evt"), "The header `webhook-id`, the same for every attempt."),
  type: text,
  state: described(
    oneOf("pending", "delivered", "failed", "skipped"),
    "`skipped`: none of the recipients could see any more what the event is about.",
  ),
  attempts: count,
  last_status: described(orNull(integer), "The status of the last answer; null if there was none."),
  last_error: described(textOrNull, "Set if no answer came. The text is the same for every reason."),
  response_body: described(
    textOrNull,
    "The first 1,024 bytes of the body of the last answer, for tokens with the scope `admin`; null for all others, and if there is none.",
  ),
  next_attempt_at: described(
    orNull(integer),
    "Unix seconds, UTC. Null if it has ended, or waits for an earlier delivery of its conversation.",
  ),
  created_at: time,
  updated_at: time,
});
