import type { Act } from "../../src/db/audit.ts";
import type { CreateToken } from "../../src/db/tokens.ts";
import type { CreateUser } from "../../src/db/users.ts";

let acts = 0;

/** An act of nobody, each with an id of its own. */
export function anAct(): Act {
  return {
    id: `aud_${String(++acts).padStart(6, "0")}`,
    at: 1_800_000_000_000,
    actorId: null,
    tokenId: null,
  };
}

/** A user whose names are made of the id. */
export function aUser(id: string, fields: Partial<CreateUser> = {}): CreateUser {
  return {
    id,
    username: id.toUpperCase(),
    usernameKey: id,
    phoneNumber: null,
    displayName: null,
    avatarUrl: null,
    conversationId: `cnv_${id}_notes`,
    createdAt: 1_800_000_000_000,
    act: anAct(),
    ...fields,
  };
}

/** A token whose secret's hash is made of the number. */
export function aToken(userId: string, number: number, fields: Partial<CreateToken> = {}): CreateToken {
  return {
    id: `tok_${String(number).padStart(4, "0")}`,
    hash: new Uint8Array(32).fill(number),
    userId,
    name: null,
    scopes: "admin",
    expiresAt: null,
    createdAt: 1_800_000_000_000,
    limit: 0,
    act: anAct(),
    ...fields,
  };
}
