import { RESOURCE_EVENTS } from "../core/events.ts";
import { catalogue } from "../errors.ts";
import { type IdKind, idPattern } from "../util/ids.ts";

type Schema = Readonly<Record<string, unknown>>;

const text: Schema = { type: "string" };
const textOrNone: Schema = { type: ["string", "null"] };
const conversationOrNone: Schema = { ...textOrNone, description: "`cnv_…`; null: it is of none." };
const bytes: Schema = { type: "integer", minimum: 0, description: "Bytes." };
const time: Schema = { type: "integer", description: "Unix seconds, UTC." };

function id(kind: IdKind): Schema {
  return { type: "string", pattern: idPattern(kind) };
}

/** An object of exactly these members, all of them there. */
function object(properties: Record<string, Schema>, description?: string): Schema {
  const required = Object.keys(properties);
  return {
    type: "object",
    ...(description ? { description } : {}),
    properties,
    required,
    additionalProperties: false,
  };
}

function page(resource: string): Schema {
  return object(
    {
      has_more: { type: "boolean", description: "Whether there are more items beyond this page." },
      data: { type: "array", maxItems: 100, items: { $ref: `#/components/schemas/${resource}` } },
    },
    "Items, newest first.",
  );
}

const ofToken = {
  user_id: id("usr"),
  name: textOrNone,
  scopes: { type: "array", items: text },
  expires_at: { type: ["integer", "null"], description: "Unix seconds, UTC; null: never." },
  created_at: time,
};

const ofWebhook = {
  // No format: what the standard of URLs leaves as it is, such as [ in a path, RFC 3986 does not allow.
  url: { type: "string", description: "As the URL Standard (WHATWG) writes it." },
  events: {
    type: ["array", "null"],
    items: { type: "string", enum: [...RESOURCE_EVENTS] },
    description: "Types of events; null: all.",
  },
  all_users: { type: "boolean", description: "Whether it sees the events of all users." },
  enabled: { type: "boolean", description: "False once nothing is sent to it any more." },
  created_at: time,
};

/** What the service answers, as JSON Schema by name: sections 2.1, 2.2 and 2.4 of the source, and what came beside them. */
export const schemas: Readonly<Record<string, Schema>> = {
  Contact: object({
    id: id("con"),
    username: text,
    phone_number: text,
    avatar_url: textOrNone,
    display_name: { ...textOrNone, description: "Null when none is set: show the username." },
    conversation_id: id("cnv"),
    last_active_at: { type: ["integer", "null"], description: "Unix seconds, UTC. Null for a new contact." },
    created_at: time,
  }),
  ContactPage: page("Contact"),
  Attachment: object({
    id: id("att"),
    message_id: id("msg"),
    filename: text,
    file_url: {
      type: "string",
      format: "uri",
      description: "Signed; works without a token for one to two hours.",
    },
    file_type: { type: "string", description: "MIME type." },
    file_size: bytes,
    created_at: time,
  }),
  AttachmentPage: page("Attachment"),
  Event: object(
    {
      id: id("evt"),
      type: { type: "string", enum: [...RESOURCE_EVENTS] },
      timestamp: time,
      user_id: { ...id("usr"), description: "Whom it is told to." },
      conversation_id: conversationOrNone,
      payload: {
        description: "The contact, the attachment or the webhook, as the recipient would have retrieved it.",
        anyOf: ["Contact", "Attachment", "Webhook"].map((name) => ({ $ref: `#/components/schemas/${name}` })),
      },
    },
    "Something that has happened to what the recipient sees.",
  ),
  EventPage: page("Event"),
  Webhook: object({ id: id("whk"), ...ofWebhook }),
  NewWebhook: object({
    id: id("whk"),
    secret: { type: "string", description: "What signs the requests, shown this once: `whsec_…`." },
    ...ofWebhook,
  }),
  WebhookPage: page("Webhook"),
  TestEvent: object(
    {
      id: id("evt"),
      type: { type: "string", const: "webhook.test" },
      timestamp: time,
      user_id: id("usr"),
      conversation_id: { type: "null" },
      payload: object({ id: id("whk") }),
    },
    "What a webhook is sent when that is asked for.",
  ),
  Delivery: object({
    id: id("dlv"),
    event_id: { ...id("evt"), description: "The header `webhook-id`, the same at every attempt." },
    type: text,
    state: { type: "string", enum: ["pending", "delivered", "failed"] },
    attempts: { type: "integer", minimum: 0 },
    last_status: { type: ["integer", "null"], description: "What the receiver answered; null: nothing." },
    last_error: { ...textOrNone, description: "Why there was no answer." },
    next_attempt_at: {
      type: ["integer", "null"],
      description: "Unix seconds, UTC; null: it is done, or waits for an earlier one of its conversation.",
    },
    created_at: time,
    updated_at: time,
  }),
  DeliveryPage: page("Delivery"),
  Me: object({
    id: id("usr"),
    username: text,
    phone_number: textOrNone,
    display_name: textOrNone,
    avatar_url: textOrNone,
    conversation_id: {
      ...id("cnv"),
      description: "Notes to self, where uploads go that name no other conversation.",
    },
    created_at: time,
    storage: object({ used: bytes, quota: { type: ["integer", "null"], description: "Bytes; null: none." } }),
    limits: object({
      max_file_size: { type: ["integer", "null"], description: "Bytes; null: none." },
      max_body_size: bytes,
      rate_limit: {
        type: ["integer", "null"],
        description: "Requests a second, twice as many at once; null: not limited.",
      },
    }),
  }),
  User: object({
    id: id("usr"),
    username: text,
    phone_number: textOrNone,
    display_name: textOrNone,
    avatar_url: textOrNone,
    created_at: time,
  }),
  UserPage: page("User"),
  Token: object({ id: id("tok"), ...ofToken }),
  NewToken: object({
    id: id("tok"),
    token: { type: "string", description: "The secret, shown this once: what requests carry." },
    ...ofToken,
  }),
  TokenPage: page("Token"),
  AuditEntry: object({
    id: id("aud"),
    created_at: time,
    action: { type: "string", description: "What was done, such as `token.revoked`." },
    actor_id: { ...textOrNone, description: "The user who did it; null: the command line, or a link." },
    token_id: { ...textOrNone, description: "The token that it was done with; null also: a signed token." },
    object_id: { type: "string", description: "What it was done to. It may be gone." },
    details: { type: ["object", "null"], description: "What else is known of it, by the action." },
  }),
  AuditEntryPage: page("AuditEntry"),
  Problem: {
    type: "object",
    description: "Problem details (RFC 9457).",
    properties: {
      type: { type: "string", format: "uri", description: "The address of a page that explains the code." },
      title: text,
      status: { type: "integer" },
      detail: { type: "string", description: "What to do." },
      code: {
        type: "string",
        enum: Object.keys(catalogue),
        description: "From a closed list; what programs should look at.",
      },
      param: { type: "string", description: "The field at fault, where there is one." },
      existing_id: {
        type: "string",
        description: "Of the contact or the user that has the username (`contact_exists`, `username_taken`).",
      },
      request_id: id("req"),
    },
    required: ["type", "title", "status", "detail", "code", "request_id"],
    additionalProperties: false,
  },
};
