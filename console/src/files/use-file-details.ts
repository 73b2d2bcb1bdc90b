// What the files of messages need to be shown: links that are still valid, and the previews of pictures.
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Attachment, Message } from "../../../packages/parley-client/src/index.ts";
import { useChanges, useSession } from "../session/session.ts";
import { useInterval } from "../ui/use-interval.ts";
import { toKind } from "./media.ts";

const PAGE = 50;
const CHECK_MS = 5 * 60_000;
/** Links are renewed so long before they expire. */
const EARLY_SECONDS = 30 * 60;

/** Returns the messages with such files. Those of events lack previews, and those of the copy may be old. */
export function useFileDetails<M extends Message>(
  conversationId: string,
  messages: readonly M[],
): readonly M[] {
  const { parley } = useSession();
  const [read] = useState(() => ({
    known: new Map<string, Attachment>(),
    requested: new Set<string>(),
    shown: new WeakMap<M, M>(),
  }));
  const [version, setVersion] = useState(0);
  const shown = useMemo(
    () =>
      messages.map((message) => {
        if (!message.attachments.some(({ id }) => read.known.has(id))) return message;
        const before = read.shown.get(message);
        if (before) return before;
        const attachments = message.attachments.map((file) => withDetails(file, read.known.get(file.id)));
        const after = { ...message, attachments };
        read.shown.set(message, after);
        return after;
      }),
    [messages, version],
  );
  /** Shows the originals of new pictures. Links are requested again with the next change, or once the connection is back. */
  const forget = (failed: readonly M[]) => {
    const files = failed.flatMap(({ attachments }) => attachments);
    for (const file of files) read.requested.delete(toRequest(file));
    const unknown = files.filter(({ id }) => !read.known.has(id));
    for (const file of unknown) read.known.set(file.id, { ...file, image: null });
    if (unknown.length > 0) setVersion((version) => version + 1);
  };
  const renew = async () => {
    const isDue = (file: Attachment) => !read.requested.has(toRequest(file)) && isIncomplete(file);
    let due = shown.filter(({ attachments }) => attachments.some(isDue));
    for (const { attachments } of due) for (const file of attachments) read.requested.add(toRequest(file));
    while (due.length > 0) {
      const { id: newest } = due.at(-1)!;
      const query = {
        conversation_id: conversationId,
        include: "unscanned,image",
        limit: PAGE,
        around: newest,
      };
      const page = await parley.messages.list(query).then(
        ({ data }) => data,
        () => undefined,
      );
      if (!page) return forget(due);
      for (const { attachments } of page) for (const file of attachments) read.known.set(file.id, file);
      // Neighbours share a request.
      const oldest = page.at(-1)?.id ?? newest;
      for (const { id, attachments } of due)
        for (const file of attachments)
          if (id >= oldest && !read.known.has(file.id)) read.known.set(file.id, { ...file, image: null });
      due = due.filter(({ id }) => id < oldest && id !== newest);
      read.shown = new WeakMap();
      setVersion((version) => version + 1);
    }
  };
  useEffect(() => void renew(), [shown]);
  useInterval(() => void renew(), CHECK_MS);
  useChanges(({ type }) => type === "retry" && void renew());
  return shown;
}

const toRequest = ({ id, file_url }: Attachment) => `${id} ${file_url}`;

const toExpiry = ({ file_url }: Attachment) =>
  Number(new URLSearchParams(file_url.split("?")[1]).get("expires"));

function isIncomplete(file: Attachment): boolean {
  if (toExpiry(file) < Date.now() / 1000 + EARLY_SECONDS) return true;
  return file.image === undefined && toKind(file) === "image";
}

/** The name may have changed since the details were read. */
function withDetails(file: Attachment, details: Attachment | undefined): Attachment {
  if (!details) return file;
  const isNewer = toExpiry(details) > toExpiry(file);
  return { ...file, ...details, filename: file.filename, file_url: (isNewer ? details : file).file_url };
}
