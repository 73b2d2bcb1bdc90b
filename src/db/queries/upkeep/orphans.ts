import { type Reader, type Statement, sql } from "../../sql.ts";
import { sees } from "../visibility/visibility.ts";
import { LOST } from "./contact-repair.ts";

// Tables refer to each other without foreign keys. Writes keep these rules. Each is a single statement that selects the rows that
// break it, so that it is also correct while a server runs.

/** A row that breaks a rule. */
export interface Orphan {
  table: string;
  /** The key of the row; its parts are separated by spaces. */
  row: string;
  problem: string;
  /** Whether `parley check --repair-contacts` repairs it. */
  isRepairable: boolean;
}

/** Holds if the user of row `r` is a member of its conversation. */
const HAS_MEMBER = sql`EXISTS (SELECT 1 FROM members m
  WHERE m.conversation_id = r.conversation_id AND m.user_id = r.user_id)`;
/** Holds if the user has left the conversation and the eraser has not finished: rows are erased in steps. */
const IS_LEFT = sql`EXISTS (SELECT 1 FROM departing d
  WHERE d.conversation_id = r.conversation_id AND d.user_id = r.user_id)`;
/** Holds if another user has this one as a contact in the conversation, so that this one may still join it. */
const MAY_JOIN = sql`EXISTS (SELECT 1 FROM users u JOIN contacts c ON c.username_key = u.username_key
  JOIN members o ON o.conversation_id = r.conversation_id AND o.user_id = c.owner_id AND o.contact_id = c.id
  WHERE u.id = r.user_id)`;
/** Holds if the user is about to join the group: messages of blocked users are withheld before that. */
const IS_PREPARING = sql`EXISTS (SELECT 1 FROM preparing p
  WHERE p.conversation_id = r.conversation_id AND p.user_id = r.user_id)`;
/** Holds if the user is being erased, which happens in steps. */
const isErased = (userId: Statement) => sql`EXISTS (SELECT 1 FROM erasing e WHERE e.user_id = ${userId})`;
const OF_A_USER = sql`SELECT r.user_id || ' ' || r.conversation_id AS row`;

interface Rule {
  table: string;
  problem: string;
  isRepairable?: boolean;
  find: Statement<{ row: string }>;
}

const RULES: readonly Rule[] = [
  {
    table: "message_bodies",
    problem: "belongs to no message",
    find: sql`SELECT CAST(b.id AS TEXT) AS row FROM message_bodies b WHERE (b.text IS NOT NULL OR b.data IS NOT NULL)
      AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.body_id = b.id)`,
  },
  {
    table: "messages",
    problem: "has lost its text",
    find: sql`SELECT m.id AS row FROM messages m
      WHERE m.body_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM message_bodies b WHERE b.id = m.body_id)`,
  },
  {
    table: "messages",
    problem: "is later than the last message of its conversation",
    find: sql`SELECT m.id AS row FROM messages m WHERE NOT EXISTS (SELECT 1 FROM conversations c
      WHERE c.id = m.conversation_id AND c.last_id >= m.id)`,
  },
  {
    table: "conversations",
    problem: "has no member",
    find: sql`SELECT c.id AS row FROM conversations c
      WHERE NOT EXISTS (SELECT 1 FROM members m WHERE m.conversation_id = c.id)
        AND NOT EXISTS (SELECT 1 FROM departing d WHERE d.conversation_id = c.id)`,
  },
  {
    table: "attachments",
    problem: "belongs to no message",
    find: sql`SELECT a.id AS row FROM attachments a WHERE NOT EXISTS (SELECT 1 FROM messages m
      WHERE m.conversation_id = a.conversation_id AND m.id = a.message_id)`,
  },
  {
    table: "reactions",
    problem: "belongs to no message",
    find: sql`SELECT r.message_id || ' ' || r.user_id AS row FROM reactions r
      WHERE NOT EXISTS (SELECT 1 FROM messages m WHERE m.id = r.message_id AND m.has_reactions = 1)`,
  },
  {
    table: "reactions",
    problem: "is of a user who is gone",
    find: sql`SELECT r.message_id || ' ' || r.user_id AS row FROM reactions r
      WHERE NOT EXISTS (SELECT 1 FROM users u WHERE u.id = r.user_id) AND NOT ${isErased(sql`r.user_id`)}`,
  },
  {
    table: "withheld",
    problem: "belongs to no member",
    find: sql`${OF_A_USER} FROM withheld r WHERE NOT ${HAS_MEMBER} AND NOT ${IS_LEFT} AND NOT ${MAY_JOIN}
      AND NOT ${IS_PREPARING}`,
  },
  {
    table: "withheld",
    problem: "overlaps another run",
    find: sql`${OF_A_USER} FROM withheld r WHERE r.to_id < r.from_id OR EXISTS (SELECT 1 FROM withheld o
      WHERE o.user_id = r.user_id AND o.conversation_id = r.conversation_id AND o.from_id > r.from_id
        AND o.from_id <= r.to_id)`,
  },
  {
    table: "places",
    problem: "belongs to no member",
    find: sql`${OF_A_USER} FROM places r WHERE NOT ${HAS_MEMBER}`,
  },
  {
    table: "marks",
    problem: "belongs to no member",
    find: sql`${OF_A_USER} FROM marks r WHERE NOT ${HAS_MEMBER}`,
  },
  {
    table: "grants",
    problem: "is of a file that the user does not see",
    find: sql`SELECT r.user_id || ' ' || r.attachment_id AS row FROM grants r WHERE NOT ${IS_LEFT}
      AND NOT EXISTS (SELECT 1 FROM attachments a
        JOIN members s ON s.conversation_id = a.conversation_id AND s.user_id = r.user_id
        WHERE a.id = r.attachment_id AND a.conversation_id = r.conversation_id
          AND ${sees(sql`a.message_id`)})`,
  },
  {
    table: "attachments",
    problem: "is not listed for a member who sees it",
    find: sql`SELECT a.id AS row FROM attachments a JOIN members s ON s.conversation_id = a.conversation_id
      WHERE ${sees(sql`a.message_id`)}
        AND NOT EXISTS (SELECT 1 FROM grants g WHERE g.user_id = s.user_id AND g.attachment_id = a.id)
        AND NOT EXISTS (SELECT 1 FROM joining j WHERE j.conversation_id = s.conversation_id AND j.user_id = s.user_id)`,
  },
  {
    table: "groups",
    problem: "has no member",
    find: sql`SELECT g.id AS row FROM groups g WHERE NOT EXISTS (SELECT 1 FROM members m
      WHERE m.conversation_id = g.conversation_id AND m.group_id = g.id)`,
  },
  {
    table: "groups",
    problem: "has no admin",
    find: sql`SELECT g.id AS row FROM groups g
      WHERE EXISTS (SELECT 1 FROM members m WHERE m.conversation_id = g.conversation_id)
        AND NOT EXISTS (SELECT 1 FROM members m WHERE m.conversation_id = g.conversation_id AND m.role = 'admin')`,
  },
  {
    table: "members",
    problem: "is of a group that is gone",
    find: sql`SELECT r.conversation_id || ' ' || r.user_id AS row FROM members r WHERE r.group_id IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM groups g WHERE g.id = r.group_id AND g.conversation_id = r.conversation_id)`,
  },
  {
    table: "invitations",
    problem: "is into a group that is gone",
    find: sql`SELECT i.group_id || ' ' || i.member_id || ' ' || i.inviter_id AS row FROM invitations i
      WHERE NOT EXISTS (SELECT 1 FROM groups g WHERE g.id = i.group_id)`,
  },
  {
    table: "invitations",
    problem: "is by somebody who is no member",
    find: sql`SELECT i.group_id || ' ' || i.member_id || ' ' || i.inviter_id AS row FROM invitations i
      WHERE EXISTS (SELECT 1 FROM groups g WHERE g.id = i.group_id)
        AND NOT EXISTS (SELECT 1 FROM members m WHERE m.group_id = i.group_id AND m.user_id = i.inviter_id)`,
  },
  {
    table: "invitations",
    problem: "is of somebody who is a member",
    find: sql`SELECT i.group_id || ' ' || i.member_id || ' ' || i.inviter_id AS row FROM invitations i
      WHERE EXISTS (SELECT 1 FROM members m WHERE m.group_id = i.group_id AND m.member_id = i.member_id)`,
  },
  {
    table: "preparing",
    problem: "is of a group or a user that is gone",
    find: sql`${OF_A_USER} FROM preparing r WHERE NOT ${isErased(sql`r.user_id`)}
      AND NOT (r.conversation_id IN (SELECT conversation_id FROM groups)
        AND EXISTS (SELECT 1 FROM users u WHERE u.id = r.user_id))`,
  },
  {
    table: "webhooks",
    problem: "is of a token that is gone",
    find: sql`SELECT w.id AS row FROM webhooks w WHERE w.token_id IS NOT NULL AND NOT ${isErased(sql`w.user_id`)}
      AND NOT EXISTS (SELECT 1 FROM tokens t WHERE t.id = w.token_id)`,
  },
  {
    table: "uploads",
    problem: "is of a user who is gone",
    find: sql`SELECT r.id AS row FROM uploads r
      WHERE NOT EXISTS (SELECT 1 FROM users u WHERE u.id = r.user_id) AND NOT ${isErased(sql`r.user_id`)}`,
  },
  {
    table: "contacts",
    problem: "has no conversation",
    isRepairable: true,
    find: sql`SELECT c.id AS row ${LOST}`,
  },
  {
    table: "contacts",
    problem: "has another conversation than its user has with the owner",
    find: sql`SELECT c.id AS row FROM contacts c JOIN users them ON them.username_key = c.username_key
      JOIN users me ON me.id = c.owner_id AND me.id <> them.id
      JOIN contacts o ON o.owner_id = them.id AND o.username_key = me.username_key
      WHERE o.conversation_id <> c.conversation_id AND NOT ${isErased(sql`me.id`)} AND NOT ${isErased(sql`them.id`)}`,
  },
  {
    table: "contacts",
    problem: "and the list of blocks differ",
    find: sql`SELECT c.id AS row FROM contacts c
      LEFT JOIN blocks b ON b.owner_id = c.owner_id AND b.username_key = c.username_key
      WHERE COALESCE(c.blocked_at, -1) <> COALESCE(b.created_at, -1)`,
  },
];

/** The rules about profiles, whose tables and columns 0.1.0 did not have. */
const OF_PROFILES: readonly Rule[] = [
  {
    table: "members",
    problem: "is invited by a user who is gone",
    find: sql`SELECT r.conversation_id || ' ' || r.user_id AS row FROM members r WHERE r.inviter_id IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM users u WHERE u.id = r.inviter_id) AND NOT ${isErased(sql`r.inviter_id`)}`,
  },
  {
    table: "avatars",
    problem: "is not the picture of its user",
    find: sql`SELECT r.user_id AS row FROM avatars r
      WHERE NOT EXISTS (SELECT 1 FROM users u WHERE u.id = r.user_id AND u.avatar_id = r.id)`,
  },
  {
    table: "users",
    problem: "has lost the picture",
    find: sql`SELECT r.id AS row FROM users r WHERE r.avatar_id IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM avatars a WHERE a.user_id = r.id AND a.id = r.avatar_id)`,
  },
  {
    table: "profile_changes",
    problem: "is of a user who is gone",
    find: sql`SELECT r.user_id AS row FROM profile_changes r
      WHERE NOT EXISTS (SELECT 1 FROM users u WHERE u.id = r.user_id)`,
  },
];

/** The rules about ids that clients give messages, whose table and column earlier schemas do not have. */
const OF_CLIENT_IDS: readonly Rule[] = [
  {
    table: "client_ids",
    problem: "is of a user who is gone",
    find: sql`SELECT r.user_id || ' ' || r.client_id AS row FROM client_ids r
      WHERE NOT EXISTS (SELECT 1 FROM users u WHERE u.id = r.user_id) AND NOT ${isErased(sql`r.user_id`)}`,
  },
  {
    table: "client_ids",
    problem: "belongs to no message",
    find: sql`SELECT r.user_id || ' ' || r.client_id AS row FROM client_ids r
      WHERE r.until IS NULL AND NOT ${isErased(sql`r.user_id`)} AND NOT ${IS_LEFT}
        AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.conversation_id = r.conversation_id AND m.id = r.message_id
          AND m.sender_id = r.user_id AND m.client_id = r.client_id)`,
  },
  {
    table: "messages",
    problem: "has a client_id that is not taken",
    find: sql`SELECT m.id AS row FROM messages m
      JOIN members s ON s.conversation_id = m.conversation_id AND s.user_id = m.sender_id
      WHERE m.client_id IS NOT NULL AND ${sees(sql`m.id`)} AND NOT EXISTS (SELECT 1 FROM client_ids r
        WHERE r.user_id = m.sender_id AND r.client_id = m.client_id AND r.message_id = m.id AND r.until IS NULL)
        AND NOT ${isErased(sql`m.sender_id`)}`,
  },
];

/** Which rules a schema, maybe an older one, can be compared by. */
export interface Compared {
  hasProfiles: boolean;
  hasClientIds: boolean;
}

/** Yields the rows that break a rule. */
export async function* findOrphans(
  db: Reader,
  { hasProfiles, hasClientIds }: Compared = { hasProfiles: true, hasClientIds: true },
): AsyncGenerator<Orphan> {
  const rules = [...RULES, ...(hasProfiles ? OF_PROFILES : []), ...(hasClientIds ? OF_CLIENT_IDS : [])];
  for (const { table, problem, isRepairable = false, find } of rules)
    for (const { row } of await db.all(find)) yield { table, row, problem, isRepairable };
}
