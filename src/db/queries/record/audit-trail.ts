import { type Page, pageClause } from "../../page.ts";
import { list, padded, type Reader, type Statement, sql } from "../../sql.ts";
import { batch, run, type Write } from "../../write.ts";

/** The author and time of a change, for its audit entry. */
export interface NewEntry {
  /** aud_… */
  id: string;
  /** Milliseconds. */
  at: number;
  /** Null for the command line and for downloads by link. */
  actorId: string | null;
  /** Null for these and for a JWT. */
  tokenId: string | null;
  /** The holder of the token, if the holder acts as the actor; otherwise null. */
  actedById: string | null;
}

/** The recorded actions, as `object.action`. */
export const ACTIONS = [
  "attachment.created",
  "attachment.renamed",
  "attachment.deleted",
  "attachment.downloaded",
  "attachment.refused",
  "attachment.withdrawn",
  "block.created",
  "block.deleted",
  "contact.created",
  "contact.renamed",
  "contact.deleted",
  "conversation.read",
  "conversation.updated",
  "group.created",
  "group.declined",
  "group.joined",
  "group.left",
  "group.updated",
  "member.added",
  "member.invited",
  "member.removed",
  "member.updated",
  "member.withdrawn",
  "message.created",
  "message.updated",
  "message.deleted",
  "message.hidden",
  "push_subscription.created",
  "push_subscription.updated",
  "push_subscription.deleted",
  "reaction.created",
  "reaction.deleted",
  "token.created",
  "token.revoked",
  "user.created",
  "user.deleted",
  "user.updated",
  "user.paused",
  "user.resumed",
  "user.linked",
  "user.unlinked",
  "webhook.created",
  "webhook.updated",
  "webhook.secret_rotated",
  "webhook.disabled",
  "webhook.deleted",
] as const;
export type Action = (typeof ACTIONS)[number];

export const INTO_AUDIT = sql`INSERT INTO audit (id, at, actor_id, token_id, acted_by_id, action, object_id, details)`;

/** Part of other writes: records an entry in the audit trail. */
export function recordEntry(entry: NewEntry, action: Action, objectId: string, details?: object): Statement {
  return sql`${INTO_AUDIT} VALUES (${valuesOf(entry, action, objectId, details)})`;
}

function valuesOf(
  { id, at, actorId, tokenId, actedById }: NewEntry,
  action: Action,
  objectId: string,
  details?: object,
) {
  const json = details === undefined ? null : JSON.stringify(details);
  return sql`${id}, ${at}, ${actorId}, ${tokenId}, ${actedById}, ${action}, ${objectId}, ${json}`;
}

/** An entry of the audit trail, as it is stored. */
export interface EntryRow {
  id: string;
  at: number;
  actor_id: string | null;
  token_id: string | null;
  acted_by_id: string | null;
  action: Action;
  object_id: string;
  /** JSON text. */
  details: string | null;
}

/** Returns the rows of a page, and one more if there is one. */
export function listEntries(db: Reader, page: Page): Promise<EntryRow[]> {
  return db.all(entriesQuery(page));
}

export function entriesQuery(page: Page): Statement<EntryRow> {
  return sql`SELECT id, at, actor_id, token_id, acted_by_id, action, object_id, details FROM audit
    WHERE ${pageClause(page)}`;
}

/** Returns the names of those of the objects that are files or groups, by their ids. */
export async function findObjectNames(db: Reader, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map();
  const named = padded(ids);
  const rows = await db.all<{ id: string; name: string }>(
    sql`SELECT id, filename AS name FROM attachments WHERE id IN (${list(named)})
      UNION ALL SELECT id, name FROM groups WHERE id IN (${list(named)})`,
  );
  return new Map(rows.map(({ id, name }) => [id, name]));
}

/** Downloads of one attachment by link from one address, which share an entry. */
export interface Downloads {
  entry: NewEntry;
  attachmentId: string;
  details: { address: string; count: number };
}

/** Records downloads. Skips entries that exist already, from a write whose answer was lost. */
function* recordDownloads(input: { downloads: readonly Downloads[] }): Write<void> {
  yield* batch(
    input.downloads.map(({ entry, attachmentId, details }) => {
      const record = recordEntry(entry, "attachment.downloaded", attachmentId, details);
      return sql`${record} ON CONFLICT (id) DO NOTHING`;
    }),
  );
}

/** Reports whether any entry is older than this id. */
export async function hasEntriesBefore(db: Reader, id: string): Promise<boolean> {
  return (await db.get(sql`SELECT 1 AS one FROM audit WHERE id < ${id} LIMIT 1`)) !== undefined;
}

/** Erases the oldest entries, at most `limit` at a time. */
function* forgetEntries(input: { before: string; limit: number }): Write<void> {
  yield* run(
    sql`DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE id < ${input.before} ORDER BY id
      LIMIT ${input.limit} + 0)`,
  );
}

export const auditWrites = { recordDownloads, forgetEntries };
