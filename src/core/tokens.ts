import { hash } from "node:crypto";
import {
  type CreateToken,
  findToken,
  findTokenById,
  listTokenIds,
  listTokenPage,
  listTokens as listTokenRows,
  type TokenRow,
} from "../db/tokens.ts";
import { ParleyError } from "../errors.ts";
import { toSeconds } from "../util/clock.ts";
import { actOf } from "./audit.ts";
import type { Caller, Verified } from "./caller.ts";
import type { Accounts, Core } from "./core.ts";
import { isReplay, onceOf, writeOnce } from "./idempotency.ts";
import { type PageOf, type PageRequest, pageOf, pageQuery } from "./page.ts";

export const SCOPES = [
  "contacts:read",
  "contacts:write",
  "attachments:read",
  "attachments:write",
  "events:read",
  "admin",
] as const;
export type Scope = (typeof SCOPES)[number];
/** What a token may do when nobody chose: everything but administration. */
export const DEFAULT_SCOPES: readonly Scope[] = SCOPES.filter((scope) => scope !== "admin");

const TOKEN_FORM = /^parley_[A-Za-z0-9_-]{43}$/;

/** Throws `invalid_token` for a token that is malformed, unknown or revoked. */
export async function lookUpToken(core: Core, token: string): Promise<Verified> {
  // Looked up by its SHA-256: how long the look-up takes tells nothing of any token.
  const row = TOKEN_FORM.test(token) ? await findToken(core.db, hashToken(token)) : undefined;
  if (!row) throw new ParleyError("invalid_token");
  const caller = { userId: row.user_id, tokenId: row.id, scopes: new Set(row.scopes.split(" ")) };
  return { caller, expiresAt: row.expires_at };
}

interface NewToken {
  /** Shown once, stored nowhere. */
  token: string;
  row: CreateToken;
}

export interface TokenChoice {
  scopes?: readonly Scope[] | undefined;
  /** Milliseconds since the Unix epoch; null: never. */
  expiresAt?: number | null | undefined;
  name?: string | null | undefined;
}

/** A token of 256 random bits and the row that recognises it. */
export function makeToken(
  core: Accounts,
  caller: Caller | null,
  userId: string,
  choice: TokenChoice = {},
): NewToken {
  const bytes = new Uint8Array(32);
  core.random(bytes);
  const token = `parley_${Buffer.from(bytes).toString("base64url")}`;
  return {
    token,
    row: {
      id: core.newId("tok"),
      hash: hashToken(token),
      userId,
      name: choice.name ?? null,
      scopes: (choice.scopes ?? DEFAULT_SCOPES).join(" "),
      expiresAt: choice.expiresAt ?? null,
      createdAt: core.clock(),
      limit: core.limits.maxTokens,
      act: actOf(core, caller),
      sealed: null,
    },
  };
}

/**
 * Makes and keeps a token; `caller` is null where the command line does it. Throws `user_not_found`, `count_limit_reached`,
 * and `invalid_parameter` where the token would have expired.
 */
export async function createToken(
  core: Accounts,
  caller: Caller | null,
  userId: string,
  choice: TokenChoice,
): Promise<ShownToken> {
  const made = makeToken(core, caller, userId, choice);
  refuseExpired(made.row);
  await core.db.write("createToken", made.row);
  return shownToken(made.row, made.token);
}

/** The same for a request with a key, which is done once: it is given the same token again. */
export async function createTokenOnce(
  core: Core,
  caller: Caller,
  userId: string,
  choice: TokenChoice,
  key: string,
): Promise<ShownToken & { replayed: boolean }> {
  const { token, row } = makeToken(core, caller, userId, choice);
  const context = `${caller.userId} ${key}`;
  const once = onceOf(core, caller, key, "createToken", userId, choice);
  // Of a request that comes again after the token has expired, the first answer holds.
  if (!(await isReplay(core, caller, key))) refuseExpired(row);
  const input = { ...row, sealed: core.seal.seal(token, context) };
  const { result, replayed } = await writeOnce(core, once, "createToken", input);
  const kept = replayed ? core.seal.open(result.sealed!, context) : token;
  if (kept === undefined) {
    throw new ParleyError(
      "idempotency_key_reused",
      "This Idempotency-Key made a token while the server had another PARLEY_SECRET. Make a new key.",
    );
  }
  return { ...shownToken({ ...row, ...result }, kept), replayed };
}

function refuseExpired({ expiresAt, createdAt }: CreateToken): void {
  if (expiresAt === null || expiresAt > createdAt) return;
  throw new ParleyError(
    "invalid_parameter",
    `expires_at must lie in the future: it is now ${toSeconds(createdAt)}.`,
    { param: "expires_at" },
  );
}

function shownToken(row: CreateToken, token: string): ShownToken {
  const { userId, name, scopes, expiresAt, createdAt } = row;
  const kept = { id: row.id, user_id: userId, name, scopes, expires_at: expiresAt, created_at: createdAt };
  const { id, ...shown } = tokenOf(kept);
  return { id, token, ...shown };
}

/** A token as it is shown: never with its secret. */
interface Token {
  id: string;
  user_id: string;
  name: string | null;
  scopes: string[];
  expires_at: number | null;
  created_at: number;
}

/** The one time that it is shown with its secret. */
type ShownToken = Token & { token: string };

/** All tokens, newest first. */
export async function listTokens(core: Accounts): Promise<(Token & { username: string })[]> {
  return (await listTokenRows(core.db)).map((row) => ({ ...tokenOf(row), username: row.username }));
}

/** One page of the tokens, of all users or of one. */
export async function listTokenPages(
  core: Accounts,
  request: PageRequest & { user_id?: string | undefined },
): Promise<PageOf> {
  const page = pageQuery(request);
  const rows = await listTokenPage(core.db, { userId: request.user_id }, page);
  return pageOf(page, rows, (row) => JSON.stringify(tokenOf(row)));
}

/** Throws `token_not_found`. */
export async function getToken(core: Accounts, id: string): Promise<Token> {
  const row = await findTokenById(core.db, id);
  if (!row) throw new ParleyError("token_not_found");
  return tokenOf(row);
}

function tokenOf(row: TokenRow): Token {
  return {
    id: row.id,
    user_id: row.user_id,
    name: row.name,
    scopes: row.scopes.split(" "),
    expires_at: row.expires_at === null ? null : toSeconds(row.expires_at),
    created_at: toSeconds(row.created_at),
  };
}

/** Acts at once: the next request with the token is refused. Throws `token_not_found`. */
export async function revokeToken(core: Accounts, caller: Caller | null, id: string): Promise<void> {
  const tokens = [{ id, act: actOf(core, caller) }];
  if ((await core.db.write("deleteTokens", { tokens })) === 0) throw new ParleyError("token_not_found");
}

/** Revokes all tokens that the user has now. */
export async function revokeTokensOf(core: Accounts, caller: Caller | null, userId: string): Promise<void> {
  const ids = await listTokenIds(core.db, userId);
  const tokens = ids.map((id) => ({ id, act: actOf(core, caller) }));
  if (tokens.length > 0) await core.db.write("deleteTokens", { tokens });
}

function hashToken(token: string): Uint8Array {
  return hash("sha256", token, "buffer");
}
