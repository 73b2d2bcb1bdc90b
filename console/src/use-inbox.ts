// The conversations with contacts and in groups, most recent activity first.
import { type Conversation, ParleyApiError } from "../../client/src/index.ts";
import { toName } from "./people.tsx";
import { useChanges, useSession } from "./session.ts";
import { type Pages, usePages } from "./use-pages.ts";

const PAGE = 100;

export function useInbox(): Pages<Conversation> {
  const { parley, conversations } = useSession();
  const pages = usePages<Conversation>(
    "inbox",
    async (after, signal) => {
      try {
        const query = { limit: PAGE, ...(after && { starting_after: after }) };
        const page = await parley.conversations.list(query, { signal });
        for (const each of page.data) conversations.keep(each);
        // Notes to self have a place of their own.
        return { ...page, data: page.data.filter(({ kind }) => kind !== "self") };
      } catch (error) {
        // A token for contacts and files alone still lists contacts.
        if (!(error instanceof ParleyApiError) || error.code !== "insufficient_scope") throw error;
        return { data: [], has_more: false };
      }
    },
    toPosition,
  );
  const { edit, reload, hasMore } = pages;
  useChanges((change) => {
    if (change.type === "missed") reload();
    else if (change.type === "conversation.current" && change.payload.kind !== "self")
      edit((items) => withMoved(items, change.payload, hasMore));
    else if (change.type === "contact.deleted")
      edit((items) => items.filter((each) => each.contact_id !== change.payload.id));
    else if (change.type === "group.deleted")
      edit((items) => items.filter((each) => each.group_id !== change.payload.id));
    else if (change.type === "contact.updated") {
      const { id } = change.payload;
      const name = toName(change.payload);
      edit((items) => items.map((each) => (each.contact_id === id ? { ...each, name } : each)));
    }
  });
  return pages;
}

const toPosition = (conversation: Conversation) => conversation.position!;

/** Moves a conversation to its place. One below all loaded ones comes with its page. */
function withMoved(items: Conversation[], moved: Conversation, hasMore: boolean): Conversation[] {
  const others = items.filter(({ id }) => id !== moved.id);
  if (moved.position === null) return others;
  const at = others.findIndex(({ position }) => position! < moved.position!);
  if (at >= 0) return others.toSpliced(at, 0, moved);
  return hasMore ? others : [...others, moved];
}
