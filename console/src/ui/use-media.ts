import { useLayoutEffect, useState } from "preact/hooks";

/** Returns whether a media query matches, kept up to date. */
export function useMedia(query: string): boolean {
  const [isMatched, setMatched] = useState(() => matchMedia(query).matches);
  useLayoutEffect(() => {
    const list = matchMedia(query);
    const follow = () => setMatched(list.matches);
    follow();
    list.addEventListener("change", follow);
    return () => list.removeEventListener("change", follow);
  }, [query]);
  return isMatched;
}

/** Whether the device has no pointer that hovers. */
export function isTouched(): boolean {
  return matchMedia("(hover: none)").matches;
}
