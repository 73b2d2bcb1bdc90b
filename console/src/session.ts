// Who is signed in, and what every part of the console needs for its work.
import { createContext } from "preact";
import { useContext, useLayoutEffect, useRef } from "preact/hooks";
import { type Me, Parley } from "../../client/src/index.ts";
import type { Change, EventHub } from "./live.ts";
import type { Uploads } from "./uploads.ts";

export interface Session {
  parley: Parley;
  me: Me;
  /** The server does not answer for now. */
  isAway: boolean;
  /** Files of others, found out by a refusal: they are neither renamed nor deleted here. */
  foreignFiles: Set<string>;
  events: EventHub;
  uploads: Uploads;
  /** Reads anew how much is stored, a moment later, and once for all that asks for it until then. */
  refreshMe: () => void;
  /** Shows a line for a moment, and has it read out. */
  say: (text: string) => void;
  /** Shows what went wrong until it is dismissed; a token that is refused ends the session. */
  report: (doing: string, error: unknown) => void;
  /** Back to the first screen where the error is that the token is refused. */
  endIfRefused: (error: unknown) => void;
  signOut: (reason?: string) => void;
}

export const SessionContext = createContext<Session>(null as never);
export const useSession = () => useContext(SessionContext);

/**
 * Hears of every change from the moment that what is drawn is on the page. An effect that waits for the paint would
 * miss those until then, or hear of them with what was on the page before.
 */
export function useChanges(listener: (change: Change) => void): void {
  const { events } = useSession();
  const latest = useRef(listener);
  latest.current = listener;
  useLayoutEffect(() => events.listen((change) => latest.current(change)), [events]);
}

const KEY = "parley-token";

export function keptToken(): string | null {
  return sessionStorage.getItem(KEY);
}

/** Keeps the token until the tab is closed; null forgets it. */
export function keepToken(token: string | null): void {
  if (token === null) sessionStorage.removeItem(KEY);
  else sessionStorage.setItem(KEY, token);
}

/** The address of this server as the browser sees it, also below a path of a proxy. */
const HERE = new URL(".", document.baseURI).href.replace(/\/$/, "");

/** `fetch` in place of the browser's own. */
export function connect(token: string, fetch?: typeof globalThis.fetch): Parley {
  return new Parley({ url: HERE, token, fetch });
}

/** A `fetch` that tells whether the server answers. */
export function watchedFetch(tell: (isAway: boolean) => void): typeof fetch {
  return async (input, init) => {
    try {
      const response = await fetch(input, init);
      tell(response.status >= 500);
      return response;
    } catch (error) {
      if (!init?.signal?.aborted) tell(true);
      throw error;
    }
  };
}

/**
 * The address of a file on this page's own origin: the policy of the page lets in nothing else, and the public address
 * of the server may be another, and have such a folder in its own path.
 */
export function localAddress(fileUrl: string, query = ""): string {
  return HERE + fileUrl.slice(fileUrl.lastIndexOf("/files/")) + query;
}
