import { useLayoutEffect, useReducer } from "preact/hooks";
import { useSession } from "./session.ts";

/** Returns who is typing in a conversation: empty if nobody is. `name`: of the contact. */
export function useTyping(conversationId: string, name: string): string {
  const { typists } = useSession();
  const [, redraw] = useReducer<number, void>((count) => count + 1, 0);
  useLayoutEffect(() => typists.watch(() => redraw()), [typists]);
  return typists.toText(conversationId, name);
}
