// The bot, started by its command, and by itself with restarts.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Parley } from "../../packages/parley-client/src/index.ts";
import { createToken } from "../../src/core/people/tokens.ts";
import { createUser } from "../../src/core/people/users.ts";
import { startApp } from "../support/app.ts";
import { eventually } from "../support/files-on-disk.ts";
import { add, person, say } from "../support/people.ts";
import { proxy } from "../support/proxy.ts";
import { startExample } from "./example.ts";

const ROOT = join(import.meta.dirname, "../..");

test("the bot starts with one command and answers", async (t) => {
  const [command] = await startExample(t, "bot", ["Write to it"]);
  const [, url, token] = /^PARLEY_URL=(\S+) PARLEY_TOKEN=(\S+) bin\/parley chat counter$/.exec(command!)!;
  const ada = new Parley({ url: url!, token: token! });
  const [counter] = (await ada.contacts.list({ q: "counter" })).data;
  const { conversation_id } = counter!;
  await ada.messages.create({ conversation_id, text: "It's ten o'clock." });
  assert.ok(await eventually(async () => (await ada.messages.list({ conversation_id })).data.length === 2));
  const [newest] = (await ada.messages.list({ conversation_id })).data;
  assert.equal(newest!.text, "Words: 3");
});

/** Starts the bot alone, and stops it after the test. */
function startBot(t: TestContext, url: string, token: string, file: string): ChildProcess {
  const command = ["--import", "./examples/packages.ts", "examples/bot/bot.ts", file];
  const env = { ...process.env, PARLEY_URL: url, PARLEY_TOKEN: token };
  const child = spawn(process.execPath, command, { cwd: ROOT, env, stdio: ["ignore", "ignore", "inherit"] });
  t.after(() => child.kill());
  return child;
}

test("the bot answers each message once, also if it was not running, has lost its position or could not answer", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "parley-bot-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, "last-event");
  const app = await startApp(t);
  let isFailing = false;
  const { url } = await proxy(t, app.url, (path) =>
    isFailing && path === "/v1/messages" ? { status: 502 } : "pass",
  );
  const ann = await person(app, "ann");
  const { id } = await createUser(app.app.core, null, {
    ...{ username: "counter", kind: "bot", accepts_everyone: true },
  });
  const { token } = await createToken(app.app.core, null, id, {});
  const { conversation_id: conversation } = await add(app, ann, "counter");
  const client = new Parley({ url: app.url, token: ann.token });
  const texts = async () =>
    (await client.messages.list({ conversation_id: conversation })).data.map(({ text }) => text).reverse();
  const hasLength = (length: number) => eventually(async () => (await texts()).length === length);

  const first = startBot(t, url, token, file);
  const position = () => readFile(file, "utf8").catch(() => "");
  assert.ok(await eventually(async () => (await position()) !== ""));
  const start = await position();
  await say(app, ann, conversation, "one");
  assert.ok(await hasLength(2));
  first.kill("SIGKILL");
  await once(first, "close");
  await say(app, ann, conversation, "one two");
  // The position is as before the answer, as if the bot had ended between the two.
  await writeFile(file, start);
  const second = startBot(t, url, token, file);
  assert.ok(await hasLength(4));
  isFailing = true;
  const ended = once(second, "close");
  await say(app, ann, conversation, "one two three");
  await ended;
  isFailing = false;
  startBot(t, url, token, file);
  assert.ok(await hasLength(6));
  assert.deepEqual(await texts(), ["one", "Words: 1", "one two", "Words: 2", "one two three", "Words: 3"]);
});
