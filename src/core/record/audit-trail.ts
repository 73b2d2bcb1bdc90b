import type { WriteInput, WriteResult } from "../../db/database.ts";
import {
  ACTIONS,
  type Action,
  type EntryRow,
  findObjectNames,
  listEntries,
  type NewEntry,
} from "../../db/queries/record/audit-trail.ts";
import type { SingleName } from "../../db/writes.ts";
import { toSeconds } from "../../util/clock.ts";
import { type IdKind, idBound, idPattern, isId, timeOfId } from "../../util/ids.ts";
import { foldedLength, searchKey, searchPart, searchWords } from "../../util/text.ts";
import type { Caller } from "../node/caller.ts";
import type { DataAccess } from "../node/core.ts";
import { choices } from "../resource/choices.ts";
import { describedField, type Field, nameWords, optional, type Parsed } from "../resource/fields.ts";
import { searchNames } from "../resource/name-search.ts";
import { NEWEST, OLDEST, type Page, type PageEnvelope, toPage } from "../resource/page.ts";
import {
  anyObject,
  described,
  id,
  orNull,
  resource,
  type TypeOf,
  text,
  textOrNull,
  time,
} from "../resource/schema.ts";
import { seconds } from "../resource/time-fields.ts";
import { nextTurn, type Turns } from "../resource/turns.ts";

export const auditResource = resource("AuditEntry", {
  id: id("aud"),
  created_at: time,
  action: described(text, "What was done, such as `token.revoked`."),
  actor_id: described(textOrNull, "The user who did it; null for the command line or a signed link."),
  acted_by_id: described(
    textOrNull,
    "The user whose token acted as `actor_id`; null if it was the token of `actor_id`.",
  ),
  token_id: described(textOrNull, "The token that was used; null also for a JWT."),
  object_id: described(text, "The id of the object that was changed. The object may no longer exist."),
  object_name: described(
    textOrNull,
    "The name of the file or group that was changed, as it is now; null once it is erased, and for other objects.",
  ),
  details: described(orNull(anyObject), "Further facts, depending on the action."),
});

/** An id as a filter. A malformed one is refused, because it would find nothing without saying why. */
function filterId(...kinds: readonly IdKind[]): Field<string, true> {
  return {
    required: true,
    accepts: `an id (${kinds.map((kind) => `${kind}_…`).join(", ")})`,
    schema: { type: "string", pattern: kinds.map(idPattern).join("|") },
    parse: (value) =>
      typeof value === "string" && kinds.some((kind) => isId(kind, value)) ? value : undefined,
  };
}

/** The filters of the audit trail. An entry must match all that are given. */
export const auditFilters = {
  actor_id: optional(
    describedField(
      filterId("usr"),
      "Returns what this user did (usr_…), as themselves or as others, and what others did as this user.",
    ),
  ),
  object_id: optional(
    describedField(
      filterId("usr", "tok", "con", "cnv", "grp", "mem", "msg", "att", "whk", "psh"),
      "Returns what was done to this object.",
    ),
  ),
  actions: optional(choices(...ACTIONS)),
  created_from: optional(describedField(seconds, "Returns entries of this time (Unix seconds) or later.")),
  created_before: optional(describedField(seconds, "Returns entries from before this time (Unix seconds).")),
  q: optional(
    describedField(
      nameWords,
      "The beginnings of words of object_id, token_id and the texts in details, in any order.",
    ),
  ),
};
export type AuditFilters = Parsed<typeof auditFilters>;

/** Creates the audit entry of a change by the caller; null is the command line. */
export function newEntry(core: DataAccess, caller: Caller | null): NewEntry {
  const id = core.newId("aud");
  return {
    id,
    // A range of time is a range of ids.
    at: timeOfId(id),
    actorId: caller?.userId ?? null,
    tokenId: caller?.tokenId ?? null,
    actedById: caller?.actedById ?? null,
  };
}

/** Creates the entry of a change that has none if users make it themselves; null if the caller does. */
export function newActedEntry(core: DataAccess, caller: Caller): NewEntry | null {
  return caller.actedById === null ? null : newEntry(core, caller);
}

/** The audit entry of a write, without its author. */
interface Recorded {
  action: Action;
  objectId: string;
  details?: object;
}

/**
 * Runs a write that has an audit entry only if somebody else acts as the caller. The entry records the request even if it
 * changes nothing, so that no write has to report whether it does.
 */
export async function writeActed<N extends SingleName>(
  core: DataAccess,
  caller: Caller,
  { action, objectId, details }: Recorded,
  name: N,
  input: WriteInput<N>,
): Promise<WriteResult<N>> {
  const entry = newActedEntry(core, caller);
  if (!entry) return core.db.write(name, input);
  const acted = { name, input, entry, action, objectId, details } as WriteInput<"runActed">;
  return (await core.db.write("runActed", acted)) as WriteResult<N>;
}

/**
 * Returns one page of the entries that match, newest first. Looks at a limited number of entries, as for names. There are
 * no indexes for filters: they would make audited writes slower.
 */
export async function listAudit(
  core: DataAccess,
  request: Page & AuditFilters,
  turns: Turns,
): Promise<PageEnvelope> {
  let rows: EntryRow[] = [];
  const list = {
    listNames: async (walk: Page) => (rows = await listBetween(core, request, walk)),
    isMatch: toMatcher(request),
    lengthOf: ({ details }: EntryRow) => (request.q === undefined ? 0 : foldedLength(details ?? "")),
    findRows: async (ids: readonly string[]) => rows.filter(({ id }) => ids.includes(id)),
  };
  const found = await searchNames(request, list, turns);
  const names = await findNames(core, found.rows);
  return toPage(request, found.rows, (row) => toJson(row, names), found);
}

/** Entries read at a time. */
const EXPORT_PAGE = 500;

/**
 * Yields all entries that match as JSON lines, oldest first, many per chunk, in the turns of this user. Ends early if `isAborted`:
 * as long as nothing matches, nothing else notices that the client has gone.
 */
export async function* exportAudit(
  core: DataAccess,
  filters: AuditFilters,
  userId: string,
  isAborted: () => boolean,
): AsyncGenerator<string> {
  const isMatch = toMatcher(filters);
  for (let cursor = OLDEST; !isAborted(); await nextTurn(userId)) {
    const rows = await listBetween(core, filters, { cursor, newer: true, limit: EXPORT_PAGE });
    if (rows.length === 0) return;
    const matching = rows.filter(isMatch);
    const names = await findNames(core, matching);
    const lines = matching.map((row) => `${toJson(row, names)}\n`);
    if (lines.length > 0) yield lines.join("");
    cursor = rows.at(-1)!.id;
  }
}

/** Returns the next entries of a walk, at most its limit, and fewer only at the end of the time range of the filters. */
async function listBetween(core: DataAccess, filters: AuditFilters, walk: Page): Promise<EntryRow[]> {
  const { created_from: from, created_before: before } = filters;
  const start = from === undefined ? OLDEST : idBound("aud", from * 1000);
  const end = before === undefined ? NEWEST : idBound("aud", before * 1000);
  const { cursor, newer, limit } = walk;
  const first = newer ? (cursor > start ? cursor : start) : cursor < end ? cursor : end;
  const rows = await listEntries(core.db, { cursor: first, newer, limit: limit - 1 });
  return rows.filter(({ id }) => id > start && id < end);
}

function toMatcher({ actor_id, object_id, actions, q }: AuditFilters): (row: EntryRow) => boolean {
  const parts = searchWords(q ?? "").map(searchPart);
  return (row) =>
    (actor_id === undefined || row.actor_id === actor_id || row.acted_by_id === actor_id) &&
    (object_id === undefined || row.object_id === object_id) &&
    (actions === undefined || actions.includes(row.action)) &&
    (parts.length === 0 || hasParts(row, parts));
}

function hasParts({ object_id, token_id, details }: EntryRow, parts: readonly string[]): boolean {
  const values = details === null ? [] : Object.values<unknown>(JSON.parse(details)).flat();
  const key = searchKey(object_id, token_id, ...values.filter((value) => typeof value === "string"));
  return parts.every((part) => key.includes(part));
}

/** Returns the names of the files and groups of these entries, by id. */
function findNames(core: DataAccess, rows: readonly EntryRow[]): Promise<Map<string, string>> {
  const ids = rows.map(({ object_id }) => object_id).filter((id) => isId("att", id) || isId("grp", id));
  return findObjectNames(core.db, [...new Set(ids)]);
}

function toJson(row: EntryRow, names: ReadonlyMap<string, string>): string {
  const resource: TypeOf<typeof auditResource> = {
    id: row.id,
    created_at: toSeconds(row.at),
    action: row.action,
    actor_id: row.actor_id,
    acted_by_id: row.acted_by_id,
    token_id: row.token_id,
    object_id: row.object_id,
    object_name: names.get(row.object_id) ?? null,
    details: row.details === null ? null : JSON.parse(row.details),
  };
  return JSON.stringify(resource);
}
