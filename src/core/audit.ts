import { type Act, type ActRow, listActs } from "../db/audit.ts";
import { toSeconds } from "../util/clock.ts";
import type { Caller } from "./caller.ts";
import type { Accounts } from "./core.ts";
import { type PageOf, type PageRequest, pageOf, pageQuery } from "./page.ts";

/** What the audit trail says of a change that the caller makes now; null: the command line makes it. */
export function actOf(core: Accounts, caller: Caller | null): Act {
  return {
    id: core.newId("aud"),
    at: core.clock(),
    actorId: caller?.userId ?? null,
    tokenId: caller?.tokenId ?? null,
  };
}

/** One page of the audit trail, newest first. */
export async function listAudit(core: Accounts, request: PageRequest): Promise<PageOf> {
  const page = pageQuery(request);
  return pageOf(page, await listActs(core.db, page), jsonOf);
}

/** Lines of the trail that are read at a time. */
const EXPORT_PAGE = 500;

/** The whole audit trail as lines of JSON, oldest first, many in each text. */
export async function* exportAudit(core: Accounts): AsyncGenerator<string> {
  for (let cursor = ""; ; ) {
    const rows = await listActs(core.db, { cursor, newer: true, limit: EXPORT_PAGE });
    if (rows.length === 0) return;
    yield rows.map((row) => `${jsonOf(row)}\n`).join("");
    cursor = rows.at(-1)!.id;
  }
}

function jsonOf(row: ActRow): string {
  return JSON.stringify({
    id: row.id,
    created_at: toSeconds(row.at),
    action: row.action,
    actor_id: row.actor_id,
    token_id: row.token_id,
    object_id: row.object_id,
    details: row.details === null ? null : JSON.parse(row.details),
  });
}
