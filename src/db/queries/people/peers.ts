import { hash } from "node:crypto";
import { idBound } from "../../../util/ids.ts";
import { type Statement, sql } from "../../sql.ts";
import { batch, get, type Write } from "../../write.ts";
import { publishEvent } from "../events/events.ts";
import { positionOf } from "../visibility/seats.ts";
import { receiveWaiting } from "./conversation-joining.ts";

// Peers are two users who have each other as contacts. docs/sharing.md has the rules.

/** Selects, as a scalar, the user with this name, other than the owner, who has the owner as a contact. */
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
  /** When the peer blocked the owner. */
  blocked_at: number | null;
  /** When the peer created the contact. */
  joined_at: number;
  /** The last message of the conversation; null if there was none. */
  last_id: string | null;
  /** Whether the owner left this conversation before. */
  departed: number;
  /** The owner's username, in the form of `usernameKey`. */
  username_key: string;
}

/** A new contact with a new conversation. */
interface NewContact {
  id: string;
  ownerId: string;
  usernameKey: string;
  body: string;
  createdAt: number;
  blocked: boolean;
  /** If messages wait, the conversation gets the position of this id in the inbox. */
  positionId: string;
  /** How many grants to write at once. The eraser writes the rest. */
  limit: number;
}

/**
 * Part of other writes: moves the contact to the conversation that the peer has with the owner, and returns its id. The owner
 * sees everything that the peer has sent there, unless the owner has left it before. The owner does not see messages for a
 * former user of the owner's name, or messages that were withheld when a block ended.
 */
export function* joinPeer(contact: NewContact): Write<string> {
  const { id, ownerId, usernameKey, createdAt } = contact;
  const peer = (yield* get<Peer>(
    sql`SELECT them.id AS user_id, c.id AS contact_id, c.conversation_id, c.blocked_at, m.joined_at,
        (SELECT last_id FROM conversations WHERE id = c.conversation_id) AS last_id, me.username_key,
        CASE WHEN d.user_id IS NULL THEN 0 ELSE 1 END AS departed
      FROM users them
      JOIN users me ON me.id <> them.id
      JOIN contacts c ON c.owner_id = them.id AND c.username_key = me.username_key
      JOIN members m ON m.conversation_id = c.conversation_id AND m.user_id = them.id
      LEFT JOIN departures d ON d.conversation_id = c.conversation_id AND d.user_id = me.id
      WHERE them.username_key = ${usernameKey} AND me.id = ${ownerId}`,
  ))!;
  const { conversation_id: conversationId } = peer;
  const sinceId = yield* findSince(peer, contact.blocked);
  const body = JSON.stringify({ ...JSON.parse(contact.body), conversation_id: conversationId });
  const sees = peer.blocked_at === null;
  const shows = !contact.blocked;
  yield* batch([
    sql`INSERT INTO members (conversation_id, user_id, joined_at, since_id, contact_id, contact_joined)
      VALUES (${conversationId}, ${ownerId}, ${createdAt}, ${sinceId}, ${id}, 1)`,
    sql`UPDATE members SET contact_joined = 1 WHERE conversation_id = ${conversationId} AND user_id = ${peer.user_id}`,
    sql`UPDATE contacts SET conversation_id = ${conversationId}, body = ${body},
      peer_id = ${sees ? peer.user_id : null}, peer_since = ${sees ? createdAt : null}
      WHERE owner_id = ${ownerId} AND id = ${id}`,
    sql`UPDATE contacts SET peer_id = ${shows ? ownerId : null}, peer_since = ${shows ? peer.joined_at : null}
      WHERE owner_id = ${peer.user_id} AND id = ${peer.contact_id}`,
    publishEvent("contact.created", createdAt, ownerId, conversationId, body),
  ]);
  if (peer.last_id !== null && peer.last_id > sinceId) {
    const seat = { user_id: ownerId, conversation_id: conversationId, since_id: sinceId };
    yield* receiveWaiting(seat, positionOf(contact.positionId), contact.limit);
  }
  return conversationId;
}

/**
 * Part of unblocking: withholds messages that were sent since the block (milliseconds) to the conversation that the user of that
 * name has with the owner, if the owner may still join it and would receive them.
 */
export function withholdWaiting(ownerId: string, usernameKey: string, since: number): Statement {
  const bound = idBound("msg", since);
  // Extends the run of an earlier block if messages of both have the same time.
  return sql`INSERT INTO withheld (user_id, conversation_id, from_id, to_id)
    SELECT me.id, v.id, COALESCE((SELECT w.from_id FROM withheld w WHERE w.user_id = me.id AND w.conversation_id = v.id
        AND w.to_id >= ${bound} ORDER BY w.from_id DESC LIMIT 1), ${bound}), v.last_id
      FROM users me
      JOIN users them ON them.id <> me.id
      JOIN contacts c ON c.owner_id = them.id AND c.username_key = me.username_key
      JOIN conversations v ON v.id = c.conversation_id
      WHERE me.id = ${ownerId} AND them.username_key = ${usernameKey} AND v.last_id >= ${bound}
        AND NOT EXISTS (SELECT 1 FROM members m WHERE m.conversation_id = v.id AND m.user_id = me.id)
        AND NOT EXISTS (SELECT 1 FROM departures d WHERE d.conversation_id = v.id AND d.user_id = me.id)
    ON CONFLICT (user_id, conversation_id, from_id) DO UPDATE SET to_id = excluded.to_id`;
}

/** Part of leaving a conversation with the user of that name: erases withheld runs if that user has never joined. */
export function forgetWaiting(conversationId: string, usernameKey: string): Statement {
  return sql`DELETE FROM withheld WHERE conversation_id = ${conversationId}
    AND user_id = (SELECT id FROM users WHERE username_key = ${usernameKey})
    AND NOT EXISTS (SELECT 1 FROM members m WHERE m.conversation_id = withheld.conversation_id
      AND m.user_id = withheld.user_id)
    AND NOT EXISTS (SELECT 1 FROM departures d WHERE d.conversation_id = withheld.conversation_id
      AND d.user_id = withheld.user_id)`;
}

/** For this long after a user is erased, messages to that name may still be meant for the erased user. */
const GRACE_MS = 60_000;

/**
 * Returns the last message that the new member does not see. All waiting messages are from the peer or a former member, so a
 * member who blocks the peer while joining receives none.
 */
function* findSince({ departed, last_id, username_key }: Peer, isPeerBlocked: boolean): Write<string> {
  if (last_id === null) return "";
  if (departed === 1 || isPeerBlocked) return last_id;
  const erased = yield* get(whenErased(username_key));
  if (!erased) return "";
  const graceEnd = idBound("msg", erased.at + GRACE_MS + 1);
  // Messages sent after the member has joined are meant for that member.
  return graceEnd < last_id ? graceEnd : last_id;
}

/** Matches the contact by which the user of that name has the owner. */
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
    WHERE ${isTheirs(usernameKey, ownerId)} AND owner_id <> ${ownerId}
      AND EXISTS (SELECT 1 FROM contacts c WHERE c.owner_id = ${ownerId} AND c.username_key = ${usernameKey})`;
}

/** Part of erasing a user: removes the user as the peer of the contact that the user of that name has. */
export function forgetPeer(userId: string, ownKey: string, usernameKey: string): Statement {
  return sql`UPDATE contacts SET peer_id = NULL, peer_since = NULL
    WHERE owner_id = (SELECT id FROM users WHERE username_key = ${usernameKey}) AND username_key = ${ownKey}
      AND peer_id = ${userId}`;
}

/** Part of erasing a user: records the time, so that a later user of the name gets nothing that was sent before. */
export function noteErasedName(usernameKey: string, erasedAt: number): Statement {
  return sql`INSERT INTO erased_names (name_hash, at) VALUES (${hashOf(usernameKey)}, ${erasedAt})
    ON CONFLICT (name_hash) DO UPDATE SET at = excluded.at`;
}

/** Selects when the last user of this name was erased, milliseconds. */
export function whenErased(usernameKey: string): Statement<{ at: number }> {
  return sql`SELECT at FROM erased_names WHERE name_hash = ${hashOf(usernameKey)}`;
}

/** Hashes the name, because the name itself is erased with its user. */
function hashOf(usernameKey: string): Uint8Array {
  return hash("sha256", usernameKey, "buffer");
}
