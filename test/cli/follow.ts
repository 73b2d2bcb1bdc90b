import { ended } from "../support/command.ts";
import type { Person } from "./person.ts";

/** Collects what a running chat prints. */
export function follow(who: Person, ...args: string[]) {
  const child = who.start("chat", ...args);
  let printed = "";
  child.stdout!.on("data", (chunk) => {
    printed += chunk;
  });
  const end = ended(child);
  return {
    child,
    end,
    async until(text: string): Promise<void> {
      while (!printed.includes(text)) {
        if (child.exitCode !== null) throw new Error(`It ended with ${child.exitCode}: ${printed}`);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
  };
}
