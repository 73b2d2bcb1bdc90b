// The files of a conversation or of all, kept up to date. Loads all of them, page by page, and shows them meanwhile.
import { useEffect, useRef, useState } from "preact/hooks";
import { isPassing } from "../failures.ts";
import { useChanges, useSession } from "../session/session.ts";
import { counted } from "../ui/format.ts";
import { type Pages, readFound, usePages } from "../ui/use-pages.ts";
import { FILE_DETAILS, type SharedFile } from "./file-actions.ts";
import { MAX_LOADED } from "./file-order.ts";

/** A short first page appears sooner. */
const FIRST_PAGE = 48;
const PAGE = 100;
/** Links stay valid for at least an hour. */
const RENEW_MS = 30 * 60 * 1000;
/** New files within this time share one request and one notice. */
const GATHER_MS = 300;
const MAX_NAMED = 3;

export interface Files extends Pages<SharedFile> {
  /** Whether older files are not loaded because there are too many. */
  isPart: boolean;
  /** Raises the number of files to load. */
  loadOlder: () => void;
}

/** Without a conversation: the files of all. `q`: words of the filenames; empty for all files. */
export function useFiles(conversationId: string | undefined, q: string): Files {
  const { parley, me, uploads } = useSession();
  const key = `${conversationId} ${q}`;
  const [limit, setLimit] = useState(MAX_LOADED);
  const held = useRef({ key, count: 0 });
  const pages = usePages<SharedFile>(key, async (after, signal) => {
    const read = (starting_after: string | undefined, limit: number) => {
      const query = { conversation_id: conversationId, include: FILE_DETAILS, limit } as const;
      const narrowed = { ...query, ...(q && { q }), ...(starting_after && { starting_after }) };
      return readFound((query) => parley.attachments.list(query, { signal }), narrowed);
    };
    if (after) return read(after, PAGE);
    // Reload as many files as before, so that nothing moves.
    const wanted = held.current.key === key ? held.current.count : 0;
    let page = await read(undefined, Math.max(FIRST_PAGE, Math.min(wanted, PAGE)));
    const data = [...page.data];
    while (page.has_more && data.length < wanted) {
      page = await read(data.at(-1)!.id, PAGE);
      data.push(...page.data);
    }
    return { data, has_more: page.has_more };
  });
  if (pages.current) held.current = { key, count: pages.items.length };
  const latest = useRef(pages);
  latest.current = pages;
  useEffect(() => {
    if (pages.items.length < limit) pages.more();
  });
  useEffect(() => {
    const timer = setInterval(() => latest.current.reload(), RENEW_MS);
    return () => clearInterval(timer);
  }, []);
  const sayNew = useSayNew();
  const searchAgain = useReloadSoon(latest);
  const readDetails = useReadDetails(conversationId, (files) => {
    const read = new Map(files.map((file) => [file.id, file]));
    // Edits made since the request are newer than the answer.
    pages.edit((items) =>
      items.map((each) => (read.has(each.id) ? { ...read.get(each.id), ...each } : each)),
    );
    for (const { sender, filename } of files.toReversed()) if (sender?.id !== me.id) sayNew(filename);
  });
  useChanges((change) => {
    const { edit, reload, items } = pages;
    const isIn = (id: string) => items.some((each) => each.id === id);
    const isHere =
      "conversation_id" in change &&
      (conversationId === undefined || change.conversation_id === conversationId);
    if (change.type === "missed") reload();
    else if (change.type === "attachment.created" && isHere) {
      const { conversation_id } = change;
      const payload = { ...change.payload, ...(conversation_id && { conversation_id }) };
      const file = uploads.isOwn(payload.id) ? { ...payload, sender: me } : payload;
      // Only the server knows whether it matches.
      if (q) searchAgain();
      else edit((items, hasMore) => withNew(items, file, hasMore));
      if (!isIn(file.id)) readDetails(file.id);
    } else if (change.type === "attachment.updated") {
      const { payload } = change;
      edit((items) => items.map((each) => (each.id === payload.id ? { ...each, ...payload } : each)));
      if (q && (isHere || isIn(payload.id))) searchAgain();
    } else if (change.type === "attachment.deleted")
      edit((items) => items.filter(({ id }) => id !== change.payload.id));
    else if (change.type === "contact.deleted" || change.type === "group.deleted")
      edit((items) => items.filter((each) => each.conversation_id !== change.payload.conversation_id));
  });
  return {
    ...pages,
    isPart: pages.hasMore && pages.items.length >= limit,
    loadOlder: () => setLimit(pages.items.length + MAX_LOADED),
  };
}

/** Inserts a file in the order of ids, that is, of creation: events may arrive in another order. */
function withNew(items: SharedFile[], file: SharedFile, hasMore: boolean): SharedFile[] {
  if (items.some(({ id }) => id === file.id)) return items;
  const at = items.findIndex(({ id }) => id < file.id);
  if (at >= 0) return items.toSpliced(at, 0, file);
  // Older than all loaded files: a later page will have it.
  return hasMore && items.length > 0 ? items : [...items, file];
}

/** Returns a function that reloads the list, once for all calls within a moment, and not during a load. */
function useReloadSoon(pages: { current: Pages<SharedFile> }): () => void {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const start = () => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      if (pages.current.loading) start();
      else pages.current.reload();
    }, GATHER_MS);
  };
  return start;
}

/**
 * Returns a function that reads the details of a new file that its event lacks, such as the sender. One request
 * serves all calls within a moment. `show` gets the files newest first.
 */
function useReadDetails(
  conversationId: string | undefined,
  show: (files: SharedFile[]) => void,
): (id: string) => void {
  const { parley, events, endIfRefused } = useSession();
  const waiting = useRef<string[]>([]);
  const left = useRef(new AbortController());
  useEffect(() => () => left.current.abort(), []);
  const latest = useRef(show);
  latest.current = show;
  const { signal } = left.current;
  const read = async (ids: readonly string[]) => {
    const oldest = ids.toSorted()[0]!;
    const limit = Math.min(PAGE, 2 * ids.length);
    const query = { conversation_id: conversationId, include: FILE_DETAILS, limit };
    const found: SharedFile[] = [];
    for await (const file of parley.attachments.list(query, { signal })) {
      if (ids.includes(file.id)) found.push(file);
      if (file.id <= oldest) break;
    }
    return found;
  };
  /** Retries until the server answers. */
  const ask = async () => {
    const ids = waiting.current.splice(0);
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        return latest.current(await read(ids));
      } catch (error) {
        if (!isPassing(error)) return endIfRefused(error);
        await events.pause(failures);
      }
    }
  };
  return (id) => {
    if (waiting.current.includes(id)) return;
    if (waiting.current.push(id) === 1) setTimeout(ask, GATHER_MS);
  };
}

/** Announces new files from others by name; many at once share one notice. */
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
