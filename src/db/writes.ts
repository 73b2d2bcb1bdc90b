import { createAttachment, deleteAttachment, renameAttachment } from "./attachments.ts";
import { createContact, deleteContact, updateContact } from "./contacts.ts";
import { dropHold, placeHold, renewHold } from "./holds.ts";
import { createIdentity } from "./identities.ts";
import { createIntent, dropIntent, lapseIntents, renewIntent } from "./intents.ts";
import { beginMove, endMove, forgetSecrets, importRows } from "./tables.ts";
import { createToken, deleteToken, deleteTokens } from "./tokens.ts";
import { dropTombstones } from "./tombstones.ts";
import { createFirstUser, createUser, deleteUser } from "./users.ts";

/** Writes by which tokens go. */
export const revoking: ReadonlySet<string> = new Set(["deleteToken", "deleteTokens", "deleteUser"]);

/** Every write that the service does, by name. */
export const writes = {
  beginMove,
  createAttachment,
  createContact,
  createFirstUser,
  createIdentity,
  createIntent,
  createToken,
  createUser,
  deleteAttachment,
  deleteContact,
  deleteToken,
  deleteTokens,
  deleteUser,
  dropHold,
  dropIntent,
  dropTombstones,
  endMove,
  forgetSecrets,
  importRows,
  lapseIntents,
  placeHold,
  renameAttachment,
  renewHold,
  renewIntent,
  updateContact,
};
