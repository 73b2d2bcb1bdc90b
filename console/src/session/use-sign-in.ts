// The sign-in state of this tab and the browser's other tabs.
import { useCallback, useLayoutEffect, useRef, useState } from "preact/hooks";
import { explain, isRefused } from "../failures.ts";
import { forgetDrafts } from "../messages/drafts.ts";
import { findLinkCode } from "../place.ts";
import { type Arrival, takeArrival } from "./arrival.ts";
import { type SignedInUser, signIn } from "./copy.ts";
import {
  endSession,
  followTabs,
  type KeptAccess,
  keptAccess,
  notifyTabs,
  renewSession,
} from "./kept-session.ts";
import type { Access } from "./session.ts";
import { tabStore } from "./storage.ts";

type Phase =
  | { at: "starting" }
  | { at: "unreachable"; reason: string; access: KeptAccess }
  | { at: "asking"; username: string; arrival: Arrival }
  | ({ at: "out" } & Ending)
  | { at: "in"; user: SignedInUser };

/** Why a session has ended, if the user did not end it, and what was unsent. */
interface Ending {
  reason: string;
  unsent: readonly string[];
}

export const BY_USER: Ending = { reason: "", unsent: [] };

/** Why the session of this tab has ended, until the next sign-in: the tab may be reloaded before. */
const REASON_KEY = "parley-sign-out-reason";

/** Returns to the sign-in, unless the tab has other access by now. `end` can still use the session. */
export type SignOut = (own: Access, ending: Ending, end: () => Promise<void>) => void;

/** Stops uploads and returns what was unsent. */
export type StopSending = () => readonly string[];

interface SignInState {
  phase: Phase;
  /** Called if the session ends elsewhere; undefined while nobody is signed in. */
  stopSending: { current: StopSending | undefined };
  /** Signs in with a session of the browser. */
  start: (kept: KeptAccess) => void;
  /** Finishes the sign-in of a link. */
  finish: (arrival: Arrival) => void;
  /** Returns to the sign-in without using the link. */
  decline: () => void;
  enter: (user: SignedInUser) => void;
  signOut: SignOut;
}

export function useSignIn(): SignInState {
  const [arrival] = useState(takeArrival);
  const [phase, setPhase] = useState<Phase>(
    arrival || keptAccess()
      ? { at: "starting" }
      : { at: "out", ...BY_USER, reason: tabStore.get(REASON_KEY) ?? "" },
  );
  useLayoutEffect(() => {
    if (phase.at === "in") tabStore.remove(REASON_KEY);
  }, [phase]);
  const access = useRef<Access | undefined>(undefined);
  const stopSending = useRef<StopSending | undefined>(undefined);
  const leave = useCallback((ending: Ending) => {
    access.current = undefined;
    history.replaceState(null, "", location.pathname);
    setPhase({ at: "out", ...ending });
  }, []);
  const start = useCallback((kept: KeptAccess) => {
    access.current = kept;
    setPhase({ at: "starting" });
    void startWith(kept).then((phase) => {
      if (access.current === kept) setPhase(phase);
      else if (phase.at === "in") void phase.user.sync.close();
    });
  }, []);
  const enter = useCallback((user: SignedInUser) => {
    access.current = user.access;
    setPhase({ at: "in", user });
  }, []);
  const signOut = useCallback<SignOut>((own, ending, end) => {
    // The answer to an old request may be late.
    if (access.current !== own) return;
    const ended = end();
    if (typeof own === "object") endSession(own, ended);
    const isByUser = ending.reason === "";
    if (isByUser) forgetDrafts();
    else tabStore.set(REASON_KEY, ending.reason);
    // If the server refuses the session, other tabs find out by themselves, and keep their drafts.
    if (isByUser && typeof own === "object") notifyTabs(undefined);
    leave(ending);
  }, []);
  const follow = useCallback((kept: KeptAccess | undefined) => {
    const own = access.current;
    if (typeof own === "string" || own?.session === kept?.session) return;
    const unsent = stopSending.current?.() ?? [];
    if (kept) return start(kept);
    // Keep this tab's drafts: the other tab did not ask about them.
    if (unsent.length === 0) forgetDrafts();
    leave({ reason: "You signed out in another tab.", unsent });
  }, []);
  useLayoutEffect(() => {
    const kept = keptAccess();
    if (arrival?.findUsername) {
      const ask = (username: string) => show({ at: "asking", username, arrival });
      arrival.findUsername().then(ask, fail);
    } else if (arrival) finish(arrival);
    else if (kept) start(kept);
  }, []);
  useLayoutEffect(() => followTabs(follow), []);
  useLayoutEffect(() => {
    // A link that is opened in a tab with the sign-in changes only the address.
    const arrive = () => access.current === undefined && findLinkCode() !== null && location.reload();
    addEventListener("hashchange", arrive);
    return () => removeEventListener("hashchange", arrive);
  }, []);
  const show = (phase: Phase) => {
    // Another tab may have signed in meanwhile.
    if (access.current === undefined) setPhase(phase);
  };
  const fail = (error: Error) => show({ at: "out", reason: error.message, unsent: [] });
  const finish = (arrival: Arrival) => {
    setPhase({ at: "starting" });
    arrival.finish().then(start, fail);
  };
  const decline = () => leave(BY_USER);
  return { phase, stopSending, start, finish, decline, enter, signOut };
}

async function startWith(access: KeptAccess): Promise<Phase> {
  try {
    const user = await signIn(access);
    renewSession(access);
    return { at: "in", user };
  } catch (error) {
    const reason = explain(error);
    if (!isRefused(error)) return { at: "unreachable", reason, access };
    endSession(access);
    tabStore.set(REASON_KEY, reason);
    return { at: "out", reason, unsent: [] };
  }
}
