// The signed-in user, and what all parts of the console share.
import { createContext } from "preact";
import { useContext, useLayoutEffect, useRef } from "preact/hooks";
import { type Me, Parley } from "../../../packages/parley-client/src/index.ts";
import type { Sync } from "../../../packages/parley-sync/src/index.ts";
import type { SCOPES } from "../admin/scopes.ts";
import type { Uploads } from "../files/uploads.ts";
import type { Groups } from "../groups/groups.ts";
import type { Drafts } from "../messages/drafts.ts";
import type { Jumps } from "../messages/jumps.ts";
import type { Notifier } from "../notifications/notifier.ts";
import type { Pusher } from "../notifications/pusher.ts";
import type { KnownPeople } from "../people/known-people.ts";
import type { ToastLink } from "../ui/toasts.tsx";
import type { Change, ChangeFeed } from "./changes.ts";

type Scope = (typeof SCOPES)[number][0];

export interface Session {
  parley: Parley;
  /** The local copy. */
  sync: Sync;
  me: Me;
  /** Reports whether the access token has a scope. The console offers nothing that the token cannot do. */
  can: (scope: Scope) => boolean;
  /** Whether the server is unreachable. */
  isAway: boolean;
  events: ChangeFeed;
  uploads: Uploads;
  drafts: Drafts;
  groups: Groups;
  people: KnownPeople;
  jumps: Jumps;
  notifier: Notifier;
  pusher: Pusher;
  /** Reloads the user and the used storage soon. */
  refreshMe: () => void;
  /** Shows a notice for a moment, and announces it to screen readers. */
  say: (text: string, link?: ToastLink) => void;
  /** Shows an error until it is dismissed. A refused token ends the session. */
  report: (doing: string, error?: unknown) => void;
  /** Returns to the sign-in if the server refused the token. */
  endIfRefused: (error: unknown) => void;
  signOut: () => void;
}

export const SessionContext = createContext<Session>(null as never);
export const useSession = () => useContext(SessionContext);

/**
 * Listens from the render on. An effect after the paint would miss changes until then, or apply them to the previous
 * page.
 */
export function useChanges(listener: (change: Change) => void): void {
  const { events } = useSession();
  const latest = useRef(listener);
  latest.current = listener;
  useLayoutEffect(() => events.listen((change) => latest.current(change)), [events]);
}

/** The URL of this server as the browser sees it, including a proxy's path. */
export const HERE = new URL(".", document.baseURI).href.replace(/\/$/, "");

/** How requests authenticate: with a token that only this tab has, or with the key of the browser's session. */
export type Access = string | { session: string };

/** Creates a client, optionally with another `fetch`. */
export function connect(access: Access, fetch?: typeof globalThis.fetch): Parley {
  return new Parley({ url: HERE, token: access, fetch });
}

/**
 * Returns the URL of a file on the page's own origin, the only one that the Content-Security-Policy allows. The
 * server's public URL may differ, and its path may also contain /files/.
 */
export function localAddress(fileUrl: string, query = "", folder = "files"): string {
  return HERE + fileUrl.slice(fileUrl.lastIndexOf(`/${folder}/`)) + query;
}
