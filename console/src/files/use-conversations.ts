// The conversations of files: those of the local copy, and others read once.
import { useCallback, useMemo, useState } from "preact/hooks";
import type { Hit } from "../search/use-found.ts";
import { useView } from "../session/copy.ts";
import { useChanges, useSession } from "../session/session.ts";

type Shown = Hit["conversation"];

/** Without an answer the files have no name of a conversation. */
const ignore = () => {};

/** Returns a function that finds a conversation; undefined until it is known. The function changes when one is. */
export function useConversations(): (id: string) => Shown | undefined {
  const { parley, sync, can } = useSession();
  const inbox = useView(sync.inbox());
  const known = useMemo(() => new Map<string, Shown>(inbox.items.map((each) => [each.id, each])), [inbox]);
  /** Also those that are being read or could not be, as undefined. */
  const [read] = useState(() => new Map<string, Shown | undefined>());
  const [version, setVersion] = useState(0);
  const load = (id: string) => {
    read.set(id, undefined);
    const request = parley.conversations.retrieve(id);
    request.then((conversation) => {
      read.set(id, conversation);
      setVersion((version) => version + 1);
    }, ignore);
  };
  useChanges(({ type }) => {
    if (type !== "retry") return;
    for (const [id, conversation] of read) if (!conversation) read.delete(id);
    setVersion((version) => version + 1);
  });
  return useCallback(
    (id) => {
      const found = known.get(id) ?? read.get(id);
      if (!found && !read.has(id) && can("messages:read")) load(id);
      return found;
    },
    [known, version],
  );
}
