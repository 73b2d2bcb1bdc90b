// The conversations with contacts and groups, most recent activity first.
import { useMemo } from "preact/hooks";
import type { InboxEntry } from "../../../packages/parley-sync/src/index.ts";
import { useView } from "../session/copy.ts";
import { useSession } from "../session/session.ts";
import { type Loading, useLoading } from "../session/use-loading.ts";

export interface Inbox extends Loading {
  /** Those that are not archived, pinned ones first. */
  items: readonly InboxEntry[];
  archived: readonly InboxEntry[];
  all: readonly InboxEntry[];
  hasMore: boolean;
  /** Whether the conversations are known. */
  current: boolean;
}

export function useInbox(): Inbox {
  const { sync } = useSession();
  const view = sync.inbox();
  const { items, hasOlder } = useView(view);
  const isKnown = useView(sync.connection()).me !== null;
  const loading = useLoading(view.loadOlder);
  const lists = useMemo(() => {
    // Notes to self are shown separately.
    const all = items.filter(({ kind }) => kind !== "self");
    const open = all.filter(({ is_archived }) => !is_archived);
    const pinned = open.filter(({ is_pinned }) => is_pinned);
    const archived = all.filter(({ is_archived }) => is_archived);
    return { all, archived, items: [...pinned, ...open.filter(({ is_pinned }) => !is_pinned)] };
  }, [items]);
  return {
    ...lists,
    ...loading,
    hasMore: hasOlder,
    current: isKnown,
    loading: loading.loading || !isKnown,
    more: () => isKnown && hasOlder && loading.more(),
  };
}
