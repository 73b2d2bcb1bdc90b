// The conversations of files: those of the local copy, and others read once.
import { useCallback, useMemo, useState } from "preact/hooks";
import type { Hit } from "../search/use-found.ts";
import { useView } from "../session/copy.ts";
import { useChanges, useSession } from "../session/session.ts";

type Shown = Hit["conversation"];

/** Without an answer the files have no name of a conversation. */
const ignore = () => {};

/**
 * `find` returns a conversation; undefined until it is known. It is another function when one becomes known. `load`
 * reads those that are not known; call it in an effect.
 */
export function useConversations(): {
  find: (id: string) => Shown | undefined;
  load: (ids: Iterable<string>) => void;
} {
  const { parley, sync, can } = useSession();
  const inbox = useView(sync.inbox());
  const known = useMemo(() => new Map<string, Shown>(inbox.items.map((each) => [each.id, each])), [inbox]);
  /** Also those that are being read or could not be, as undefined. */
  const [read] = useState(() => new Map<string, Shown | undefined>());
  const [version, setVersion] = useState(0);
  const change = () => setVersion((version) => version + 1);
  useChanges(({ type }) => {
    if (type !== "retry") return;
    for (const [id, conversation] of read) if (!conversation) read.delete(id);
    change();
  });
  return {
    find: useCallback((id) => known.get(id) ?? read.get(id), [known, version]),
    load: (ids) => {
      if (!can("messages:read")) return;
      for (const id of ids) {
        if (known.has(id) || read.has(id)) continue;
        read.set(id, undefined);
        parley.conversations.retrieve(id).then((conversation) => {
          read.set(id, conversation);
          change();
        }, ignore);
      }
    },
  };
}
