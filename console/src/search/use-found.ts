// The messages that a search finds, newest first.
import { useMemo } from "preact/hooks";
import {
  type Conversation,
  type Message,
  type Parley,
  ParleyApiError,
} from "../../../packages/parley-client/src/index.ts";
import type { InboxEntry, Sync } from "../../../packages/parley-sync/src/index.ts";
import { nullIfGone } from "../failures.ts";
import type { Change } from "../session/changes.ts";
import { useView } from "../session/copy.ts";
import { useChanges, useSession } from "../session/session.ts";
import { type Pages, readFound, usePages } from "../ui/use-pages.ts";
import { hasMatch, isSearchable } from "./marks.ts";

const PAGE = 100;
/** The maximum length of a query. */
export const MAX_QUERY = 128;

export interface Hit {
  /** The id of the message. */
  id: string;
  message: Message;
  conversation: Conversation | InboxEntry;
}

/** Searches one conversation, or all. Finds nothing for a text without words. */
export function useFound(q: string, conversationId?: string): Pages<Hit> {
  const { parley, sync } = useSession();
  const pages = usePages<Hit>(`${conversationId} ${q}`, async (after, signal) => {
    if (!isSearchable(q)) return { data: [], has_more: false };
    const query = { q, limit: PAGE, conversation_id: conversationId, starting_after: after };
    try {
      const page = await readFound((query) => parley.messages.search(query, { signal }), query);
      return { data: await toHits(page.data, parley, sync), has_more: page.has_more };
    } catch (error) {
      // A token for contacts and files only still searches contacts.
      if (!(error instanceof ParleyApiError) || error.code !== "insufficient_scope") throw error;
      return { data: [], has_more: false };
    }
  });
  const { edit, reload, items, current } = pages;
  useChanges((change) => {
    if (change.type === "missed") reload();
    else if (isAboutHit(change, items, q)) reload();
    else if (change.type === "message.deleted")
      edit((hits) => hits.filter(({ id }) => id !== change.payload.id));
    else if (change.type === "contact.deleted" || change.type === "group.deleted") {
      const { conversation_id } = change.payload;
      edit((hits) => hits.filter(({ message }) => message.conversation_id !== conversation_id));
    }
  });
  const inbox = useView(sync.inbox());
  const shown = useMemo(() => {
    const known = new Map(inbox.items.map((each) => [each.id, each]));
    // Until the answer arrives, show the results of the previous search that also match this one.
    const matching = current ? items : items.filter(({ message }) => hasMatch(message.text ?? "", q));
    return matching.map((hit) => ({
      ...hit,
      conversation: known.get(hit.conversation.id) ?? hit.conversation,
    }));
  }, [items, current, q, inbox]);
  return { ...pages, items: shown };
}

/** Reports whether a change may add or remove a hit. Only the server knows for certain. */
function isAboutHit(change: Change, hits: readonly Hit[], q: string): boolean {
  if (change.type !== "message.created" && change.type !== "message.updated") return false;
  const { id, text } = change.payload;
  return hasMatch(text ?? "", q) || hits.some((each) => each.id === id);
}

/** Adds the conversations. Drops a message whose conversation the user has left since. */
async function toHits(messages: readonly Message[], parley: Parley, sync: Sync): Promise<Hit[]> {
  const found = new Map<string, Hit["conversation"] | undefined>();
  const read = async (id: string) => {
    const known = sync.conversation(id).getSnapshot().conversation;
    const row = known ?? (await parley.conversations.retrieve(id).catch(nullIfGone));
    found.set(id, row ?? undefined);
  };
  await Promise.all([...new Set(messages.map(({ conversation_id }) => conversation_id))].map(read));
  return messages.flatMap((message) => {
    const conversation = found.get(message.conversation_id);
    return conversation ? [{ id: message.id, message, conversation }] : [];
  });
}
