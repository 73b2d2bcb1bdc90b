// What the tests of databases write.
import type { CreateAttachment } from "../../src/db/attachments.ts";
import type { Act } from "../../src/db/audit.ts";
import type { CreateContact } from "../../src/db/contacts.ts";
import type { Database } from "../../src/db/database.ts";

let acts = 0;

/** For writes that the audit trail tells of. */
export function act(): Act {
  return { id: `aud_${String(++acts).padStart(6, "0")}`, at: 1, actorId: null, tokenId: null };
}

export function contact(owner: string, number: number): CreateContact {
  return {
    id: `con_${owner}_${String(number).padStart(4, "0")}`,
    ownerId: owner,
    usernameKey: `name ${number}`,
    phoneDigits: "1555",
    searchKey: ` name ${number} å 😀`,
    conversationId: `cnv_${owner}_${number}`,
    body: JSON.stringify({
      id: `con_${owner}_${String(number).padStart(4, "0")}`,
      username: `Name ${number}`,
      display_name: "Å 😀",
    }),
    createdAt: 1_800_000_000_000 + number,
    maxContacts: 0,
    act: act(),
  };
}

export async function addUser(db: Database, name: string): Promise<void> {
  await db.write("createUser", {
    id: name,
    username: name.toUpperCase(),
    usernameKey: name,
    phoneNumber: null,
    conversationId: `cnv_${name}_notes`,
    createdAt: 1_800_000_000_000,
  });
}

export function attachment(
  uploader: string,
  number: number,
  target: CreateAttachment["target"] = {},
): CreateAttachment {
  return {
    id: `att_${String(number).padStart(4, "0")}`,
    uploader_id: uploader,
    filename: "ä.txt",
    file_type: "text/plain",
    file_size: 5_000_000_000,
    sha256: new Uint8Array(32).fill(number),
    blob_key: `blob-${number}`,
    crc32: null,
    bytes: null,
    created_at: 1_800_000_000_000,
    target,
    newMessageId: `msg_${number}`,
    hasIntent: false,
    reservation: null,
    act: act(),
  };
}

export const walk = (cursor: string, limit: number, newer = false) => ({ cursor, limit, newer });
