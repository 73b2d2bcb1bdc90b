// The file before or after those of the loaded messages, however many messages without files are in between.
import { useEffect, useState } from "preact/hooks";
import { useChanges, useSession } from "../session/session.ts";
import { FILE_DETAILS, type SharedFile } from "./file-actions.ts";

/** The server lists files by age. One that was added to a message later is not next to the others of its message. */
const PAGE = 50;

const toRank = ({ message_id, id }: SharedFile) => `${message_id} ${id}`;

/** Returns the nearest file of another message than that of `file`; undefined without one, and until it is read. */
export function useBeyond(
  conversationId: string,
  file: SharedFile | undefined,
  direction: "before" | "after",
): SharedFile | undefined {
  const { parley } = useSession();
  const [found, setFound] = useState<SharedFile>();
  const [version, setVersion] = useState(0);
  useEffect(() => {
    if (!file) return;
    const controller = new AbortController();
    const { signal } = controller;
    const cursor = direction === "before" ? { starting_after: file.id } : { ending_before: file.id };
    const query = { conversation_id: conversationId, include: FILE_DETAILS, limit: PAGE, ...cursor };
    const choose = (files: readonly SharedFile[]) => {
      const sorted = files.toSorted((one, other) => (toRank(one) < toRank(other) ? -1 : 1));
      if (direction === "after") return sorted.find(({ message_id }) => message_id > file.message_id);
      return sorted.findLast(({ message_id }) => message_id < file.message_id);
    };
    // If that fails, the steps end here until the server is back.
    parley.attachments.list(query, { signal }).then(
      ({ data }) => setFound(choose(data)),
      () => {},
    );
    return () => {
      controller.abort();
      setFound(undefined);
    };
  }, [parley, conversationId, direction, file?.id, version]);
  useChanges(({ type }) => {
    if (type === "retry" || type === "missed" || type === "attachment.deleted")
      setVersion((version) => version + 1);
  });
  return found;
}
