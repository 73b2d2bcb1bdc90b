import { hash } from "node:crypto";
import { batch, get, type Statement, sql, type Write } from "../sql.ts";
import { publishNewContact } from "./events.ts";

// Two users who have each other as contacts: peers. docs/sharing.md has the rules.

/** Finds the user of a name, other than the owner, who has the owner as a contact. A scalar. */
export function findPeerId(usernameKey: string, ownerId: string): Statement {
  return sql`(SELECT them.id FROM users them
    JOIN users me ON me.id <> them.id
    JOIN contacts c ON c.owner_id = them.id AND c.username_key = me.username_key
    WHERE them.username_key = ${usernameKey} AND me.id = ${ownerId})`;
}

interface Peer {
  user_id: string;
  contact_id: string;
  conversation_id: string;
  /** When the peer has blocked the owner. */
  blocked_at: number | null;
  /** When the peer created the contact. */
  joined_at: number;
  /** The owner's username, in the form of `usernameKey`. */
  username_key: string;
  /** Whether the owner left this conversation before. */
  departed: number;
}

/** A new contact with a new conversation. */
interface NewContact {
  id: string;
  ownerId: string;
  usernameKey: string;
  body: string;
  createdAt: number;
}

/**
 * Part of other writes: moves the contact to the conversation that the peer has with the owner. The owner gets
 * everything that the peer has sent there, unless the owner left it before, and nothing that was meant for a former
 * user of the owner's name. Returns the contact as JSON text.
 */
export function* joinPeer(contact: NewContact): Write<string> {
  const { id, ownerId, usernameKey, createdAt } = contact;
  const peer = (yield* get<Peer>(
    sql`SELECT them.id AS user_id, c.id AS contact_id, c.conversation_id, c.blocked_at, m.joined_at,
        me.username_key, CASE WHEN d.user_id IS NULL THEN 0 ELSE 1 END AS departed
      FROM users them
      JOIN users me ON me.id <> them.id
      JOIN contacts c ON c.owner_id = them.id AND c.username_key = me.username_key
      JOIN members m ON m.conversation_id = c.conversation_id AND m.user_id = them.id
      LEFT JOIN departures d ON d.conversation_id = c.conversation_id AND d.user_id = me.id
      WHERE them.username_key = ${usernameKey} AND me.id = ${ownerId}`,
  ))!;
  const body = JSON.stringify({ ...JSON.parse(contact.body), conversation_id: peer.conversation_id });
  const sees = peer.blocked_at === null;
  const joining = [
    sql`INSERT INTO members (conversation_id, user_id, joined_at)
      VALUES (${peer.conversation_id}, ${ownerId}, ${createdAt})`,
    sql`UPDATE contacts SET conversation_id = ${peer.conversation_id}, body = ${body},
      peer_id = ${sees ? peer.user_id : null}, peer_since = ${sees ? createdAt : null}
      WHERE owner_id = ${ownerId} AND id = ${id}`,
    sql`UPDATE contacts SET peer_id = ${ownerId}, peer_since = ${peer.joined_at}
      WHERE owner_id = ${peer.user_id} AND id = ${peer.contact_id}`,
    publishNewContact(createdAt, ownerId, id),
  ];
  if (peer.departed === 0) {
    joining.push(
      sql`INSERT INTO grants (user_id, attachment_id, conversation_id)
        SELECT ${ownerId}, id, conversation_id FROM attachments WHERE conversation_id = ${peer.conversation_id}
        AND created_at > COALESCE((SELECT at FROM erased_names WHERE name_hash = ${hashOf(peer.username_key)}), -1)`,
    );
  }
  yield* batch(joining);
  return body;
}

/** If others stay in the conversation: a user who leaves and joins again gets nothing that was sent before. */
export function noteDeparture(conversationId: string, userId: string): Statement {
  return sql`INSERT INTO departures (conversation_id, user_id)
    SELECT conversation_id, ${userId} FROM members WHERE conversation_id = ${conversationId} LIMIT 1
    ON CONFLICT (conversation_id, user_id) DO NOTHING`;
}

/** Matches the contact that the user of that name has of the owner. */
function isTheirs(usernameKey: string, ownerId: string): Statement {
  return sql`owner_id = (SELECT id FROM users WHERE username_key = ${usernameKey})
    AND username_key = (SELECT username_key FROM users WHERE id = ${ownerId})`;
}

/** Hides from the user of that name when the owner was last active. */
export function hidePresence(ownerId: string, usernameKey: string): Statement {
  return sql`UPDATE contacts SET peer_id = NULL, peer_since = NULL WHERE ${isTheirs(usernameKey, ownerId)}`;
}

/** Shows the user of that name when the owner was last active, if they are peers. */
export function showPresence(ownerId: string, usernameKey: string): Statement {
  return sql`UPDATE contacts SET peer_id = ${ownerId}, peer_since =
      (SELECT m.joined_at FROM members m WHERE m.conversation_id = contacts.conversation_id AND m.user_id = owner_id)
    WHERE ${isTheirs(usernameKey, ownerId)} AND owner_id <> ${ownerId}`;
}

/** Part of erasing a user: removes the user as peer of the contact of that name. */
export function forgetPeer(userId: string, ownKey: string, usernameKey: string): Statement {
  return sql`UPDATE contacts SET peer_id = NULL, peer_since = NULL
    WHERE owner_id = (SELECT id FROM users WHERE username_key = ${usernameKey}) AND username_key = ${ownKey}
      AND peer_id = ${userId}`;
}

/** Part of erasing a user: a later user of the name gets nothing that was sent before. */
export function noteErasedName(usernameKey: string, erasedAt: number): Statement {
  return sql`INSERT INTO erased_names (name_hash, at) VALUES (${hashOf(usernameKey)}, ${erasedAt})
    ON CONFLICT (name_hash) DO UPDATE SET at = excluded.at`;
}

/** Stored as a hash: the name is erased with its user. */
function hashOf(usernameKey: string): Uint8Array {
  return hash("sha256", usernameKey, "buffer");
}
