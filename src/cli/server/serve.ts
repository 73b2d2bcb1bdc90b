import { once } from "node:events";
import { createApp } from "../../app.ts";
import { isExposed, readConfig, unknownSettings } from "../../config/settings.ts";
import { createFirstUser } from "../../core/people/users.ts";
import { isOpenToOthers } from "../../util/data-folder.ts";
import type { Io } from "../io.ts";
import { harmless } from "../text.ts";

/** Runs the server until SIGTERM or Ctrl-C. */
export async function serve(io: Io): Promise<void> {
  for (const name of unknownSettings(io.env)) io.warn(`${name} is not a setting of Parley. It is ignored.`);
  const config = readConfig(io.env);
  if (isExposed(config)) {
    io.warn(
      "Tokens and files are sent unencrypted. Put a TLS proxy in front, and set PARLEY_PUBLIC_URL to its https URL.",
    );
  }
  if (config.databaseUrl !== null && config.store === null) {
    io.warn(
      "Files are stored in the data folder of this server only. Run one server on this database, or set PARLEY_STORE.",
    );
  }
  const app = await createApp(config);
  try {
    if (isOpenToOthers(config.dataFolder)) {
      io.warn(
        `Other users of this machine can change the files in PARLEY_DATA. Run chmod go-w ${harmless(config.dataFolder)}`,
      );
    }
    await app.start();
    // Last, because a start can fail and the token is shown only once.
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
The first user, admin, was created. Its access token is shown only once:

  export PARLEY_TOKEN=${token}

Try it:

  curl ${origin}/v1/me -H "Authorization: Bearer ${token}"

or sign in with it at ${origin}/
`;
}
