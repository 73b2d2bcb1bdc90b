import { FAILED, run } from "./cli/program.ts";
import { OperatorError, ParleyError } from "./errors.ts";

// Whatever Parley writes is for its own user alone.
process.umask(0o077);

// Whoever reads the output may have read enough, as `head` does.
const unread = new AbortController();
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  unread.abort();
  if (error.code !== "EPIPE") process.stderr.write(`parley: standard output: ${error.message}\n`);
  process.exitCode = FAILED;
});

const stop = new AbortController();
process.on("SIGTERM", () => stop.abort());
process.on("SIGINT", () => stop.abort());

try {
  process.exitCode = await run(process.argv.slice(2), {
    env: process.env,
    isTerminal: process.stderr.isTTY === true,
    stop: stop.signal,
    unread: unread.signal,
    input: () => process.stdin,
    print: (text) => void process.stdout.write(`${text}\n`),
    warn: (text) => void process.stderr.write(`${text}\n`),
  });
} catch (error) {
  const expected = error instanceof OperatorError || error instanceof ParleyError;
  process.stderr.write(`parley: ${expected ? error.message : (error as Error).stack}\n`);
  process.exitCode = FAILED;
}
