import type { WriteInput, WriteName } from "../../../database.ts";
import type { IdempotentRequest } from "../../../queries/record/idempotency.ts";
import { type Statement, sql } from "../../../sql.ts";
import { all, run, type Write } from "../../../write.ts";
import { getWrite } from "../../../writes.ts";
import { type BulkRow, toBytea } from "./bulk.ts";
import { createContact } from "./contacts.ts";
import { markRead } from "./marks.ts";
import { createAttachment, createMessage } from "./messages.ts";
import { addReaction, removeReaction } from "./reactions.ts";

/** The frequent writes. Each returns undefined for an input that needs the steps of the write. */
const BULKS: { [N in WriteName]?: (input: WriteInput<N>) => BulkRow | undefined } = {
  addReaction,
  createAttachment,
  createContact,
  createMessage,
  markRead,
  removeReaction,
};

/** Returns the row of a write that can be done together with others; undefined for other writes. */
export function toBulkRow(name: WriteName, input: unknown): BulkRow | undefined {
  if (name !== "runIdempotent") return BULKS[name]?.(input as never);
  const { name: inner, input: innerInput, request } = input as WriteInput<"runIdempotent">;
  const row = request.replayOnly ? undefined : toBulkRow(inner, innerInput);
  if (!row) return undefined;
  const { userId, keyHash } = request;
  return {
    ...row,
    values: { ...row.values, key_user: userId, key_hash: toBytea(keyHash) },
    request,
  };
}

/** Returns the statement for rows of one bulk. Each row of its result has the index of its input row as `n`. */
export function bulkStatement(rows: readonly BulkRow[]): Statement<{ n: number }> {
  return rows[0]!.toStatement(JSON.stringify(rows.map(({ values }, n) => ({ n, ...values }))));
}

/** A request whose retries get this result. */
interface DoneRequest {
  request: IdempotentRequest;
  result: unknown;
}

/** Stores the results of first requests. Fails if a key has a result by now, as if the writes conflicted. */
export function storeResults(done: readonly DoneRequest[]): Statement {
  const rows = done.map(({ request, result }) => ({
    user_id: request.userId,
    key_hash: toBytea(request.keyHash),
    fingerprint: toBytea(request.fingerprint),
    result: JSON.stringify(result),
    until: request.until,
  }));
  return sql`INSERT INTO idempotency (user_id, key_hash, fingerprint, result, until)
    SELECT * FROM json_to_recordset(${JSON.stringify(rows)})
      AS rows (user_id TEXT COLLATE "C", key_hash BYTEA, fingerprint BYTEA, result TEXT, until BIGINT)`;
}

/** Returns the result of a write whose row was found, and the parts of it to store for retries. */
export function finish(row: BulkRow, found: object): { value: unknown; stored: DoneRequest[] } {
  const result = row.toResult(found as never);
  const { request } = row;
  if (!request) return { value: result, stored: [] };
  return { value: { result, replayed: false }, stored: [{ request, result }] };
}

/** Runs a write alone, as a bulk of one row if possible, which takes the fewest round trips. */
export function* doAlone(name: WriteName, input: unknown): Write<unknown> {
  const row = toBulkRow(name, input);
  const [found] = row ? yield* all(bulkStatement([row])) : [];
  if (!row || !found) return yield* getWrite(name)(input);
  const { value, stored } = finish(row, found);
  if (stored.length > 0) yield* run(storeResults(stored));
  return value;
}
