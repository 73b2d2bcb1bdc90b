// The files of the open conversation, kept up to date.
import { useEffect, useRef } from "preact/hooks";
import type { Attachment } from "../../client/src/index.ts";
import { counted } from "./format.ts";
import { useChanges, useSession } from "./session.ts";
import { type Pages, readFound, usePages } from "./use-pages.ts";

const PAGE = 48;
/** Links are valid for at least an hour. */
const RENEW_MS = 30 * 60 * 1000;
/** New files within this time share one notice. */
const GATHER_MS = 300;
const MAX_NAMED = 3;

/** `q`: words of their names; empty for all. */
export function useFiles(conversationId: string, q: string): Pages<Attachment> {
  const { parley, uploads, endIfRefused } = useSession();
  const narrowed = { conversation_id: conversationId, ...(q && { q }) };
  const pages = usePages<Attachment>(`${conversationId} ${q}`, (after, signal) =>
    readFound((query) => parley.attachments.list(query, { signal }), {
      ...narrowed,
      limit: PAGE,
      ...(after && { starting_after: after }),
    }),
  );
  const latest = useRef(pages);
  latest.current = pages;
  const sayNew = useSayNew();
  useChanges((change) => {
    const { edit, reload, items } = pages;
    if (change.type === "missed") reload();
    else if (change.type === "attachment.created" && change.conversation_id === conversationId) {
      const { payload } = change;
      // Only the server knows whether it is found.
      if (q) reload();
      else edit((items, hasMore) => withNew(items, payload, hasMore));
      const isKnown = items.some(({ id }) => id === payload.id);
      if (!isKnown && !uploads.isOwn(payload, conversationId)) sayNew(payload.filename);
    } else if (change.type === "attachment.updated") {
      const { payload } = change;
      edit((items) => items.map((each) => (each.id === payload.id ? payload : each)));
    } else if (change.type === "attachment.deleted")
      edit((items) => items.filter(({ id }) => id !== change.payload.id));
  });
  useEffect(() => {
    const renew = async () => {
      const fresh = new Map<string, Attachment>();
      for await (const file of parley.attachments.list(narrowed)) {
        if (fresh.size >= latest.current.items.length) break;
        fresh.set(file.id, file);
      }
      latest.current.edit((items) => items.map((each) => fresh.get(each.id) ?? each));
    };
    const timer = setInterval(() => renew().catch(endIfRefused), RENEW_MS);
    return () => clearInterval(timer);
  }, [parley, endIfRefused, conversationId, q]);
  return pages;
}

/** Inserts a file in the order of ids, which is that of creation: events may arrive in another order. */
function withNew(items: Attachment[], file: Attachment, hasMore: boolean): Attachment[] {
  if (items.some(({ id }) => id === file.id)) return items;
  const at = items.findIndex(({ id }) => id < file.id);
  if (at >= 0) return items.toSpliced(at, 0, file);
  // Older than all loaded files: it comes with its page.
  return hasMore && items.length > 0 ? items : [...items, file];
}

/** Shows the names of new files from others, many in one notice. */
function useSayNew(): (filename: string) => void {
  const { say } = useSession();
  const names = useRef<string[]>([]);
  const announce = useRef((filename: string) => {
    names.current.push(filename);
    if (names.current.length > 1) return;
    setTimeout(() => {
      const all = names.current.splice(0);
      say(`New here: ${all.length > MAX_NAMED ? counted(all.length, "file", "files") : all.join(", ")}`);
    }, GATHER_MS);
  });
  return announce.current;
}
