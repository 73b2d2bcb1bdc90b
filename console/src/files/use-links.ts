// The links in the messages of a conversation, newest first.
import type { Message } from "../../../packages/parley-client/src/index.ts";
import { type Link, parseText, type TextPart } from "../messages/text.ts";
import { hasMatch } from "../search/marks.ts";
import { useChanges, useSession } from "../session/session.ts";
import { type Pages, readFound, usePages } from "../ui/use-pages.ts";

const PAGE = 100;
/** A search finds words by their beginning: http and https. */
const SCHEME = "http";

export interface SharedLink {
  /** Unique among all links. */
  id: string;
  text: string;
  message: Message;
}

/** `q`: words of the messages; empty for all links. */
export function useLinks(conversationId: string, q: string): Pages<SharedLink> {
  const { parley } = useSession();
  const words = q || SCHEME;
  const pages = usePages<SharedLink>(
    `${conversationId} ${words}`,
    async (after, signal) => {
      for (let starting_after = after; ; ) {
        const query = { q: words, conversation_id: conversationId, limit: PAGE, starting_after };
        const page = await readFound((query) => parley.messages.search(query, { signal }), query);
        const data = page.data.flatMap(toLinks);
        // Messages may name the word without a link.
        if (data.length > 0 || !page.has_more) return { data, has_more: page.has_more };
        starting_after = page.data.at(-1)!.id;
      }
    },
    ({ message }) => message.id,
  );
  const { edit, reload } = pages;
  useChanges((change) => {
    if (change.type === "missed") reload();
    else if (change.type === "message.deleted")
      edit((links) => links.filter(({ message }) => message.id !== change.payload.id));
    else if (change.type === "message.created" || change.type === "message.updated") {
      const { payload } = change;
      if (payload.conversation_id === conversationId)
        edit((links, hasMore) => withMessage(links, payload, words, hasMore));
    }
  });
  return pages;
}

/** Replaces the links of a message, or inserts them in the order of messages. */
function withMessage(links: SharedLink[], message: Message, words: string, hasMore: boolean): SharedLink[] {
  const others = links.filter((each) => each.message.id !== message.id);
  const added = hasMatch(message.text ?? "", words) ? toLinks(message) : [];
  const at = others.findIndex((each) => each.message.id < message.id);
  if (at >= 0) return others.toSpliced(at, 0, ...added);
  // Older than all loaded links: a later page will have it.
  return hasMore && others.length > 0 ? others : [...others, ...added];
}

/** Returns the links of a message that open a page, each once. */
function toLinks(message: Message): SharedLink[] {
  const links = new Map(
    findLinks(parseText(message.text ?? "", []))
      .filter(({ href }) => /^https?:/.test(href))
      .map(({ href, text }) => [href, text]),
  );
  return [...links].map(([href, text]) => ({ id: `${message.id} ${href}`, text, message }));
}

function findLinks(parts: readonly TextPart[]): Link[] {
  return parts.flatMap((part) => {
    if (typeof part === "string") return [];
    if (part.kind === "a") return [part];
    return "parts" in part ? findLinks(part.parts) : [];
  });
}
