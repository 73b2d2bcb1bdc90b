import { createAttachment, deleteAttachment, renameAttachment } from "./attachments.ts";
import { forgetActs, recordDownloads } from "./audit.ts";
import { createContact, deleteContact, updateContact } from "./contacts.ts";
import { dropHold, placeHold, renewHold } from "./holds.ts";
import { createIntent, dropIntent, lapseIntents, renewIntent } from "./intents.ts";
import { beginMove, endMove, forgetSecrets, importRows } from "./tables.ts";
import { createToken, deleteTokens, forgetExpiredTokens } from "./tokens.ts";
import { dropTombstones } from "./tombstones.ts";
import { createFirstUser, createUser, deleteUser } from "./users.ts";

/** Writes by which tokens go. */
export const revoking: ReadonlySet<string> = new Set(["deleteTokens", "deleteUser"]);

/** Every write that the service does, by name. */
export const writes = {
  beginMove,
  createAttachment,
  createContact,
  createFirstUser,
  createIntent,
  createToken,
  createUser,
  deleteAttachment,
  deleteContact,
  deleteTokens,
  deleteUser,
  dropHold,
  dropIntent,
  dropTombstones,
  endMove,
  forgetActs,
  forgetExpiredTokens,
  forgetSecrets,
  importRows,
  lapseIntents,
  placeHold,
  recordDownloads,
  renameAttachment,
  renewHold,
  renewIntent,
  updateContact,
};
