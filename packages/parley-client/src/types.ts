// Names for the types generated from the OpenAPI document.
import type { components, operations } from "./schema.ts";

type Schemas = components["schemas"];

export type Contact = Schemas["Contact"];
export type Block = Schemas["Block"];
export type Attachment = Schemas["Attachment"];
export type Upload = Schemas["Upload"];
export type Archive = Schemas["Archive"];
export type Message = Schemas["Message"];
export type Reaction = Schemas["Reaction"];
export type Conversation = Schemas["Conversation"];
export type Group = Schemas["Group"];
export type Member = Schemas["Member"];
export type Reference = Schemas["Reference"];
export type MemberReference = Schemas["MemberReference"];
export type Webhook = Schemas["Webhook"];
export type WebhookWithSecret = Schemas["WebhookWithSecret"];
export type Delivery = Schemas["Delivery"];
export type PushSubscription = Schemas["PushSubscription"];
export type User = Schemas["User"];
/** A user as others see them. */
export type ShownUser = Schemas["ShownUser"];
export type UserReference = Schemas["UserReference"];
export type UserWithUnread = Schemas["UserWithUnread"];
/** A file and a group of a user, as admins see them. */
export type UserFile = Schemas["UserFile"];
export type UserGroup = Schemas["UserGroup"];
export type Token = Schemas["Token"];
export type IssuedToken = Schemas["IssuedToken"];
export type AuditEntry = Schemas["AuditEntry"];
export type Me = Schemas["Me"];
export type Snapshot = Schemas["Snapshot"];
/** A conversation of a snapshot, with its newest messages and its contact or members. */
export type SnapshotConversation = Snapshot["conversations"][number];

export type EventType = Schemas["Event"]["type"];

type EventOf<Type extends EventType, Payload> = Omit<Schemas["Event"], "type" | "payload"> & {
  type: Type;
  payload: Payload;
};

/**
 * A change of something that the caller can see. The `type` determines the `payload`, which is a `Reference` or
 * `MemberReference` or `UserReference`, or a `Reaction` without `emoji`, if the caller can't see any more what the event is about.
 */
export type Event =
  | EventOf<"contact.created" | "contact.deleted" | "contact.updated", Contact>
  | EventOf<"attachment.created" | "attachment.updated", Attachment | Reference>
  | EventOf<"message.created" | "message.mentioned" | "message.updated", Message | Reference>
  | EventOf<"attachment.deleted" | "message.deleted", Reference>
  | EventOf<"reaction.created" | "reaction.deleted", Reaction>
  | EventOf<"conversation.updated", Conversation | Reference>
  | EventOf<"group.created" | "group.updated", Group | Reference>
  | EventOf<"group.deleted", Reference>
  | EventOf<"member.created" | "member.updated", Member | MemberReference>
  | EventOf<"member.deleted", Required<MemberReference>>
  | EventOf<"user.updated", ShownUser | UserReference>
  | EventOf<"webhook.disabled", Webhook>;

/** Somebody is typing. It is stored nowhere, so only a stream has it, and it has no id. */
export type TypingEvent = Schemas["TypingEvent"];
export type StreamEvent = Event | TypingEvent;

export type ContactQuery = operations["listContacts"]["query"];
export type NewContact = operations["createContact"]["body"];
export type ContactChanges = operations["updateContact"]["body"];
export type BlockQuery = operations["listBlocks"]["query"];
export type ConversationQuery = operations["listConversations"]["query"];
export type ConversationSettings = operations["updateConversation"]["body"];
export type ReadPosition = operations["markConversationRead"]["body"];
type AnyMessageQuery = operations["listMessages"]["query"];
export type MessageQuery = Omit<AnyMessageQuery, "q"> & { conversation_id: string };
export type MessageSearch = Omit<AnyMessageQuery, "around"> & { q: string };
export type NewMessage = operations["createMessage"]["body"];
export type MessageAdditions = operations["retrieveMessage"]["query"];
export type MessageChanges = operations["updateMessage"]["body"];
export type MessageDeletion = operations["deleteMessage"]["query"];
export type GroupQuery = operations["listGroups"]["query"];
export type NewGroup = operations["createGroup"]["body"];
export type GroupChanges = operations["updateGroup"]["body"];
export type MemberQuery = operations["listMembers"]["query"];
export type Invitation = operations["inviteMember"]["body"];
export type MemberChanges = operations["updateMember"]["body"];
export type ReaderQuery = operations["listReaders"]["query"];
export type AttachmentQuery = operations["listAttachments"]["query"];
export type AttachmentAdditions = operations["retrieveAttachment"]["query"];
export type AttachmentFields = operations["createAttachment"]["query"];
export type AttachmentTarget = Omit<AttachmentFields, "strip_metadata">;
export type AttachmentChanges = operations["updateAttachment"]["body"];
export type UploadQuery = operations["listUploads"]["query"];
export type NewUpload = AttachmentTarget & { filename: string };
/** The files of an archive: these, or all of a conversation. */
export type ArchiveFiles = { attachment_ids: readonly string[] } | { conversation_id: string };
export type EventQuery = Omit<operations["listEvents"]["query"], "types"> & {
  types?: readonly EventType[] | undefined;
};
export type WebhookQuery = operations["listWebhooks"]["query"];
export type WebhookFields = operations["createWebhook"]["body"];
export type WebhookChanges = operations["updateWebhook"]["body"];
export type DeliveryQuery = operations["listDeliveries"]["query"];
export type PushSubscriptionQuery = operations["listPushSubscriptions"]["query"];
export type PushSubscriptionFields = operations["createPushSubscription"]["body"];
export type UserQuery = operations["listUsers"]["query"];
export type UserFileQuery = operations["listUserFiles"]["query"];
export type UserGroupQuery = operations["listUserGroups"]["query"];
/** The changes of a user's profile. Null clears a field. */
export type UserChanges = operations["updateUser"]["body"];
export type ProfileChanges = operations["updateMe"]["body"];
export type UserFields = operations["createUser"]["body"];
export type TokenQuery = operations["listTokens"]["query"];
export type TokenFields = operations["createToken"]["body"];
export type SnapshotQuery = operations["retrieveSnapshot"]["query"];
export type AuditQuery = operations["listAudit"]["query"];
