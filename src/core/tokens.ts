import { hash } from "node:crypto";
import { type CreateToken, findToken, listTokens as listTokenRows } from "../db/tokens.ts";
import { ParleyError } from "../errors.ts";
import { toSeconds } from "../util/clock.ts";
import type { Verified } from "./caller.ts";
import type { Accounts, Core } from "./core.ts";

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
  scopes?: readonly Scope[];
  /** Milliseconds since the Unix epoch. */
  expiresAt?: number;
  name?: string;
}

/** A token of 256 random bits and the row that recognises it. */
export function makeToken(core: Accounts, userId: string, choice: TokenChoice = {}): NewToken {
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
    },
  };
}

/** Makes and keeps a token. */
export async function createToken(core: Accounts, userId: string, choice: TokenChoice): Promise<NewToken> {
  const made = makeToken(core, userId, choice);
  await core.db.write("createToken", made.row);
  return made;
}

/** A token as it is shown: never with its secret. */
interface Token {
  id: string;
  user_id: string;
  username: string;
  name: string | null;
  scopes: string[];
  expires_at: number | null;
  created_at: number;
}

/** All tokens, newest first. */
export async function listTokens(core: Accounts): Promise<Token[]> {
  return (await listTokenRows(core.db)).map((row) => ({
    id: row.id,
    user_id: row.user_id,
    username: row.username,
    name: row.name,
    scopes: row.scopes.split(" "),
    expires_at: row.expires_at === null ? null : toSeconds(row.expires_at),
    created_at: toSeconds(row.created_at),
  }));
}

/** Acts at once: the next request with the token is refused. Throws `token_not_found`. */
export async function revokeToken(core: Accounts, id: string): Promise<void> {
  if (!(await core.db.write("deleteToken", { id }))) throw new ParleyError("token_not_found");
}

function hashToken(token: string): Uint8Array {
  return hash("sha256", token, "buffer");
}
