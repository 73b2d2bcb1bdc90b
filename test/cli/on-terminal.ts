import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { PARLEY } from "../support/command.ts";

export const noTerminal = /util-linux/.test(
  spawnSync("script", ["--version"], { encoding: "utf8" }).stdout ?? "",
)
  ? false
  : "script of util-linux is not installed";

/** Runs a command on a terminal. Returns what the terminal shows, and a way to type. */
export function onTerminal(
  who: { folder: string; env: Record<string, string> },
  line: string,
  columns = 100,
) {
  const child = spawn("script", ["-qefc", `stty cols ${columns}; "${PARLEY}" ${line}`, "/dev/null"], {
    cwd: who.folder,
    env: { ...who.env, TERM: "xterm", SHELL: "/bin/sh" },
  });
  const closed = once(child, "close");
  let shown = "";
  child.stdout.on("data", (chunk) => {
    shown += chunk;
  });
  return {
    type: (text: string) => void child.stdin.write(text),
    async until(text: string): Promise<void> {
      while (!shown.includes(text)) {
        if (child.exitCode !== null) throw new Error(`It ended with ${child.exitCode}: ${shown}`);
        await Promise.race([once(child.stdout, "data"), closed]);
      }
    },
    async end() {
      const [code] = await closed;
      return { code, shown };
    },
  };
}

/** Returns what a terminal shows after this output, if no line wraps. Supports only what readline writes. */
export function toScreen(output: string): string[] {
  const rows = [""];
  let [row, column] = [0, 0];
  for (const [, count, command, character] of output.matchAll(/\u001b\[\??(\d*)([A-Za-z])|([^\u001b])/gu)) {
    const line = rows[row]!;
    if (command === "A") row = Math.max(0, row - Number(count || 1));
    else if (command === "G") column = Number(count || 1) - 1;
    else if (command === "C") column += Number(count || 1);
    else if (command === "J" || command === "K") {
      rows[row] = line.slice(0, column);
      if (command === "J") rows.length = row + 1;
    } else if (character === "\r") column = 0;
    else if (character === "\n") row++;
    else if (character) rows[row] = line.slice(0, column).padEnd(column++) + character + line.slice(column);
    while (rows.length <= row) rows.push("");
  }
  return rows.join("\n").trimEnd().split("\n");
}
