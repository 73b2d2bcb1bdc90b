import type { Limits } from "../config.ts";
import { attachmentOperations, uploadOperation } from "./attachments.ts";
import { auditOperation } from "./audit.ts";
import { contactOperations } from "./contacts.ts";
import { eventOperation } from "./events.ts";
import { meOperation } from "./me.ts";
import type { Operation } from "./operation.ts";
import { tokenOperations } from "./tokens.ts";
import { userOperations } from "./users.ts";
import { webhookOperations } from "./webhooks.ts";

/** Everything that the API does, in the order in which its document shows it. */
export function allOperations(limits: Limits): readonly Operation[] {
  return [
    ...contactOperations,
    ...attachmentOperations,
    uploadOperation(limits),
    eventOperation,
    ...webhookOperations,
    meOperation(limits),
    ...userOperations,
    ...tokenOperations,
    auditOperation,
  ];
}
