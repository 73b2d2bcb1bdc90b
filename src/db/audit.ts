import { type Statement, statement } from "./sql.ts";

/** Who does something, and when, as the audit trail keeps it. */
export interface Act {
  /** aud_… */
  id: string;
  /** Milliseconds. */
  at: number;
  /** Null: the command line. */
  actorId: string | null;
  /** Null: the command line, or a token of an identity provider. */
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
  | "user.deleted";

const INTO = "INSERT INTO audit (id, at, actor_id, token_id, action, object_id, details)";

/** Part of other writes: a line of the audit trail, in their transaction. */
export function recordAct(act: Act, action: Action, objectId: string, details?: object): Statement {
  return statement(`${INTO} VALUES (?, ?, ?, ?, ?, ?, ?)`, ...valuesOf(act, action, objectId, details));
}

/** The same where the condition, a SELECT, finds a row. */
export function recordActIf(condition: Statement, act: Act, action: Action, objectId: string): Statement {
  return statement(
    `${INTO} SELECT ?, ?, ?, ?, ?, ?, ? WHERE EXISTS (${condition.sql})`,
    ...valuesOf(act, action, objectId),
    ...condition.params,
  );
}

function valuesOf({ id, at, actorId, tokenId }: Act, action: Action, objectId: string, details?: object) {
  return [id, at, actorId, tokenId, action, objectId, details === undefined ? null : JSON.stringify(details)];
}
