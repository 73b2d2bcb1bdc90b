import { FAILED, run } from "./cli/program.ts";
import { harmless } from "./cli/text.ts";
import { OperatorError, ParleyError } from "./errors.ts";

/** The exit code of a command ended by Ctrl-C. */
const INTERRUPTED = 130;

// Files that Parley creates are readable only by its own user.
process.umask(0o077);

// The reader of a pipe may close it early, as `head` does.
const unread = new AbortController();
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  unread.abort();
  if (error.code === "EPIPE") return;
  process.stderr.write(`parley: standard output: ${error.message}\n`);
  process.exitCode = FAILED;
});

const stop = new AbortController();
let isInterrupted = false;
const interrupt = () => {
  isInterrupted = true;
  stop.abort();
};
process.on("SIGTERM", () => stop.abort());
process.on("SIGINT", interrupt);

try {
  const code = await run(process.argv.slice(2), {
    env: process.env,
    terminal: process.stderr.isTTY ? process.stderr : undefined,
    // A terminal that does not know its size says 0.
    columns: process.stdout.isTTY ? process.stdout.columns || 80 : undefined,
    stop: stop.signal,
    unread: unread.signal,
    interrupt,
    input: () => process.stdin,
    output: () => process.stdout,
    print: (text) => void process.stdout.write(`${text}\n`),
    warn: (text) => void process.stderr.write(`${text}\n`),
  });
  // A failed write of the output is an error, whatever follows.
  process.exitCode ??= code;
} catch (error) {
  const expected = error instanceof OperatorError || error instanceof ParleyError;
  const text = expected ? error.message : String((error as Error).stack);
  // The message may contain a file name chosen by another user.
  process.stderr.write(`parley: ${text.split("\n").map(harmless).join("\n")}\n`);
  process.exitCode = isInterrupted ? INTERRUPTED : FAILED;
}
