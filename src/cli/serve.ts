import { once } from "node:events";
import { createApp } from "../app.ts";
import { isExposed, readConfig, unknownSettings } from "../config.ts";
import { createFirstUser } from "../core/users.ts";
import { isOpenToOthers } from "../util/data-folder.ts";
import type { Io } from "./io.ts";
import { harmless } from "./text.ts";

/** Runs the server until the process is asked to end. */
export async function serve(io: Io): Promise<void> {
  for (const name of unknownSettings(io.env)) io.warn(`${name} is not a setting of Parley and is ignored.`);
  const config = readConfig(io.env);
  if (isExposed(config)) {
    io.warn(
      "Tokens and files pass unencrypted: put TLS in front, and set PARLEY_PUBLIC_URL to its https address.",
    );
  }
  if (config.databaseUrl !== null && config.store === null) {
    io.warn(
      "Files lie in the data folder of this server alone: run one server on the database, or set PARLEY_STORE.",
    );
  }
  const app = await createApp(config);
  try {
    if (isOpenToOthers(config.dataFolder)) {
      io.warn(
        `Others on this machine may change what is in PARLEY_DATA: chmod go-w ${harmless(config.dataFolder)}`,
      );
    }
    await app.start();
    // Only now: a token that is made must also be shown, and a start can fail.
    const token = await createFirstUser(app.core);
    const listening = `Parley listens on ${app.core.origin()}`;
    io.print(token ? `${listening}\n${welcome(app.core.origin(), token)}` : listening);
    if (!io.stop.aborted) await once(io.stop, "abort");
  } finally {
    await app.stop();
  }
}

function welcome(origin: string, token: string): string {
  return `
The first user, admin, was made. Its access token is shown this once:

  export PARLEY_TOKEN=${token}

Try it:

  curl ${origin}/v1/me -H "Authorization: Bearer ${token}"

or sign in with it at ${origin}/
`;
}
