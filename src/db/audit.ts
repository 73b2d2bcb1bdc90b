import { type Page, walkOf } from "./page.ts";
import { type Reader, run, type Statement, statement, type Write } from "./sql.ts";

/** Who does something, and when, as the audit trail keeps it. */
export interface Act {
  /** aud_… */
  id: string;
  /** Milliseconds. */
  at: number;
  /** Null: the command line, or whoever had a link. */
  actorId: string | null;
  /** Null: the same, or a token of an identity provider. */
  tokenId: string | null;
}

/** What is kept, as `object.what happened to it`. */
type Action =
  | "attachment.created"
  | "attachment.renamed"
  | "attachment.deleted"
  | "attachment.downloaded"
  | "contact.created"
  | "contact.renamed"
  | "contact.deleted"
  | "token.created"
  | "token.revoked"
  | "user.created"
  | "user.deleted"
  | "webhook.created"
  | "webhook.updated"
  | "webhook.secret_rotated"
  | "webhook.disabled"
  | "webhook.deleted";

const INTO = "INSERT INTO audit (id, at, actor_id, token_id, action, object_id, details)";

/** Part of other writes: a line of the audit trail, in their transaction. */
export function recordAct(act: Act, action: Action, objectId: string, details?: object): Statement {
  return statement(`${INTO} VALUES (?, ?, ?, ?, ?, ?, ?)`, ...valuesOf(act, action, objectId, details));
}

/** The same where there is a row: "FROM table WHERE …", which finds one at most. */
export function recordActIf(condition: Statement, act: Act, action: Action, objectId: string): Statement {
  return statement(
    `${INTO} SELECT ?, ?, ?, ?, ?, ?, ? ${condition.sql}`,
    ...valuesOf(act, action, objectId),
    ...condition.params,
  );
}

function valuesOf({ id, at, actorId, tokenId }: Act, action: Action, objectId: string, details?: object) {
  return [id, at, actorId, tokenId, action, objectId, details === undefined ? null : JSON.stringify(details)];
}

/** A line of the trail as it is kept. */
export interface ActRow {
  id: string;
  at: number;
  actor_id: string | null;
  token_id: string | null;
  action: Action;
  object_id: string;
  /** JSON text. */
  details: string | null;
}

/** One page in the order of the walk, and one more where there is one. */
export function listActs(db: Reader, page: Page): Promise<ActRow[]> {
  const { sql, params } = actsQuery(page);
  return db.all(sql, ...params);
}

export function actsQuery(page: Page): Statement {
  return statement(
    `SELECT id, at, actor_id, token_id, action, object_id, details FROM audit WHERE ${walkOf(page)}`,
    page.cursor,
    page.limit + 1,
  );
}

/** Downloads of one attachment by link from one address, as one line tells them. */
export interface Downloads {
  act: Act;
  attachmentId: string;
  details: { address: string; count: number };
}

/** Those that were recorded already, by a write whose answer was lost, stay as they are. */
export function* recordDownloads(input: { downloads: readonly Downloads[] }): Write<void> {
  yield input.downloads.map(({ act, attachmentId, details }) => {
    const { sql, params } = recordAct(act, "attachment.downloaded", attachmentId, details);
    return { sql: `${sql} ON CONFLICT (id) DO NOTHING`, params };
  });
}

/** Whether there are lines older than the one with this id would be. */
export async function hasActsBefore(db: Reader, id: string): Promise<boolean> {
  return (await db.get("SELECT 1 AS one FROM audit WHERE id < ? LIMIT 1", id)) !== undefined;
}

/** Erases the oldest lines, some at a time. */
export function* forgetActs(input: { before: string; limit: number }): Write<void> {
  yield* run(
    "DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE id < ? ORDER BY id LIMIT ? + 0)",
    input.before,
    input.limit,
  );
}
