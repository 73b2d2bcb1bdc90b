import { ended } from "../support/command.ts";
import type { Person } from "./person.ts";

/** Collects what a running chat prints, on both outputs. */
export function follow(who: Person, ...args: string[]) {
  const child = who.start("chat", ...args);
  let printed = "";
  for (const stream of [child.stdout!, child.stderr!])
    stream.on("data", (chunk) => {
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
