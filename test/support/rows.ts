import type { Database } from "../../src/db/database.ts";
import type { CreateAttachment } from "../../src/db/queries/files/attachments.ts";
import type { UploadRow } from "../../src/db/queries/files/upload-resumable.ts";
import type { SendMessage } from "../../src/db/queries/messages/message-send.ts";
import type { CreateContact } from "../../src/db/queries/people/contacts.ts";
import type { CreateToken } from "../../src/db/queries/people/tokens.ts";
import type { CreateUser } from "../../src/db/queries/people/users.ts";
import type { NewEntry } from "../../src/db/queries/record/audit-trail.ts";
import type { NewFile } from "../../src/db/queries/storage/files.ts";
import type { DeleteUser } from "../../src/db/queries/upkeep/erasing.ts";
import { idOfBits } from "../../src/util/ids.ts";

let acts = 0;

/** Returns an audit entry without an actor, with a new id. */
export function anEntry(): NewEntry {
  return {
    id: `aud_${String(++acts).padStart(6, "0")}`,
    at: 1_800_000_000_000,
    actorId: null,
    tokenId: null,
    actedById: null,
  };
}

/** Returns a user whose names are derived from the id. */
export function aUser(id: string, fields: Partial<CreateUser> = {}): CreateUser {
  return {
    id,
    username: id.toUpperCase(),
    usernameKey: id,
    phoneNumber: null,
    displayName: null,
    avatarUrl: null,
    data: null,
    kind: "person",
    acceptsEveryone: false,
    messageLimit: null,
    setFields: "",
    conversationId: `cnv_${id}_notes`,
    createdAt: 1_800_000_000_000,
    entry: anEntry(),
    ...fields,
  };
}

/** Returns the deletion of a user. */
export function aDeletion(id: string, fields: Partial<DeleteUser> = {}): DeleteUser {
  return { id, expected: null, deletedAt: 1, limit: 250, messageId: "m", entry: anEntry(), ...fields };
}

/** Returns a token whose hash is derived from the number. */
export function aToken(userId: string, number: number, fields: Partial<CreateToken> = {}): CreateToken {
  return {
    id: `tok_${String(number).padStart(4, "0")}`,
    hash: new Uint8Array(32).fill(number),
    userId,
    name: null,
    scopes: "admin",
    expiresAt: null,
    createdAt: 1_800_000_000_000,
    limit: 0,
    entry: anEntry(),
    sealed: null,
    ...fields,
  };
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
    blocked: false,
    positionId: `cnv_${owner}_${number}`,
    limit: 1000,
    maxContacts: 0,
    actId: anEntry().id,
    tokenId: null,
    actedById: null,
  };
}

/** Returns the id of a message. Ids sort by their numbers and are a millisecond apart. */
export function messageId(number: number): string {
  return idOfBits("msg", 1_800_000_000_000 + number, 0n);
}

export async function addUser(db: Database, name: string): Promise<void> {
  await db.write("createUser", aUser(name));
}

export function attachment(
  uploader: string,
  number: number,
  target: CreateAttachment["target"] = {},
  fields: Partial<NewFile> = {},
): CreateAttachment {
  return {
    file: {
      id: `att_${String(number).padStart(4, "0")}`,
      uploaderId: uploader,
      filename: "ä.txt",
      fileType: "text/plain",
      fileSize: 5_000_000_000,
      sha256: new Uint8Array(32).fill(number),
      blobKey: `blob-${number}`,
      crc32: null,
      bytes: null,
      createdAt: 1_800_000_000_000,
      hasIntent: false,
      reservation: null,
      filesPerDay: 0,
      isUnscanned: false,
      pictureSize: null,
      entry: anEntry(),
      ...fields,
    },
    target,
    newMessageId: messageId(number),
    now: 1_800_000_000_000,
  };
}

/** Returns an upload without bytes, held by a process. */
export function anUpload(userId: string): UploadRow {
  return {
    ...{ id: "upl_1", user_id: userId, filename: "a", declared_type: null, conversation_id: null },
    ...{ message_id: null, length: null, received: 0, blob_key: "b".repeat(32), parts: null, tail_key: null },
    ...{ holder: "1".repeat(32), attachment_id: null, created_at: 1, expires_at: 9 },
  };
}

/** Returns a message with only text. */
export function message(
  senderId: string,
  number: number,
  conversationId: string,
  fields: Partial<SendMessage> = {},
): SendMessage {
  return {
    ...{ newId: messageId(number), conversationId, senderId, text: `text ${number}`, data: null },
    ...{
      mentions: [],
      replyToId: null,
      clientId: null,
      files: [],
      now: 1_800_000_000_000 + number,
      entry: null,
    },
    ...fields,
  };
}

export const walk = (cursor: string, limit: number, newer = false) => ({ cursor, limit, newer });
