import { useCallback } from "preact/hooks";
import { usePeople } from "../people/people.tsx";
import { useSession } from "../session/session.ts";
import type { SharedFile } from "./file-actions.ts";

/** Returns a function that names the sender of a file as conversations do; empty if unknown, or in notes to self. */
export function useSenderName(isSelf = false): (file: Pick<SharedFile, "sender">) => string {
  const { me } = useSession();
  const people = usePeople();
  return useCallback(
    ({ sender }) => {
      if (isSelf || sender === undefined) return "";
      return sender?.id === me.id ? "You" : people.toPerson(sender).name;
    },
    [isSelf, people.version, me.id],
  );
}
