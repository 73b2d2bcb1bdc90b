// A server for an example, with Ada and Bob, who have each other as contacts.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Parley } from "../packages/parley-client/src/index.ts";
import { createApp } from "../src/app.ts";
import { readConfig } from "../src/config/settings.ts";
import { createToken } from "../src/core/people/tokens.ts";
import { createUser } from "../src/core/people/users.ts";

interface Person {
  id: string;
  token: string;
  client: Parley;
}

type UserFields = Parameters<typeof createUser>[2];

interface Demo {
  url: string;
  /** Removed when the process ends. */
  folder: string;
  addUser(username: string, fields?: Partial<UserFields>): Promise<Person>;
  ada: Person;
  bob: Person;
}

/** Starts a server with a temporary folder. Both end with the process. */
export async function startDemo(): Promise<Demo> {
  const folder = await mkdtemp(join(tmpdir(), "parley-example-"));
  const settings = { PARLEY_DATA: join(folder, "data"), PARLEY_PORT: "0", PARLEY_LOG_LEVEL: "warn" };
  // Pages of examples have another port, so another origin.
  const app = await createApp(readConfig({ ...settings, PARLEY_CORS_ORIGINS: "*" }));
  const stop = async () => {
    await app.stop();
    await rm(folder, { recursive: true, force: true });
    process.exit();
  };
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, stop);
  await app.start();
  const url = app.core.origin();
  const addUser = async (username: string, fields: Partial<UserFields> = {}) => {
    const { id } = await createUser(app.core, null, { username, ...fields });
    const { token } = await createToken(app.core, null, id, {});
    return { id, token, client: new Parley({ url, token }) };
  };
  const [ada, bob] = [await addUser("ada"), await addUser("bob")];
  await ada.client.contacts.create({ username: "bob", phone_number: "+15550101" });
  const { conversation_id } = await bob.client.contacts.create({
    username: "ada",
    phone_number: "+15550100",
  });
  await bob.client.messages.create({ conversation_id, text: "Hello Ada" });
  return { url, folder, addUser, ada, bob };
}

/** Prints a link for each of the two, with which a page signs in. */
export function printLinks({ url, ada, bob }: Demo, page: string): void {
  for (const [name, { id, token }] of Object.entries({ Ada: ada, Bob: bob }))
    console.log(`${name}: ${page}#${new URLSearchParams({ url, user: id, token })}`);
}
