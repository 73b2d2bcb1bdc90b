import { ParleyError } from "../../../errors.ts";
import { laterId } from "../../../util/ids.ts";
import { type Page, pageClause } from "../../page.ts";
import { EMPTY, list, type Reader, type Statement, sql } from "../../sql.ts";
import { all, batch, type Write, write } from "../../write.ts";
import { type NewEntry, recordEntry } from "../record/audit-trail.ts";
import { endPushSubscriptionsOf } from "../webhooks/push-subscriptions.ts";

export interface TokenRow {
  id: string;
  user_id: string;
  name: string | null;
  /** Space-separated. */
  scopes: string;
  /** Milliseconds; null means never. */
  expires_at: number | null;
  created_at: number;
  /** Milliseconds; null if it was not used. */
  last_used_at: number | null;
}

const COLUMNS = sql`id, user_id, name, scopes, expires_at, created_at, last_used_at`;

/** A token, and when its user was paused (milliseconds); null if the user is not. */
interface HeldTokenRow extends TokenRow {
  paused_at: number | null;
}

/** Finds a token by its SHA-256. The token itself is not stored. */
export function findToken(db: Reader, hash: Uint8Array): Promise<HeldTokenRow | undefined> {
  return db.get<HeldTokenRow>(
    sql`SELECT ${COLUMNS}, (SELECT u.paused_at FROM users u WHERE u.id = tokens.user_id) AS paused_at
      FROM tokens WHERE hash = ${hash}`,
  );
}

/** Part of each write that revokes tokens: makes processes drop the verified tokens that they have in memory. */
export const NOTE_REVOCATION = sql`UPDATE revocations SET count = count + 1`;

export function findTokenById(db: Reader, id: string): Promise<TokenRow | undefined> {
  return db.get<TokenRow>(sql`SELECT ${COLUMNS} FROM tokens WHERE id = ${id}`);
}

export function allTokens(db: Reader): Promise<(TokenRow & { username: string })[]> {
  return db.all(
    sql`SELECT t.id, t.user_id, t.name, t.scopes, t.expires_at, t.created_at, t.last_used_at, u.username
      FROM tokens t JOIN users u ON u.id = t.user_id ORDER BY t.id DESC`,
  );
}

export async function allTokenIds(db: Reader, userId: string): Promise<string[]> {
  return (await db.all<{ id: string }>(sql`SELECT id FROM tokens WHERE user_id = ${userId}`)).map(
    ({ id }) => id,
  );
}

/** The tokens of all users, or of one. */
interface TokenFilter {
  userId?: string | undefined;
}

/** Returns the rows of a page, and one more if there is one. */
export function listTokenRows(db: Reader, filter: TokenFilter, page: Page): Promise<TokenRow[]> {
  return db.all(tokensQuery(filter, page));
}

export function tokensQuery({ userId }: TokenFilter, page: Page): Statement<TokenRow> {
  const condition = userId === undefined ? EMPTY : sql`user_id = ${userId} AND`;
  return sql`SELECT ${COLUMNS} FROM tokens WHERE ${condition} ${pageClause(page)}`;
}

export interface CreateToken {
  id: string;
  hash: Uint8Array;
  userId: string;
  name: string | null;
  scopes: string;
  expiresAt: number | null;
  createdAt: number;
  /** The most unexpired tokens that the user may have, including this one; 0 means no limit. */
  limit: number;
  entry: NewEntry;
  /** The token for replays, sealed with the Idempotency-Key; null without a key. */
  sealed: string | null;
}

/** The result of a request for a token. */
interface MadeToken {
  id: string;
  createdAt: number;
  sealed: string | null;
}

/** Throws `user_not_found` and `count_limit_reached`. */
export const createToken = write(
  { serializeBy: ({ userId }) => userId },
  function* (input: CreateToken): Write<MadeToken> {
    const { userId, limit, createdAt } = input;
    const [user, [valid]] = yield* batch([
      sql`SELECT 1 AS one FROM users WHERE id = ${userId}`,
      sql<{ count: number }>`SELECT COUNT(*) AS count FROM tokens
        WHERE user_id = ${userId} AND (expires_at IS NULL OR expires_at > ${createdAt})`,
    ]);
    if (user.length === 0) throw new ParleyError("user_not_found", undefined, { param: "user_id" });
    if (limit > 0 && valid!.count >= limit) {
      throw new ParleyError(
        "count_limit_reached",
        `The user has ${valid!.count} tokens that have not expired, and may have ${limit}. Revoke tokens that are no longer needed. The operator sets the limit with PARLEY_MAX_TOKENS.`,
      );
    }
    yield* batch([
      sql`INSERT INTO tokens (hash, id, user_id, name, scopes, expires_at, created_at)
        VALUES (${input.hash}, ${input.id}, ${userId}, ${input.name}, ${input.scopes}, ${input.expiresAt},
          ${createdAt})`,
      recordEntry(input.entry, "token.created", input.id, detailsOf({ ...input, user_id: userId })),
    ]);
    return { id: input.id, createdAt, sealed: input.sealed };
  },
);

/** A token to revoke and its audit entry. */
interface DeleteToken {
  id: string;
  entry: NewEntry;
}

/** Deletes tokens, ends the push subscriptions made with them, and returns how many of the tokens existed. */
const deleteTokens = write(
  { publishesEvents: true, revokesTokens: true },
  function* (input: { tokens: readonly DeleteToken[] }): Write<number> {
    const gone = yield* batch(
      input.tokens.map(
        ({ id }) => sql<DeletedToken>`DELETE FROM tokens WHERE id = ${id} RETURNING ${DELETED}`,
      ),
    );
    const revoked = input.tokens.flatMap(({ entry }, i) => gone[i]!.map((row) => ({ ...row, entry })));
    if (revoked.length > 0) yield* batch(revocationStatements(revoked));
    return revoked.length;
  },
);

const DELETED = sql`id, user_id, name, scopes`;
type DeletedToken = Pick<TokenRow, "id" | "user_id" | "name" | "scopes">;

/** Part of writes that delete tokens: records it, and ends the push subscriptions made with them. */
function revocationStatements(revoked: readonly (DeletedToken & { entry: NewEntry })[]): Statement[] {
  return [
    ...revoked.map((row) => recordEntry(row.entry, "token.revoked", row.id, detailsOf(row))),
    ...revoked.flatMap(({ id }) => endPushSubscriptionsOf(list([id]))),
    NOTE_REVOCATION,
  ];
}

function detailsOf({ user_id, name, scopes }: Pick<TokenRow, "user_id" | "name" | "scopes">): object {
  return { user_id, name, scopes: scopes.split(" ") };
}

/** Part of the write that deletes their user. Returns the entry after those of the tokens. */
export function* forgetTokensOf(userId: string, entry: NewEntry): Write<NewEntry> {
  const gone = yield* all(
    sql<DeletedToken>`DELETE FROM tokens WHERE user_id = ${userId} RETURNING ${DELETED}`,
  );
  let next = entry;
  const revoked = gone.map((row) => {
    const each = { ...row, entry: next };
    next = { ...next, id: laterId(next.id, next.id) };
    return each;
  });
  yield* batch([sql`DELETE FROM identities WHERE user_id = ${userId}`, ...revocationStatements(revoked)]);
  return next;
}

/** Deletes the identities of a user: the next JWT of the same subject creates a new user. */
const deleteIdentities = write(
  { publishesEvents: true, revokesTokens: true },
  function* (input: { userId: string }): Write<void> {
    yield* batch([sql`DELETE FROM identities WHERE user_id = ${input.userId}`, NOTE_REVOCATION]);
  },
);

export async function hasTokensExpiredBefore(db: Reader, time: number): Promise<boolean> {
  return (await db.get(sql`SELECT 1 AS one FROM tokens WHERE expires_at < ${time} LIMIT 1`)) !== undefined;
}

/**
 * Erases a few expired tokens at a time, with the push subscriptions made with them. Expired tokens are refused anyway, so no
 * process has to be notified.
 */
function* forgetExpiredTokens(input: { before: number; limit: number }): Write<void> {
  const gone = yield* all<{ id: string }>(
    sql`DELETE FROM tokens WHERE hash IN
      (SELECT hash FROM tokens WHERE expires_at < ${input.before} ORDER BY expires_at LIMIT ${input.limit} + 0)
      RETURNING id`,
  );
  if (gone.length > 0) yield* batch(endPushSubscriptionsOf(list(gone.map(({ id }) => id))));
}

export const tokenWrites = { createToken, deleteTokens, deleteIdentities, forgetExpiredTokens };
