// Where the person is: the address (#id) says which conversation is open, and an entry of the history of its own that
// one file is looked at, so that Back works, also on a phone.
import { useLayoutEffect, useRef, useState } from "preact/hooks";

export function openPlace(place: string): void {
  location.hash = place;
}

/** Away from what is not there any more: Back does not lead to it. */
export function leaveForGood(): void {
  location.replace("#");
}

export function usePlace(): string {
  const read = () => location.hash.slice(1);
  const [place, setPlace] = useState(read);
  useLayoutEffect(() => {
    const follow = () => setPlace(read());
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  return place;
}

/** Which file is looked at, and how to look at another, or at none. */
export function useLookedAt(): [string | undefined, (id: string | undefined) => void] {
  const read = (): string | undefined => history.state?.file;
  const [id, setId] = useState(read);
  const latest = useRef(id);
  latest.current = id;
  useLayoutEffect(() => {
    const follow = () => setId(read());
    addEventListener("popstate", follow);
    return () => removeEventListener("popstate", follow);
  }, []);
  const look = (next: string | undefined) => {
    const before = latest.current;
    // Of two that come before the next drawing the second goes back no further.
    latest.current = next;
    setId(next);
    if (next === undefined) {
      if (before !== undefined) history.back();
    } else if (before === undefined) history.pushState({ file: next }, "");
    else history.replaceState({ file: next }, "");
  };
  return [id, look];
}
