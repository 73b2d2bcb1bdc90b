import { get, type Statement, statement, type Write } from "./sql.ts";

// Two users who have each other as contacts: peers. docs/sharing.md has the rules.

/** Not null where the user of a name, who is not the owner, has the owner as a contact: of that name and that owner. */
export const HAS_PEER = `(SELECT 1 FROM users them
  JOIN users me ON me.id <> them.id
  JOIN contacts c ON c.owner_id = them.id AND c.username_key = me.username_key
  WHERE them.username_key = ? AND me.id = ?)`;

const FIND_PEER = `SELECT them.id AS user_id, c.id AS contact_id, c.conversation_id, c.blocked_at, m.joined_at,
    CASE WHEN d.left_key IS NULL THEN 0 ELSE 1 END AS departed
  FROM users them
  JOIN users me ON me.id <> them.id
  JOIN contacts c ON c.owner_id = them.id AND c.username_key = me.username_key
  JOIN members m ON m.conversation_id = c.conversation_id AND m.user_id = them.id
  LEFT JOIN departures d ON d.username_key = me.username_key AND d.left_key = them.username_key
  WHERE them.username_key = ? AND me.id = ?`;

interface Peer {
  user_id: string;
  contact_id: string;
  conversation_id: string;
  /** When the peer has blocked the owner. */
  blocked_at: number | null;
  /** When the peer made the contact. */
  joined_at: number;
  /** Whether the owner has left the peer before. */
  departed: number;
}

/** A contact that was just made, with a conversation of its own. */
interface NewContact {
  id: string;
  ownerId: string;
  usernameKey: string;
  conversationId: string;
  body: string;
  createdAt: number;
}

/**
 * Part of other writes: in place of its own the contact gets the conversation that the peer has with the owner, with all
 * that the peer has sent there, unless the owner left it before. Returns the contact as JSON text.
 */
export function* joinPeer(contact: NewContact): Write<string> {
  const { id, ownerId, usernameKey, conversationId, createdAt } = contact;
  const peer = (yield* get<Peer>(FIND_PEER, usernameKey, ownerId))!;
  const body = JSON.stringify({ ...JSON.parse(contact.body), conversation_id: peer.conversation_id });
  const sees = peer.blocked_at === null;
  const joining = [
    statement(
      "UPDATE members SET conversation_id = ? WHERE conversation_id = ? AND user_id = ?",
      peer.conversation_id,
      conversationId,
      ownerId,
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
  ];
  if (peer.departed === 0) {
    joining.push(
      statement(
        `INSERT INTO grants (user_id, attachment_id, conversation_id)
         SELECT ?, id, conversation_id FROM attachments WHERE conversation_id = ?`,
        ownerId,
        peer.conversation_id,
      ),
    );
  }
  yield joining;
  return body;
}

/** Whoever of the owner's name joins a conversation with the other one anew gets nothing of what was sent before. */
export function noteDeparture(ownerId: string, usernameKey: string): Statement {
  return statement(
    `INSERT INTO departures (username_key, left_key) SELECT username_key, ? FROM users WHERE id = ?
     ON CONFLICT (username_key, left_key) DO NOTHING`,
    usernameKey,
    ownerId,
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

const PEERS_OF = `contacts mine
  JOIN members other ON other.conversation_id = mine.conversation_id AND other.user_id <> mine.owner_id
  WHERE mine.owner_id = ?`;

/**
 * Part of the erasing of a user, while the contacts are there. Of all whom the user has left only those are kept in mind
 * who have a contact of that name still: another user of the same name, made later, gets nothing of what this one had.
 */
export function departuresOf(userId: string): Statement[] {
  const name = "(SELECT username_key FROM users WHERE id = ?)";
  return [
    statement(
      `UPDATE contacts SET peer_id = NULL, peer_since = NULL
       WHERE username_key = ${name} AND owner_id IN (SELECT other.user_id FROM ${PEERS_OF})`,
      userId,
      userId,
    ),
    statement(
      `DELETE FROM departures WHERE username_key = ${name} AND NOT EXISTS (
         SELECT 1 FROM users them JOIN contacts c ON c.owner_id = them.id AND c.username_key = departures.username_key
         WHERE them.username_key = departures.left_key)`,
      userId,
    ),
    statement(
      `INSERT INTO departures (username_key, left_key)
       SELECT ${name}, them.username_key FROM users them
       WHERE them.id IN (SELECT other.user_id FROM ${PEERS_OF})
       ON CONFLICT (username_key, left_key) DO NOTHING`,
      userId,
      userId,
    ),
  ];
}
