import { hash } from "node:crypto";
import { tellOfNewContact } from "./events.ts";
import { get, type Statement, statement, type Write } from "./sql.ts";

// Two users who have each other as contacts: peers. docs/sharing.md has the rules.

/** The user of a name, who is not the owner, where that user has the owner as a contact: of that name and that owner. */
export const PEER = `(SELECT them.id FROM users them
  JOIN users me ON me.id <> them.id
  JOIN contacts c ON c.owner_id = them.id AND c.username_key = me.username_key
  WHERE them.username_key = ? AND me.id = ?)`;

const FIND_PEER = `SELECT them.id AS user_id, c.id AS contact_id, c.conversation_id, c.blocked_at, m.joined_at,
    me.username_key, CASE WHEN d.user_id IS NULL THEN 0 ELSE 1 END AS departed
  FROM users them
  JOIN users me ON me.id <> them.id
  JOIN contacts c ON c.owner_id = them.id AND c.username_key = me.username_key
  JOIN members m ON m.conversation_id = c.conversation_id AND m.user_id = them.id
  LEFT JOIN departures d ON d.conversation_id = c.conversation_id AND d.user_id = me.id
  WHERE them.username_key = ? AND me.id = ?`;

interface Peer {
  user_id: string;
  contact_id: string;
  conversation_id: string;
  /** When the peer has blocked the owner. */
  blocked_at: number | null;
  /** When the peer made the contact. */
  joined_at: number;
  /** Of the owner. */
  username_key: string;
  /** Whether the owner has left this conversation before. */
  departed: number;
}

/** A contact that was just made, with a conversation of its own. */
interface NewContact {
  id: string;
  ownerId: string;
  usernameKey: string;
  body: string;
  createdAt: number;
}

/**
 * Part of other writes: in place of one of its own the contact gets the conversation that the peer has with the owner, with
 * all that the peer has sent there, unless the owner left it before, and nothing of what was meant for a former user of the
 * owner's name. Returns the contact as JSON text.
 */
export function* joinPeer(contact: NewContact): Write<string> {
  const { id, ownerId, usernameKey, createdAt } = contact;
  const peer = (yield* get<Peer>(FIND_PEER, usernameKey, ownerId))!;
  const body = JSON.stringify({ ...JSON.parse(contact.body), conversation_id: peer.conversation_id });
  const sees = peer.blocked_at === null;
  const joining = [
    statement(
      "INSERT INTO members (conversation_id, user_id, joined_at) VALUES (?, ?, ?)",
      peer.conversation_id,
      ownerId,
      createdAt,
    ),
    statement(
      `UPDATE contacts SET conversation_id = ?, body = ?, peer_id = ?, peer_since = ?
       WHERE owner_id = ? AND id = ?`,
      peer.conversation_id,
      body,
      sees ? peer.user_id : null,
      sees ? createdAt : null,
      ownerId,
      id,
    ),
    statement(
      "UPDATE contacts SET peer_id = ?, peer_since = ? WHERE owner_id = ? AND id = ?",
      ownerId,
      peer.joined_at,
      peer.user_id,
      peer.contact_id,
    ),
    tellOfNewContact(createdAt, ownerId, id),
  ];
  if (peer.departed === 0) {
    joining.push(
      statement(
        `INSERT INTO grants (user_id, attachment_id, conversation_id)
         SELECT ?, id, conversation_id FROM attachments WHERE conversation_id = ?
         AND created_at > COALESCE((SELECT at FROM erased_names WHERE name_hash = ?), -1)`,
        ownerId,
        peer.conversation_id,
        hashOf(peer.username_key),
      ),
    );
  }
  yield joining;
  return body;
}

/** Where others go on with a conversation: whoever has left it gets nothing of what was sent before by joining it again. */
export function noteDeparture(conversationId: string, userId: string): Statement {
  return statement(
    `INSERT INTO departures (conversation_id, user_id)
     SELECT conversation_id, ? FROM members WHERE conversation_id = ? LIMIT 1
     ON CONFLICT (conversation_id, user_id) DO NOTHING`,
    userId,
    conversationId,
  );
}

// The contact that the user of that name has of the owner.
const THEIRS = `owner_id = (SELECT id FROM users WHERE username_key = ?)
  AND username_key = (SELECT username_key FROM users WHERE id = ?)`;

/** The user of that name no longer sees when the owner was last active. */
export function hidePresence(ownerId: string, usernameKey: string): Statement {
  return statement(
    `UPDATE contacts SET peer_id = NULL, peer_since = NULL WHERE ${THEIRS}`,
    usernameKey,
    ownerId,
  );
}

/** The user of that name sees when the owner was last active, where they are peers. */
export function showPresence(ownerId: string, usernameKey: string): Statement {
  return statement(
    `UPDATE contacts SET peer_id = ?, peer_since =
       (SELECT m.joined_at FROM members m WHERE m.conversation_id = contacts.conversation_id AND m.user_id = owner_id)
     WHERE ${THEIRS} AND owner_id <> ?`,
    ownerId,
    usernameKey,
    ownerId,
    ownerId,
  );
}

/** Part of the erasing of a user, while the contacts are there: to all who have the user as a contact it is nobody's now. */
export function forgetPeer(userId: string, usernameKey: string, erasedAt: number): Statement[] {
  return [
    statement(
      `UPDATE contacts SET peer_id = NULL, peer_since = NULL WHERE username_key = ? AND owner_id IN (
         SELECT other.user_id FROM contacts mine
         JOIN members other ON other.conversation_id = mine.conversation_id AND other.user_id <> mine.owner_id
         WHERE mine.owner_id = ?)`,
      usernameKey,
      userId,
    ),
    statement(
      `INSERT INTO erased_names (name_hash, at) VALUES (?, ?)
       ON CONFLICT (name_hash) DO UPDATE SET at = excluded.at`,
      hashOf(usernameKey),
      erasedAt,
    ),
  ];
}

/** The name itself goes with its user. */
function hashOf(usernameKey: string): Uint8Array {
  return hash("sha256", usernameKey, "buffer");
}
