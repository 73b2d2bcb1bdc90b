import { hash } from "node:crypto";
import {
  allTokenIds,
  allTokens as allTokenRows,
  type CreateToken,
  findToken,
  findTokenById,
  listTokenRows,
  type TokenRow,
} from "../../db/queries/people/tokens.ts";
import { ParleyError } from "../../errors.ts";
import { toSeconds } from "../../util/clock.ts";
import type { Caller, Verified } from "../node/caller.ts";
import type { Core, DataAccess } from "../node/core.ts";
import { newEntry } from "../record/audit-trail.ts";
import { isReplay, writeIdempotent } from "../record/idempotency.ts";
import { type Page, type PageEnvelope, toPage } from "../resource/page.ts";
import {
  described,
  id,
  integer,
  listOf,
  orNull,
  resource,
  type TypeOf,
  text,
  textOrNull,
  time,
} from "../resource/schema.ts";

export const SCOPES = [
  "contacts:read",
  "contacts:write",
  "attachments:read",
  "attachments:write",
  "messages:read",
  "messages:write",
  "groups:read",
  "groups:write",
  "events:read",
  "act_as",
  "admin",
] as const;
export type Scope = (typeof SCOPES)[number];
/** Scopes of a token that is created without `scopes`: the rights of one user. */
export const DEFAULT_SCOPES: readonly Scope[] = SCOPES.filter(
  (scope) => scope !== "act_as" && scope !== "admin",
);

const tokenMembers = {
  user_id: id("usr"),
  name: textOrNull,
  scopes: listOf(text),
  expires_at: described(orNull(integer), "Unix seconds, UTC; null if it never expires."),
  created_at: time,
  last_used_at: described(
    orNull(time),
    "The last request with it, up to a minute late; null if none is recorded.",
  ),
};
/** A token without its secret. */
export const tokenResource = resource("Token", { id: id("tok"), ...tokenMembers });
/** The answer to a creation, the only one with the secret. */
export const issuedTokenResource = resource("IssuedToken", {
  id: id("tok"),
  token: described(text, "The secret that requests send. It is shown only once."),
  ...tokenMembers,
});
type Token = TypeOf<typeof tokenResource>;
type ShownToken = TypeOf<typeof issuedTokenResource>;

export const TOKEN_FORM = /^parley_[A-Za-z0-9_-]{43}$/;

/** Throws `invalid_token` for a token that is malformed, unknown or revoked. */
export async function lookUpToken(core: DataAccess, token: string): Promise<Verified> {
  // Look it up by SHA-256, so that timing reveals nothing about any token.
  const row = TOKEN_FORM.test(token) ? await findToken(core.db, hashToken(token)) : undefined;
  if (!row) throw new ParleyError("invalid_token");
  const scopes = new Set(row.scopes.split(" "));
  const caller = { userId: row.user_id, tokenId: row.id, scopes, actedById: null };
  const isPaused = row.paused_at !== null;
  return { caller, isPaused, expiresAt: row.expires_at ?? Number.POSITIVE_INFINITY };
}

interface NewToken {
  /** Shown once and not stored. */
  token: string;
  row: CreateToken;
}

export interface TokenChoice {
  scopes?: readonly Scope[] | undefined;
  /** Milliseconds since the Unix epoch; null means never. */
  expiresAt?: number | null | undefined;
  name?: string | null | undefined;
}

/** Generates a token of 256 random bits, and its row. */
export function makeToken(
  core: DataAccess,
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
      entry: newEntry(core, caller),
      sealed: null,
    },
  };
}

/**
 * Creates a token; `caller` is null on the command line. Throws `user_not_found`, `count_limit_reached`, and
 * `invalid_parameter` if the token would already have expired.
 */
export async function createToken(
  core: DataAccess,
  caller: Caller | null,
  userId: string,
  choice: TokenChoice,
): Promise<ShownToken> {
  const made = makeToken(core, caller, userId, choice);
  refuseExpired(made.row);
  await core.db.write("createToken", made.row);
  return shownToken(made.row, made.token);
}

/** Creates a token for a request with an Idempotency-Key. A replay returns the same token. */
export async function createTokenWithKey(
  core: Core,
  caller: Caller,
  userId: string,
  choice: TokenChoice,
  key: string,
): Promise<ShownToken & { replayed: boolean }> {
  const { token, row } = makeToken(core, caller, userId, choice);
  const context = `${caller.userId} ${key}`;
  const asked = ["createToken", userId, choice];
  // A replay after the token has expired still gets the first answer.
  if (!(await isReplay(core, caller, key))) refuseExpired(row);
  const input = { ...row, sealed: core.seal.seal(token, context) };
  const { result, replayed } = await writeIdempotent(core, { caller, key, asked }, "createToken", input);
  const secret = replayed ? core.seal.open(result.sealed!, context) : token;
  if (secret === undefined) {
    throw new ParleyError(
      "idempotency_key_reused",
      "This Idempotency-Key created a token under a different PARLEY_SECRET. Use a new key.",
    );
  }
  return { ...shownToken({ ...row, ...result }, secret), replayed };
}

function refuseExpired({ expiresAt, createdAt }: CreateToken): void {
  if (expiresAt === null || expiresAt > createdAt) return;
  throw new ParleyError(
    "invalid_parameter",
    `expires_at must be in the future. The current time is ${toSeconds(createdAt)}.`,
    { param: "expires_at" },
  );
}

function shownToken(row: CreateToken, token: string): ShownToken {
  const { userId, name, scopes, expiresAt, createdAt } = row;
  const kept = { id: row.id, user_id: userId, name, scopes, expires_at: expiresAt, created_at: createdAt };
  const { id, ...shown } = toToken({ ...kept, last_used_at: null });
  return { id, token, ...shown };
}

/** Returns all tokens, newest first. */
export async function allTokens(core: DataAccess): Promise<(Token & { username: string })[]> {
  return (await allTokenRows(core.db)).map((row) => ({ ...toToken(row), username: row.username }));
}

/** Returns one page of the tokens of all users or of one. */
export async function listTokens(
  core: DataAccess,
  request: Page & { user_id?: string | undefined },
): Promise<PageEnvelope> {
  const rows = await listTokenRows(core.db, { userId: request.user_id }, request);
  return toPage(request, rows, (row) => JSON.stringify(toToken(row)));
}

/** Throws `token_not_found`. */
export async function getToken(core: DataAccess, id: string): Promise<Token> {
  const row = await findTokenById(core.db, id);
  if (!row) throw new ParleyError("token_not_found");
  return toToken(row);
}

/** Returns a token by its secret, also an expired one. This does not update `last_used_at`. Throws `token_not_found`. */
export async function getTokenBySecret(core: DataAccess, secret: string): Promise<Token> {
  const row = await findToken(core.db, hashToken(secret));
  if (!row) throw new ParleyError("token_not_found");
  return toToken(row);
}

function toToken(row: TokenRow): Token {
  return {
    id: row.id,
    user_id: row.user_id,
    name: row.name,
    scopes: row.scopes.split(" "),
    expires_at: row.expires_at === null ? null : toSeconds(row.expires_at),
    created_at: toSeconds(row.created_at),
    last_used_at: row.last_used_at === null ? null : toSeconds(row.last_used_at),
  };
}

/** Revokes a token: the next request with it is refused. Throws `token_not_found`. */
export async function revokeToken(core: DataAccess, caller: Caller | null, id: string): Promise<void> {
  const tokens = [{ id, entry: newEntry(core, caller) }];
  if ((await core.db.write("deleteTokens", { tokens })) === 0) throw new ParleyError("token_not_found");
}

/** Revokes all current tokens of the user. */
export async function revokeTokensOf(core: DataAccess, caller: Caller | null, userId: string): Promise<void> {
  const ids = await allTokenIds(core.db, userId);
  const tokens = ids.map((id) => ({ id, entry: newEntry(core, caller) }));
  if (tokens.length > 0) await core.db.write("deleteTokens", { tokens });
}

function hashToken(token: string): Uint8Array {
  return hash("sha256", token, "buffer");
}
