// What all parts of an element share.
import type { Me } from "parley-client";
import type { Sync, View } from "parley-sync";
import { createContext } from "preact";
import { useContext, useLayoutEffect, useReducer } from "preact/hooks";
import type { Format } from "./format.ts";
import type { Translate } from "./labels.ts";

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
