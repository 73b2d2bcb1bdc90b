import { FAILED, run } from "./cli/program.ts";
import { harmless } from "./cli/text.ts";
import { OperatorError, ParleyError } from "./errors.ts";

/** What shells say of a command that Ctrl-C has ended. */
const INTERRUPTED = 130;

// Whatever Parley writes is for its own user alone.
process.umask(0o077);

// Whoever reads the output may have read enough, as `head` does.
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
    isTerminal: process.stderr.isTTY === true,
    columns: process.stdout.isTTY ? process.stdout.columns : undefined,
    stop: stop.signal,
    unread: unread.signal,
    interrupt,
    input: () => process.stdin,
    output: () => process.stdout,
    print: (text) => void process.stdout.write(`${text}\n`),
    warn: (text) => void process.stderr.write(`${text}\n`),
  });
  // That the output could not be written is not undone by what came after.
  process.exitCode ??= code;
} catch (error) {
  const expected = error instanceof OperatorError || error instanceof ParleyError;
  const text = expected ? error.message : String((error as Error).stack);
  // It may name a file that somebody else has named.
  process.stderr.write(`parley: ${text.split("\n").map(harmless).join("\n")}\n`);
  process.exitCode = isInterrupted ? INTERRUPTED : FAILED;
}
