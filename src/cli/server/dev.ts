import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Parley } from "../../../packages/parley-client/src/index.ts";
import { createToken } from "../../../packages/parley-client/src/server.ts";
import { createApp } from "../../app.ts";
import { readConfig } from "../../config/settings.ts";
import { OperatorError } from "../../errors.ts";
import { isLoopback } from "../../util/addresses.ts";
import type { Io } from "../io.ts";
import { drawSunset } from "./dev-picture.ts";

const LIFE_SECONDS = 24 * 3600;
/** Others could lead to data of yours. */
const SETTINGS = ["PARLEY_HOST", "PARLEY_PORT", "PARLEY_LOG_LEVEL"];

interface Person {
  username: string;
  name: string;
  token: string;
}

/** Runs a server with a temporary data folder, three users who know each other and the page /hello, until SIGTERM or Ctrl-C. */
export async function dev(io: Io): Promise<void> {
  const { PARLEY_HOST: host } = io.env;
  if (host !== undefined && !isLoopback(host))
    throw new OperatorError(
      `parley dev shows the tokens of its users, so it listens only on this machine. Unset PARLEY_HOST (${host}), or use parley serve.`,
    );
  const folder = await mkdtemp(join(tmpdir(), "parley-dev-"));
  try {
    await serveIn(io, folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function serveIn(io: Io, folder: string): Promise<void> {
  const secret = randomBytes(33).toString("base64");
  const config = readConfig({
    // A page from a file has the origin "null".
    PARLEY_CORS_ORIGINS: "*",
    PARLEY_LOG_LEVEL: "warn",
    // A back end in development receives on this machine.
    PARLEY_WEBHOOKS_ALLOW_PRIVATE: "true",
    ...Object.fromEntries(Object.entries(io.env).filter(([name]) => SETTINGS.includes(name))),
    PARLEY_DATA: join(folder, "data"),
    PARLEY_JWT_SECRET: secret,
  });
  const people = await Promise.all(
    Object.entries({ ada: "Ada Lovelace", bob: "Bob Stone", mei: "Mei Tanaka" }).map(
      async ([username, name]) => ({
        username,
        name,
        token: await createToken(secret, { sub: username, name, expiresIn: LIFE_SECONDS }),
      }),
    ),
  );
  const [ada, bob, mei] = people as [Person, Person, Person];
  const hello = [
    { name: ada.name, token: ada.token, other: bob.username },
    { name: bob.name, token: bob.token, other: ada.username },
  ];
  const app = await createApp({ ...config, hello });
  try {
    await app.start();
    const url = app.core.origin();
    await furnish(url, [ada, bob, mei]);
    io.print(`Parley runs on ${url} until Ctrl-C, with data that is deleted then.

  ${url}/hello   two people side by side, and the lines that make it
  ${url}/docs/   the documentation

Sign users of your own app in with this secret of HS256, as ${url}/docs/guides/sign-in shows:

  export PARLEY_JWT_SECRET=${secret}

Ask as Ada:

  curl ${url}/v1/conversations -H "Authorization: Bearer ${ada.token}"`);
    if (!io.stop.aborted) await once(io.stop, "abort");
  } finally {
    await app.stop();
  }
}

/** Gives everybody the others as contacts, and some messages. */
async function furnish(url: string, people: readonly [Person, Person, Person]): Promise<void> {
  const clients = people.map(({ token }) => new Parley({ url, token }));
  const [ada, bob, mei] = clients as [Parley, Parley, Parley];
  // The first request of a token creates its user.
  for (const client of clients) await client.me();
  for (const [i, client] of clients.entries())
    for (const [j, { username }] of people.entries())
      if (i !== j) await client.contacts.create({ username, phone_number: `+1555010${j}` });
  const [withBob] = (await ada.contacts.list({ username: "bob" })).data;
  const conversation_id = withBob!.conversation_id;
  await ada.messages.create({ conversation_id, text: "Hi Bob, are you in for Sunday?" });
  const question = await bob.messages.create({ conversation_id, text: "Of course. This was last time:" });
  await bob.messages.create(
    { conversation_id },
    { files: [new File([drawSunset(640, 400)], "sunset.png", { type: "image/png" })] },
  );
  await ada.messages.addReaction(question.id, "🎉");
  const group = await ada.groups.create({ name: "Sunday walk", members: ["bob", "mei"] });
  for (const client of [bob, mei]) await client.groups.join(group.id);
  const walk = { conversation_id: group.conversation_id! };
  await mei.messages.create({ ...walk, text: "I bring tea." });
  await bob.messages.create({ ...walk, text: "And I bring cake." });
}
