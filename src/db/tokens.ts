import { ParleyError } from "../errors.ts";
import { get, type Reader, run, statement, type Write } from "./sql.ts";

interface TokenRow {
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
function* noteRevocation(): Write<void> {
  yield* run("UPDATE revocations SET count = count + 1");
}

export function listTokens(db: Reader): Promise<(TokenRow & { username: string })[]> {
  return db.all(
    `SELECT t.id, t.user_id, t.name, t.scopes, t.expires_at, t.created_at, u.username
     FROM tokens t JOIN users u ON u.id = t.user_id ORDER BY t.id DESC`,
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
}

/** Throws `user_not_found`. */
export function* createToken(input: CreateToken): Write<void> {
  const user = yield* get("SELECT 1 AS one FROM users WHERE id = ?", input.userId);
  if (!user) throw new ParleyError("user_not_found");
  yield* run(
    "INSERT INTO tokens (hash, id, user_id, name, scopes, expires_at, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
    input.hash,
    input.id,
    input.userId,
    input.name,
    input.scopes,
    input.expiresAt,
    input.createdAt,
  );
}

/** All of the user, with what signed tokens find the user by. */
export function* deleteTokens(input: { userId: string }): Write<void> {
  yield [
    statement("DELETE FROM tokens WHERE user_id = ?", input.userId),
    statement("DELETE FROM identities WHERE user_id = ?", input.userId),
  ];
  yield* noteRevocation();
}

/** False where there is no such token. */
export function* deleteToken(input: { id: string }): Write<boolean> {
  const gone = yield* get("DELETE FROM tokens WHERE id = ? RETURNING id", input.id);
  if (gone) yield* noteRevocation();
  return gone !== undefined;
}
