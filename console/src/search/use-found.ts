// The messages that a search finds, newest first.
import { useMemo } from "preact/hooks";
import {
  type Conversation,
  type Message,
  ParleyApiError,
} from "../../../packages/parley-client/src/index.ts";
import { isGone } from "../failures.ts";
import type { Conversations } from "../messages/conversations.ts";
import type { Change } from "../session/live.ts";
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
  conversation: Conversation;
}

/** Searches one conversation, or all. Finds nothing for a text without words. */
export function useFound(q: string, conversationId?: string): Pages<Hit> {
  const { parley, conversations } = useSession();
  const pages = usePages<Hit>(`${conversationId} ${q}`, async (after, signal) => {
    if (!isSearchable(q)) return { data: [], has_more: false };
    const query = { q, limit: PAGE, conversation_id: conversationId, starting_after: after };
    try {
      const page = await readFound((query) => parley.messages.search(query, { signal }), query);
      return { data: await toHits(page.data, conversations), has_more: page.has_more };
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
    else if (change.type === "conversation.current") {
      const { payload: conversation } = change;
      const isIn = ({ message }: Hit) => message.conversation_id === conversation.id;
      edit((hits) => hits.map((each) => (isIn(each) ? { ...each, conversation } : each)));
    } else if (change.type === "message.deleted")
      edit((hits) => hits.filter(({ id }) => id !== change.payload.id));
    else if (change.type === "contact.deleted" || change.type === "group.deleted") {
      const { conversation_id } = change.payload;
      edit((hits) => hits.filter(({ message }) => message.conversation_id !== conversation_id));
    }
  });
  // Until the answer arrives, show the results of the previous search that also match this one.
  const shown = useMemo(
    () => (current ? items : items.filter(({ message }) => hasMatch(message.text ?? "", q))),
    [items, current, q],
  );
  return { ...pages, items: shown };
}

/** Reports whether a change may add or remove a hit. Only the server knows for certain. */
function isAboutHit(change: Change, hits: readonly Hit[], q: string): boolean {
  if (change.type !== "message.created" && change.type !== "message.updated") return false;
  const { id, text } = change.payload;
  return hasMatch(text ?? "", q) || hits.some((each) => each.id === id);
}

/** Adds the conversations. Drops a message whose conversation the user has left since. */
async function toHits(messages: readonly Message[], conversations: Conversations): Promise<Hit[]> {
  const ids = new Set(messages.map(({ conversation_id }) => conversation_id));
  const missing = [...ids].filter((id) => !conversations.find(id));
  await Promise.all(
    missing.map((id) =>
      conversations.load(id).catch((error) => {
        if (!isGone(error)) throw error;
      }),
    ),
  );
  return messages.flatMap((message) => {
    const conversation = conversations.find(message.conversation_id);
    return conversation ? [{ id: message.id, message, conversation }] : [];
  });
}
