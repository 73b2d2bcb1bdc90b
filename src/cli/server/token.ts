import { readConfig } from "../../config/settings.ts";
import {
  createToken,
  allTokens as listAll,
  revokeToken as revoke,
  SCOPES,
  type Scope,
} from "../../core/people/tokens.ts";
import { getUserByName } from "../../core/people/users.ts";
import { displayName, readField } from "../../core/resource/fields.ts";
import { ParleyError } from "../../errors.ts";
import type { Io } from "../io.ts";
import { printTable } from "../table.ts";
import { isoTime } from "../text.ts";
import { withDataAccess } from "./data.ts";

export interface TokenOptions {
  scope?: string[];
  /** Milliseconds. */
  expires?: number;
  name?: string;
  json?: boolean;
}

/** Prints only the token, for use in scripts. */
export async function addToken(io: Io, username: string, options: TokenOptions): Promise<void> {
  const scopes = options.scope && [...new Set(options.scope.map(parseScope))];
  if (options.name !== undefined) readField("--name", displayName, options.name);
  const made = await withDataAccess(readConfig(io.env), async (core) => {
    const user = await getUserByName(core, username);
    return createToken(core, null, user.id, {
      ...(scopes === undefined ? {} : { scopes }),
      ...(options.expires === undefined ? {} : { expiresAt: core.clock() + options.expires }),
      ...(options.name === undefined ? {} : { name: options.name }),
    });
  });
  io.print(options.json ? JSON.stringify({ id: made.id, token: made.token }) : made.token);
}

export async function listTokens(io: Io, options: { json?: boolean }): Promise<void> {
  const tokens = await withDataAccess(readConfig(io.env), listAll);
  if (options.json) return io.print(JSON.stringify(tokens));
  const rows = tokens.map((token) => [
    token.id,
    token.username,
    token.scopes.join(" "),
    token.expires_at === null ? "never" : isoTime(token.expires_at),
    token.name ?? "",
  ]);
  printTable(io, ["ID", "USER", "SCOPES", "EXPIRES", "NAME"], rows);
}

export async function revokeToken(io: Io, id: string, options: { json?: boolean }): Promise<void> {
  await withDataAccess(readConfig(io.env), (core) => revoke(core, null, id));
  if (options.json) io.print(JSON.stringify({ id }));
  else io.warn(`Revoked ${id}.`);
}

function parseScope(text: string): Scope {
  const scope = SCOPES.find((each) => each === text);
  if (!scope) {
    throw new ParleyError("invalid_parameter", `--scope must be one of ${SCOPES.join(", ")}.`, {
      param: "scope",
    });
  }
  return scope;
}
