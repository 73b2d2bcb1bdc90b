import { useSession } from "../session/session.ts";
import { useWatched } from "../ui/use-redraw.ts";

/** Describes who is typing in a conversation; empty if nobody is. `name`: the contact's. */
export function useTyping(conversationId: string, name: string): string {
  const { typists } = useSession();
  useWatched(typists);
  return typists.toText(conversationId, name);
}
