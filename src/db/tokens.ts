import { ParleyError } from "../errors.ts";
import { type Act, recordAct } from "./audit.ts";
import { type Page, walkOf } from "./page.ts";
import { type Reader, run, type Statement, statement, type Value, type Write } from "./sql.ts";

export interface TokenRow {
  id: string;
  user_id: string;
  name: string | null;
  /** Separated by spaces. */
  scopes: string;
  /** Milliseconds; null: never. */
  expires_at: number | null;
  created_at: number;
}

const COLUMNS = "id, user_id, name, scopes, expires_at, created_at";

/** `hash` is the SHA-256 of the token, which itself is stored nowhere. */
export function findToken(db: Reader, hash: Uint8Array): Promise<TokenRow | undefined> {
  return db.get<TokenRow>(`SELECT ${COLUMNS} FROM tokens WHERE hash = ?`, hash);
}

/** Part of each write that removes tokens: processes that keep verified ones in memory forget them. */
const NOTE_REVOCATION = statement("UPDATE revocations SET count = count + 1");

export function findTokenById(db: Reader, id: string): Promise<TokenRow | undefined> {
  return db.get<TokenRow>(`SELECT ${COLUMNS} FROM tokens WHERE id = ?`, id);
}

export function listTokens(db: Reader): Promise<(TokenRow & { username: string })[]> {
  return db.all(
    `SELECT t.id, t.user_id, t.name, t.scopes, t.expires_at, t.created_at, u.username
     FROM tokens t JOIN users u ON u.id = t.user_id ORDER BY t.id DESC`,
  );
}

export async function listTokenIds(db: Reader, userId: string): Promise<string[]> {
  return (await db.all<{ id: string }>("SELECT id FROM tokens WHERE user_id = ?", userId)).map(
    ({ id }) => id,
  );
}

/** The tokens of all users, or of one. */
interface TokenFilter {
  userId?: string | undefined;
}

/** One page in the order of the walk, and one more where there is one. */
export function listTokenPage(db: Reader, filter: TokenFilter, page: Page): Promise<TokenRow[]> {
  const { sql, params } = tokensQuery(filter, page);
  return db.all(sql, ...params);
}

export function tokensQuery({ userId }: TokenFilter, page: Page): Statement {
  const of: Value[] = userId === undefined ? [] : [userId];
  const condition = userId === undefined ? "" : "user_id = ? AND ";
  return statement(
    `SELECT ${COLUMNS} FROM tokens WHERE ${condition}${walkOf(page)}`,
    ...of,
    page.cursor,
    page.limit + 1,
  );
}

export interface CreateToken {
  id: string;
  hash: Uint8Array;
  userId: string;
  name: string | null;
  scopes: string;
  expiresAt: number | null;
  createdAt: number;
  /** How many that have not expired the user may have, this one with them; 0: any number. */
  limit: number;
  act: Act;
  /** The token for whoever asks for the same again, readable with the Idempotency-Key alone; null: there is no key. */
  sealed: string | null;
}

/** What a request for a token has come to. */
interface MadeToken {
  id: string;
  createdAt: number;
  sealed: string | null;
}

/** Throws `user_not_found` and `count_limit_reached`. */
export function* createToken(input: CreateToken): Write<MadeToken> {
  const { userId, limit, createdAt } = input;
  const [user, [valid]] = (yield [
    statement("SELECT 1 AS one FROM users WHERE id = ?", userId),
    statement(
      "SELECT COUNT(*) AS count FROM tokens WHERE user_id = ? AND (expires_at IS NULL OR expires_at > ?)",
      userId,
      createdAt,
    ),
  ]) as [unknown[], [{ count: number }]];
  if (user.length === 0) throw new ParleyError("user_not_found", undefined, { param: "user_id" });
  if (limit > 0 && valid.count >= limit) {
    throw new ParleyError(
      "count_limit_reached",
      `The user has ${valid.count} tokens that have not expired, and may have ${limit}. Revoke some that are not needed any more. The operator sets the limit as PARLEY_MAX_TOKENS.`,
    );
  }
  yield [
    statement(
      "INSERT INTO tokens (hash, id, user_id, name, scopes, expires_at, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
      input.hash,
      input.id,
      userId,
      input.name,
      input.scopes,
      input.expiresAt,
      createdAt,
    ),
    recordAct(input.act, "token.created", input.id, detailsOf({ ...input, user_id: userId })),
  ];
  return { id: input.id, createdAt, sealed: input.sealed };
}

/** A token that is to go, and what the trail says of it. */
interface DeleteToken {
  id: string;
  act: Act;
}

/** Returns how many of these tokens there were. */
export function* deleteTokens(input: { tokens: readonly DeleteToken[] }): Write<number> {
  const gone = (yield input.tokens.map(({ id }) =>
    statement("DELETE FROM tokens WHERE id = ? RETURNING user_id, name, scopes", id),
  )) as TokenRow[][];
  const records = input.tokens.flatMap(({ id, act }, i) =>
    gone[i]!.map((row) => recordAct(act, "token.revoked", id, detailsOf(row))),
  );
  if (records.length > 0) yield [...records, NOTE_REVOCATION];
  return records.length;
}

function detailsOf({ user_id, name, scopes }: Pick<TokenRow, "user_id" | "name" | "scopes">): object {
  return { user_id, name, scopes: scopes.split(" ") };
}

/** Part of the write that erases their user. */
export function* forgetTokensOf(userId: string): Write<void> {
  yield [
    statement("DELETE FROM tokens WHERE user_id = ?", userId),
    statement("DELETE FROM identities WHERE user_id = ?", userId),
    NOTE_REVOCATION,
  ];
}

/** Of whom the identity provider's tokens no longer tell: the next one makes another user. */
export function* deleteIdentities(input: { userId: string }): Write<void> {
  yield [statement("DELETE FROM identities WHERE user_id = ?", input.userId), NOTE_REVOCATION];
}

export async function hasTokensExpiredBefore(db: Reader, time: number): Promise<boolean> {
  return (await db.get("SELECT 1 AS one FROM tokens WHERE expires_at < ? LIMIT 1", time)) !== undefined;
}

/** Some at a time. They are refused by their time, so nobody need be told. */
export function* forgetExpiredTokens(input: { before: number; limit: number }): Write<void> {
  yield* run(
    `DELETE FROM tokens WHERE hash IN
     (SELECT hash FROM tokens WHERE expires_at < ? ORDER BY expires_at LIMIT ? + 0)`,
    input.before,
    input.limit,
  );
}
