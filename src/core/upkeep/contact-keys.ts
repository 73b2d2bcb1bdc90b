import type { Database } from "../../db/database.ts";
import { type ContactKeys, followsNameRule } from "../../db/queries/people/contact-keys.ts";
import { rowsAfter } from "../../db/queries/upkeep/tables.ts";
import { phoneDigits, searchKey } from "../../util/text.ts";

const CONTACTS = {
  name: "contacts",
  key: ["owner_id", "id"],
  columns: ["owner_id", "id", "search_key", "phone_digits", "body"],
};
/** Contacts per write: other nodes' writes wait for it. */
const AT_ONCE = 500;

/** Recomputes the search keys of contacts if the rules for them have changed. */
export async function renewContactKeys(db: Database): Promise<void> {
  if (await followsNameRule(db)) return;
  for await (const rows of rowsAfter(db, CONTACTS, undefined, AT_ONCE)) {
    const contacts: ContactKeys[] = [];
    for (const [ownerId, id, oldKey, oldDigits, body] of rows as string[][]) {
      const contact = toKeys(ownerId!, id!, body!);
      if (contact.searchKey !== oldKey || contact.phoneDigits !== oldDigits) contacts.push(contact);
    }
    if (contacts.length > 0) await db.write("setContactKeys", { contacts });
  }
  await db.write("setNameRule", undefined);
}

function toKeys(ownerId: string, id: string, body: string): ContactKeys {
  const contact = JSON.parse(body) as { username: string; phone_number: string; display_name: string | null };
  return {
    ownerId,
    id,
    body,
    searchKey: searchKey(contact.username, contact.display_name),
    phoneDigits: phoneDigits(contact.phone_number),
  };
}
