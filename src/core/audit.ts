import type { Act } from "../db/audit.ts";
import type { Caller } from "./caller.ts";
import type { Accounts } from "./core.ts";

/** What the audit trail says of a change that the caller makes now; null: the command line makes it. */
export function actOf(core: Accounts, caller: Caller | null): Act {
  return {
    id: core.newId("aud"),
    at: core.clock(),
    actorId: caller?.userId ?? null,
    tokenId: caller?.tokenId ?? null,
  };
}
