// The signed-in user, and what all parts of the console share.
import { createContext } from "preact";
import { useContext, useLayoutEffect, useRef } from "preact/hooks";
import { type Me, Parley } from "../../../client/src/index.ts";
import type { SCOPES } from "../admin/scopes.ts";
import { isOutage } from "../failures.ts";
import type { Uploads } from "../files/uploads.ts";
import type { Groups } from "../groups/groups.ts";
import type { Conversations } from "../messages/conversations.ts";
import type { Drafts } from "../messages/drafts.ts";
import type { Jumps } from "../messages/jumps.ts";
import type { Outbox } from "../messages/outbox.ts";
import type { Typists } from "../messages/typists.ts";
import type { Notifier } from "../notifications/notifier.ts";
import type { Pusher } from "../notifications/pusher.ts";
import type { Change, ChangeFeed } from "./live.ts";

type Scope = (typeof SCOPES)[number][0];

export interface Session {
  parley: Parley;
  me: Me;
  /** Whether the access token has a scope. What it lacks is not offered. */
  can: (scope: Scope) => boolean;
  /** Whether the server does not answer at the moment. */
  isAway: boolean;
  events: ChangeFeed;
  uploads: Uploads;
  outbox: Outbox;
  drafts: Drafts;
  conversations: Conversations;
  groups: Groups;
  jumps: Jumps;
  notifier: Notifier;
  pusher: Pusher;
  typists: Typists;
  /** Reloads the user, with the used storage, after a moment. */
  refreshMe: () => void;
  /** Shows a notice for a moment, and has it read out. */
  say: (text: string) => void;
  /** Shows an error until it is dismissed. A refused token ends the session. */
  report: (doing: string, error: unknown) => void;
  /** Returns to the sign-in if the server refused the token. */
  endIfRefused: (error: unknown) => void;
  signOut: () => void;
}

export const SessionContext = createContext<Session>(null as never);
export const useSession = () => useContext(SessionContext);

/**
 * Listens to changes from the moment of the render. An effect after the paint would miss changes until then, or apply
 * them to the previous page.
 */
export function useChanges(listener: (change: Change) => void): void {
  const { events } = useSession();
  const latest = useRef(listener);
  latest.current = listener;
  useLayoutEffect(() => events.listen((change) => latest.current(change)), [events]);
}

/** The URL of this server as the browser sees it, also below a path of a proxy. */
export const HERE = new URL(".", document.baseURI).href.replace(/\/$/, "");

/** What requests authenticate with: a token that only this tab has, or the key of the session of this browser. */
export type Access = string | { session: string };

/** Creates a client, optionally with another `fetch`. */
export function connect(access: Access, fetch?: typeof globalThis.fetch): Parley {
  return new Parley({ url: HERE, token: access, fetch });
}

/** The user of a token. */
export interface SignedInUser {
  access: Access;
  me: Me;
  /** The cursor after which events are newer than what the console has read; undefined if the token may not read events. */
  since: string | undefined;
}

/**
 * Reads the user of a token, and before that the cursor of their events: between what the console reads later and the
 * events after the cursor there is no gap, however late the answers are.
 */
export async function signIn(access: Access): Promise<SignedInUser> {
  const parley = connect(access);
  const since = await parley.events.cursor().catch((error) => {
    if (isOutage(error)) throw error;
    // `ChangeFeed.follow` asks again, and says why.
    return undefined;
  });
  return { access, since, me: await parley.me() };
}

/** Returns a `fetch` that reports whether the server answers. */
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
 * Returns the URL of a file on this page's own origin, the only one that the page's policy allows. The public URL of the
 * server may be another one, and its path may contain /files/ too.
 */
export function localAddress(fileUrl: string, query = "", folder = "files"): string {
  return HERE + fileUrl.slice(fileUrl.lastIndexOf(`/${folder}/`)) + query;
}
