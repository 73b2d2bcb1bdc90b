import type { Operation } from "../protocol/operation.ts";
import { eventOperation } from "./events/events.ts";
import { snapshotOperation } from "./events/snapshot.ts";
import { archiveOperation, downloadOperation } from "./files/archives.ts";
import { attachmentOperations, uploadOperation } from "./files/attachments.ts";
import { fileOperation } from "./files/files.ts";
import { uploadOperations } from "./files/uploads.ts";
import { groupOperations } from "./groups/groups.ts";
import { conversationOperations } from "./messages/conversations.ts";
import { messageOperations } from "./messages/messages.ts";
import { avatarOperation, myAvatarOperations, userAvatarOperations } from "./people/avatars.ts";
import { blockOperations } from "./people/blocks.ts";
import { contactOperations } from "./people/contacts.ts";
import { meOperations } from "./people/me.ts";
import { tokenOperations } from "./people/tokens.ts";
import { userOperations } from "./people/users.ts";
import { auditOperation } from "./record/audit.ts";
import { healthOperations } from "./upkeep/health.ts";
import { metricsOperation } from "./upkeep/metrics.ts";
import { pushSubscriptionOperations } from "./webhooks/push-subscriptions.ts";
import { webhookOperations } from "./webhooks/webhooks.ts";

export interface Group {
  tag: string;
  description: string;
  operations: readonly Operation[];
}

/** All operations, in the order of the document. */
export const groups: readonly Group[] = [
  {
    tag: "contacts",
    description: "People in the caller's contact list.",
    operations: contactOperations,
  },
  {
    tag: "blocks",
    description: "Usernames whose users the caller receives nothing from.",
    operations: blockOperations,
  },
  {
    tag: "conversations",
    description: "The caller's inbox, read positions and settings.",
    operations: conversationOperations,
  },
  {
    tag: "messages",
    description: "What users send each other in conversations.",
    operations: messageOperations,
  },
  {
    tag: "groups",
    description: "Conversations of several users, who all have accepted an invitation.",
    operations: groupOperations,
  },
  {
    tag: "attachments",
    description: "Files shared in conversations.",
    operations: [...attachmentOperations, uploadOperation],
  },
  {
    tag: "uploads",
    description: "Files that come in with several requests, and survive a lost connection.",
    operations: uploadOperations,
  },
  { tag: "files", description: "The bytes of attachments.", operations: [fileOperation] },
  {
    tag: "archives",
    description: "Several files as one ZIP archive.",
    operations: [archiveOperation, downloadOperation],
  },
  { tag: "events", description: "Changes of what the caller can see.", operations: [eventOperation] },
  {
    tag: "snapshot",
    description: "The state that a client begins with, and the cursor of later events.",
    operations: [snapshotOperation],
  },
  { tag: "webhooks", description: "Addresses that Parley sends events to.", operations: webhookOperations },
  {
    tag: "push_subscriptions",
    description: "Devices that Parley alerts of new messages.",
    operations: pushSubscriptionOperations,
  },
  { tag: "me", description: "The caller.", operations: [...meOperations, ...myAvatarOperations] },
  {
    tag: "users",
    description: "The users of the service, for your back end.",
    operations: [...userOperations, ...userAvatarOperations, avatarOperation],
  },
  { tag: "tokens", description: "The access tokens of users.", operations: tokenOperations },
  { tag: "audit", description: "Who did what, and when.", operations: [auditOperation] },
  {
    tag: "service",
    description: "Health and metrics, for supervisors and monitoring.",
    operations: [...healthOperations, metricsOperation],
  },
];

export const allOperations = groups.flatMap(({ operations }) => operations);
