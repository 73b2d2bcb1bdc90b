// What all parts of an element share.
import type { Me } from "parley-client";
import type { Sync, View } from "parley-sync";
import { createContext } from "preact";
import { useContext, useEffect, useLayoutEffect, useReducer, useState } from "preact/hooks";
import type { Format } from "./format.ts";
import type { Translate } from "./labels.ts";

/** How long clients show that somebody is typing, as the API says. */
const SHOWN_MS = 6_000;

export interface Session {
  sync: Sync;
  /** Ends with a slash. */
  server: string;
  translate: Translate;
  format: Format;
}

export const SessionContext = createContext<Session | undefined>(undefined);

export function useSession(): Session {
  return useContext(SessionContext)!;
}

/** Returns what a view shows, and renders again when that changes. */
export function useView<T>({ subscribe, getSnapshot }: View<T>): T {
  const [, redraw] = useReducer<number, undefined>((count) => count + 1, 0);
  const shown = getSnapshot();
  useLayoutEffect(() => {
    // It may have changed since the render.
    if (getSnapshot() !== shown) redraw(undefined);
    return subscribe(() => redraw(undefined));
  }, [subscribe]);
  return shown;
}

/** Returns the user; undefined until the copy knows who that is. */
export function useMe(): Me | undefined {
  return useView(useSession().sync.connection()).me ?? undefined;
}

/** Returns the ids of the users who are typing in a conversation. */
export function useTypists(conversationId: string): readonly string[] {
  const { sync } = useSession();
  const [typists, setTypists] = useState<readonly string[]>([]);
  useEffect(() => {
    const timers = new Map<string, ReturnType<typeof setTimeout>>();
    const end = (userId: string) => {
      clearTimeout(timers.get(userId));
      if (timers.delete(userId)) setTypists([...timers.keys()]);
    };
    const stop = sync.onEvent((event) => {
      if (event.conversation_id !== conversationId) return;
      if (event.type === "typing") {
        const { user_id } = event.payload;
        clearTimeout(timers.get(user_id));
        timers.set(user_id, setTimeout(end, SHOWN_MS, user_id));
        setTypists([...timers.keys()]);
      } else if (event.type === "message.created" && "sender" in event.payload)
        end(event.payload.sender?.id ?? "");
    });
    return () => {
      stop();
      for (const timer of timers.values()) clearTimeout(timer);
    };
  }, [sync, conversationId]);
  return typists;
}
