// The files of the open conversation, as they are and as they change.
import { useEffect, useRef } from "preact/hooks";
import type { Attachment } from "../../client/src/index.ts";
import { useSession } from "./session.ts";
import { type Pages, usePages } from "./use-pages.ts";

const PAGE = 48;
/** Links live for an hour at least. */
const RENEW_MS = 30 * 60 * 1000;

export function useFiles(conversationId: string): Pages<Attachment> {
  const { parley, events, uploads, say, endIfRefused } = useSession();
  const pages = usePages<Attachment>(conversationId, (after, signal) =>
    parley.attachments.list(
      { limit: PAGE, conversation_id: conversationId, ...(after && { starting_after: after }) },
      { signal },
    ),
  );
  const latest = useRef(pages);
  latest.current = pages;
  useEffect(() => {
    /** An event does not say in which conversation it was: what is new in this one does. */
    const readNew = async () => {
      const { data } = await parley.attachments.list({ limit: 100, conversation_id: conversationId });
      let added: Attachment[] = [];
      latest.current.edit((items) => {
        const known = new Set(items.map(({ id }) => id));
        added = data.filter(({ id }) => !known.has(id) && (items.length === 0 || id > items.at(-1)!.id));
        // Ids sort by creation. Of two that end at once the older may be told of last.
        return [...added, ...items].sort((a, b) => (a.id < b.id ? 1 : -1));
      });
      const others = added.filter((each) => !uploads.all.some(({ file }) => file.name === each.filename));
      if (others.length > 0) say(`New here: ${others.map(({ filename }) => filename).join(", ")}`);
    };
    return events.listen((event) => {
      if (event.type === "attachment.created") {
        if (!latest.current.items.some(({ id }) => id === event.payload.id)) readNew().catch(endIfRefused);
      } else if (event.type === "attachment.updated") {
        const { payload } = event;
        latest.current.edit((items) => items.map((each) => (each.id === payload.id ? payload : each)));
      } else if (event.type === "attachment.deleted")
        latest.current.edit((items) => items.filter(({ id }) => id !== event.payload.id));
    });
  }, [parley, events, uploads, say, endIfRefused, conversationId]);
  useEffect(() => {
    const renew = async () => {
      const fresh = new Map<string, Attachment>();
      for await (const file of parley.attachments.list({ conversation_id: conversationId })) {
        if (fresh.size >= latest.current.items.length) break;
        fresh.set(file.id, file);
      }
      latest.current.edit((items) => items.map((each) => fresh.get(each.id) ?? each));
    };
    const timer = setInterval(() => renew().catch(endIfRefused), RENEW_MS);
    return () => clearInterval(timer);
  }, [parley, endIfRefused, conversationId]);
  return pages;
}
