import { type EntryRow, listEntries, type NewEntry } from "../db/queries/audit.ts";
import { toSeconds } from "../util/clock.ts";
import type { Caller } from "./access/caller.ts";
import type { Accounts } from "./core.ts";
import { type Page, type PageEnvelope, toPage } from "./page.ts";
import { anyObject, described, id, orNull, resource, type TypeOf, text, textOrNull, time } from "./schema.ts";

export const auditResource = resource("AuditEntry", {
  id: id("aud"),
  created_at: time,
  action: described(text, "What was done, such as `token.revoked`."),
  actor_id: described(textOrNull, "The user who did it; null for the command line or a signed link."),
  token_id: described(textOrNull, "The token that was used; null also for a JWT."),
  object_id: described(text, "The id of the object that was changed. The object may no longer exist."),
  details: described(orNull(anyObject), "Further facts, depending on the action."),
});

/** Creates the audit entry of a change by the caller; null is the command line. */
export function newEntry(core: Accounts, caller: Caller | null): NewEntry {
  return {
    id: core.newId("aud"),
    at: core.clock(),
    actorId: caller?.userId ?? null,
    tokenId: caller?.tokenId ?? null,
  };
}

/** Returns one page of the audit trail, newest first. */
export async function listAudit(core: Accounts, page: Page): Promise<PageEnvelope> {
  return toPage(page, await listEntries(core.db, page), toJson);
}

/** Entries read at a time. */
const EXPORT_PAGE = 500;

/** Yields the whole audit trail as JSON lines, oldest first, many per chunk. */
export async function* exportAudit(core: Accounts): AsyncGenerator<string> {
  for (let cursor = ""; ; ) {
    const rows = await listEntries(core.db, { cursor, newer: true, limit: EXPORT_PAGE });
    if (rows.length === 0) return;
    yield rows.map((row) => `${toJson(row)}\n`).join("");
    cursor = rows.at(-1)!.id;
  }
}

function toJson(row: EntryRow): string {
  const resource: TypeOf<typeof auditResource> = {
    id: row.id,
    created_at: toSeconds(row.at),
    action: row.action,
    actor_id: row.actor_id,
    token_id: row.token_id,
    object_id: row.object_id,
    details: row.details === null ? null : JSON.parse(row.details),
  };
  return JSON.stringify(resource);
}
