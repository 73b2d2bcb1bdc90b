// An entry of the list on the left.
import type { Contact, Group } from "../../../packages/parley-client/src/index.ts";
import type { InboxEntry } from "../../../packages/parley-sync/src/index.ts";

/** A conversation, or a contact or group that was searched for or has no conversation. */
export type Entry = Contact | InboxEntry | Group;

/** Returns the id of an entry's contact or group. */
export function toPlace(entry: Entry): string {
  return "contact_id" in entry ? (entry.contact_id ?? entry.group_id!) : entry.id;
}
