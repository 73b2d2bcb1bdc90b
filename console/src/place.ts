// Navigation: the URL (#id) names the open conversation. An open file is a history entry, so that Back closes it,
// also on a phone.
import { useLayoutEffect, useRef, useState } from "preact/hooks";

/** The place of notes to self. */
export const NOTES = "notes";

/** The place of the files of all conversations. */
export const FILES = "files";
/** The place of those that the user has sent, the largest first. */
export const OWN_FILES = "files/own";

export function isFiles(place: string): place is typeof FILES | typeof OWN_FILES {
  return place === FILES || place === OWN_FILES;
}

export function isGroup(place: string): boolean {
  return place.startsWith("grp_");
}

export function openPlace(place: string): void {
  location.hash = place;
}

/** Leaves a deleted conversation, so that Back does not return to it. */
export function leaveForGood(): void {
  location.replace("#");
}

/** Returns the code of a sign-in link in the page's address; null if there is none. */
export function findLinkCode(): string | null {
  return new URLSearchParams(location.hash.slice(1)).get("sign-in");
}

export function usePlace(): string {
  const read = () => {
    // Ignores a sign-in link while somebody is signed in. Its code must not be sent as an id.
    if (findLinkCode() !== null) history.replaceState(null, "", location.pathname);
    return location.hash.slice(1);
  };
  const [place, setPlace] = useState(read);
  useLayoutEffect(() => {
    const follow = () => setPlace(read());
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  return place;
}

/** Returns the id of the open file, and a function that opens another file or closes it. */
export function useOpenFile(): [string | undefined, (id: string | undefined) => void] {
  const read = (): string | undefined => history.state?.file;
  const [id, setId] = useState(read);
  const latest = useRef(id);
  latest.current = id;
  // history.back() is asynchronous: a file opened meanwhile gets its entry afterwards.
  const leaving = useRef(false);
  useLayoutEffect(() => {
    const follow = () => {
      if (!leaving.current) return setId(read());
      leaving.current = false;
      if (latest.current !== undefined) history.pushState({ file: latest.current }, "");
    };
    addEventListener("popstate", follow);
    return () => removeEventListener("popstate", follow);
  }, []);
  const look = (next: string | undefined) => {
    const before = latest.current;
    // Of two calls before the next render, the second must not go back again.
    latest.current = next;
    setId(next);
    if (leaving.current) return;
    if (next === undefined) {
      if (before === undefined) return;
      leaving.current = true;
      history.back();
    } else if (before === undefined) history.pushState({ file: next }, "");
    else history.replaceState({ file: next }, "");
  };
  return [id, look];
}
