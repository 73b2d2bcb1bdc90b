import type { AuditEntry, AuditQuery } from "../../../packages/parley-client/src/index.ts";
import { useSession } from "../session/session.ts";
import { type Pages, readFound, usePages } from "../ui/use-pages.ts";

/** What the entries must match; null finds nothing. */
export type TrailFilter = Pick<
  AuditQuery,
  "actor_id" | "actions" | "created_before" | "created_from" | "q"
> | null;

const PAGE = 50;

export function useTrail(filter: TrailFilter): Pages<AuditEntry> {
  const { parley } = useSession();
  return usePages<AuditEntry>(JSON.stringify(filter), async (after, signal) => {
    if (filter === null) return { data: [], has_more: false };
    const query = { ...filter, limit: PAGE, ...(after && { starting_after: after }) };
    return readFound((query) => parley.audit.list(query, { signal }), query);
  });
}
