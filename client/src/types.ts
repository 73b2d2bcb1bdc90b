// Names for the types generated from the OpenAPI document.
import type { components, operations } from "./schema.ts";

type Schemas = components["schemas"];

export type Contact = Schemas["Contact"];
export type Attachment = Schemas["Attachment"];
export type Webhook = Schemas["Webhook"];
export type NewWebhook = Schemas["NewWebhook"];
export type Delivery = Schemas["Delivery"];
export type User = Schemas["User"];
export type Token = Schemas["Token"];
export type NewToken = Schemas["NewToken"];
export type AuditEntry = Schemas["AuditEntry"];
export type Me = Schemas["Me"];

export type EventType = Schemas["Event"]["type"];

type EventOf<Family extends string, Payload> = Omit<Schemas["Event"], "type" | "payload"> & {
  type: Extract<EventType, `${Family}.${string}`>;
  payload: Payload;
};

/** A change of something that the caller can see. The `type` determines the `payload`. */
export type Event =
  | EventOf<"contact", Contact>
  | EventOf<"attachment", Attachment>
  | EventOf<"webhook", Webhook>;

export type ContactQuery = operations["listContacts"]["query"];
export type NewContact = operations["createContact"]["body"];
export type ContactChanges = operations["updateContact"]["body"];
export type AttachmentQuery = operations["listAttachments"]["query"];
export type AttachmentTarget = operations["createAttachment"]["query"];
export type AttachmentChanges = operations["updateAttachment"]["body"];
export type EventQuery = Omit<operations["listEvents"]["query"], "types"> & {
  types?: readonly EventType[] | undefined;
};
export type WebhookQuery = operations["listWebhooks"]["query"];
export type WebhookFields = operations["createWebhook"]["body"];
export type WebhookChanges = operations["updateWebhook"]["body"];
export type DeliveryQuery = operations["listDeliveries"]["query"];
export type UserQuery = operations["listUsers"]["query"];
export type UserFields = operations["createUser"]["body"];
export type TokenQuery = operations["listTokens"]["query"];
export type TokenFields = operations["createToken"]["body"];
export type AuditQuery = operations["listAudit"]["query"];
