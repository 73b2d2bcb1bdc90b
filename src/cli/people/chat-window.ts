import { createInterface, type Interface } from "node:readline";
import type { Io } from "../io.ts";
import { textWidth } from "../width.ts";

const PROMPT = "> ";

/** Where a chat reads and prints: a terminal, or two plain streams. */
export interface Window {
  isTerminal: boolean;
  lines: Interface;
  show(lines: readonly string[]): void;
  warn(line: string): void;
  close(): void;
}

export function openWindow(io: Io, signal: AbortSignal): Window {
  const input = io.input();
  const { columns } = io;
  if (!input.isTTY || columns === undefined) {
    const lines = createInterface({ input, signal });
    return {
      isTerminal: false,
      lines,
      show: (texts) => texts.forEach(io.print),
      warn: io.warn,
      close() {
        lines.close();
        // An open standard input would keep the process running.
        input.destroy();
      },
    };
  }
  const output = io.output();
  const lines = createInterface({ input, output, terminal: true, prompt: PROMPT, signal });
  lines.on("SIGINT", () => lines.close());
  let isOpen = true;
  lines.on("close", () => {
    isOpen = false;
  });
  const prompt = () => {
    if (isOpen) lines.prompt(true);
  };
  /** Prints above the line that the user is typing. */
  const above = (print: () => void) => {
    const { rows } = lines.getCursorPos();
    output.write(`${rows > 0 ? `\u001b[${rows}A` : ""}\r\u001b[J`);
    print();
    // readline moves up by as many rows as the line had, then redraws the prompt.
    output.write("\n".repeat(rows));
    prompt();
  };
  // A sent line is printed again as a message, so erase what was typed. The cursor is still right below it.
  lines.on("line", (line) => {
    const rows = Math.floor(textWidth(PROMPT + line) / (output.columns || columns)) + 1;
    output.write(`\u001b[${rows}A\r\u001b[J`);
    prompt();
  });
  lines.prompt();
  return {
    isTerminal: true,
    lines,
    show: (texts) => above(() => texts.forEach(io.print)),
    warn: (text) => above(() => io.warn(text)),
    close() {
      lines.close();
      output.write("\r\u001b[J");
    },
  };
}
