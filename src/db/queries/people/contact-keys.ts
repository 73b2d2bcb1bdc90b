import { NAME_RULE } from "../../../util/text.ts";
import { type Reader, sql } from "../../sql.ts";
import { batch, type Write } from "../../write.ts";

/** The search keys of a contact, computed from its body. */
export interface ContactKeys {
  ownerId: string;
  id: string;
  body: string;
  searchKey: string;
  phoneDigits: string;
}

/** Reports whether contacts are stored with the keys that this version computes. */
export async function followsNameRule(db: Reader): Promise<boolean> {
  return (await db.get<{ rule: string }>(sql`SELECT rule FROM name_rule`))?.rule === NAME_RULE;
}

/** Sets search keys. Skips contacts that have changed since they were read: the change has set their keys. */
function* setContactKeys({ contacts }: { contacts: readonly ContactKeys[] }): Write<void> {
  yield* batch(
    contacts.map(
      ({ ownerId, id, body, searchKey, phoneDigits }) =>
        sql`UPDATE contacts SET search_key = ${searchKey}, phone_digits = ${phoneDigits}
          WHERE owner_id = ${ownerId} AND id = ${id} AND body = ${body}`,
    ),
  );
}

function* setNameRule(): Write<void> {
  yield* batch([sql`DELETE FROM name_rule`, sql`INSERT INTO name_rule (rule) VALUES (${NAME_RULE})`]);
}

export const contactKeyWrites = { setContactKeys, setNameRule };
