import { createAttachment, deleteAttachment, renameAttachment } from "./attachments.ts";
import { createContact, deleteContact, updateContact } from "./contacts.ts";
import { dropHold, placeHold, renewHold } from "./holds.ts";
import { createToken, deleteToken } from "./tokens.ts";
import { dropTombstones } from "./tombstones.ts";
import { createFirstUser, createUser, deleteUser } from "./users.ts";

/** Every write that the service does, by name. */
export const writes = {
  createAttachment,
  createContact,
  createFirstUser,
  createToken,
  createUser,
  deleteAttachment,
  deleteContact,
  deleteToken,
  deleteUser,
  dropHold,
  dropTombstones,
  placeHold,
  renameAttachment,
  renewHold,
  updateContact,
};
