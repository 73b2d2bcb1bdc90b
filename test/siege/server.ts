// Starts the service as in production, but in a separate process whose resources can be measured: `node server.ts
// FOLDER`. Prints its URL and a token with all scopes as JSON, and runs until SIGTERM. At SIGUSR2 it collects garbage
// and prints a line.
import { once } from "node:events";
import { createApp } from "../../src/app.ts";
import { readConfig } from "../../src/config/settings.ts";
import { createToken, SCOPES } from "../../src/core/people/tokens.ts";
import { createUser } from "../../src/core/people/users.ts";

/**
 * Shorter timeouts than in production, so that stalling clients do not slow down the test. Not `socketIdleTimeoutMs`: it would also
 * close the connection of a request that a busy machine answers late.
 */
const PATIENCE = {
  // On a busy machine the chunks of one request may take more than a second, and request headers wait meanwhile.
  headersTimeoutMs: 5000,
  // A machine under siege may stall an honest client for more than a second.
  bodyIdleTimeoutMs: 3000,
  // Long enough to open 10,000 connections, but shorter than the time of the fuzzing suites whose clients wait for it.
  keepAliveTimeoutMs: 10_000,
  webhookTimeoutMs: 1000,
  /** Some texts of the corpora are that long. */
  maxBodyBytes: 1024 * 1024,
  /** All attacks use one token. */
  uploadsPerUser: 10_000,
};

const config = readConfig({
  PARLEY_DATA: process.argv[2],
  PARLEY_PORT: "0",
  PARLEY_LOG_LEVEL: "error",
  PARLEY_RATE_LIMIT: "0",
  PARLEY_PREVIEWS: `${process.argv[2]}-previews`,
});
const app = await createApp({ ...config, limits: { ...config.limits, ...PATIENCE } });
await app.start();
const { id } = await createUser(app.core, null, { username: "admin" });
const { token } = await createToken(app.core, null, id, { scopes: SCOPES });
process.on("SIGUSR2", () => {
  gc!({ type: "major", execution: "sync", flavor: "last-resort" });
  process.stdout.write("collected\n");
});
process.stdout.write(`${JSON.stringify({ url: app.core.origin(), token })}\n`);
await once(process, "SIGTERM");
await app.stop();
