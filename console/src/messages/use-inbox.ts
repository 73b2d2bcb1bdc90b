// The conversations with contacts and groups, most recent activity first.
import { useEffect, useMemo } from "preact/hooks";
import {
  type Conversation,
  type ConversationQuery,
  ParleyApiError,
} from "../../../packages/parley-client/src/index.ts";
import { useChanges, useSession } from "../session/session.ts";
import { type Pages, usePages } from "../ui/use-pages.ts";

const PAGE = 100;

type Listed = Pick<
  Pages<Conversation>,
  "items" | "hasMore" | "loading" | "current" | "more" | "failure" | "retry"
>;

export interface Inbox extends Listed {
  /** Includes the archived ones, which `items` leaves out. */
  all: readonly Conversation[];
}

/** Returns the conversations that are not archived, pinned ones first. */
export function useInbox(): Inbox {
  const all = useConversations("inbox", {}, () => true);
  // In the list of all, pinned ones may be far down.
  const pinned = useConversations("pinned", { pinned: true }, ({ is_pinned }) => is_pinned);
  useEffect(() => pinned.more());
  const items = useMemo(
    () =>
      [...pinned.items, ...all.items.filter(({ is_pinned }) => !is_pinned)].filter(
        ({ is_archived }) => !is_archived,
      ),
    [pinned.items, all.items],
  );
  const { loading, current, failure, retry } = pinned.current && !pinned.failure ? all : pinned;
  const { hasMore, more } = all;
  return { items, all: all.items, hasMore, more, loading, current, failure, retry };
}

/** Returns the archived conversations; loads them once they are shown. */
export function useArchived(isShown: boolean): Listed {
  return useConversations(
    `archived ${isShown}`,
    isShown ? { archived: true } : undefined,
    (each) => each.is_archived,
  );
}

/** `query` selects the conversations; undefined selects none. */
function useConversations(
  key: string,
  query: ConversationQuery | undefined,
  isListed: (conversation: Conversation) => boolean,
): Pages<Conversation> {
  const { parley, conversations } = useSession();
  const pages = usePages<Conversation>(
    key,
    async (after, signal) => {
      if (!query) return { data: [], has_more: false };
      try {
        const number = conversations.countRequest();
        const whole = { ...query, limit: PAGE, ...(after && { starting_after: after }) };
        const page = await parley.conversations.list(whole, { signal });
        for (const each of page.data) conversations.keep(each, number);
        // Notes to self are shown separately.
        return { ...page, data: page.data.filter(({ kind }) => kind !== "self") };
      } catch (error) {
        // A token for contacts and files only still lists contacts.
        if (!(error instanceof ParleyApiError) || error.code !== "insufficient_scope") throw error;
        return { data: [], has_more: false };
      }
    },
    toPosition,
  );
  const { edit, reload } = pages;
  useChanges((change) => {
    if (change.type === "missed") reload();
    else if (change.type === "conversation.current" && change.payload.kind !== "self") {
      const { payload } = change;
      edit((items, hasMore) => withMoved(items, payload, isListed(payload), hasMore));
    } else if (change.type === "contact.deleted")
      edit((items) => items.filter((each) => each.contact_id !== change.payload.id));
    else if (change.type === "group.deleted")
      edit((items) => items.filter((each) => each.group_id !== change.payload.id));
  });
  return pages;
}

const toPosition = (conversation: Conversation) => conversation.position!;

/** Moves a conversation to its place by activity. One that belongs after the loaded ones comes with a later page. */
function withMoved(
  items: Conversation[],
  moved: Conversation,
  isListed: boolean,
  hasMore: boolean,
): Conversation[] {
  const others = items.filter(({ id }) => id !== moved.id);
  if (moved.position === null || !isListed) return others;
  const at = others.findIndex(({ position }) => position! < moved.position!);
  if (at >= 0) return others.toSpliced(at, 0, moved);
  return hasMore ? others : [...others, moved];
}
