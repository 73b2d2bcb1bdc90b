import { useCallback } from "preact/hooks";
import { useSession } from "./session.ts";

/** Returns a function that copies a text, and then says `done`. */
export function useCopy(): (text: string, done: string) => Promise<void> {
  const { say, report } = useSession();
  return useCallback(
    async (text, done) => {
      try {
        await navigator.clipboard.writeText(text);
        say(done);
      } catch {
        report("Nothing was copied.", new Error("The browser allows that only on https pages."));
      }
    },
    [say, report],
  );
}
