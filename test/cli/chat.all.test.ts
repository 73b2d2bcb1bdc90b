// The copy of a chat: what it shows and keeps while the server is away, and who sees it.
import assert from "node:assert/strict";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type CommandLine, commandLine, type Served, tokenOf } from "../support/command.ts";
import { follow } from "./follow.ts";
import { noTerminal, onTerminal, toScreen } from "./on-terminal.ts";
import { items, type Person, pair, person, tokenFor } from "./person.ts";

interface Scene {
  operator: CommandLine;
  running: Served;
  admin: string;
  ada: Person;
  bob: Person;
  conversation: string;
}

/** Starts a server with two users, who are contacts. */
async function open(t: TestContext): Promise<Scene> {
  const operator = await commandLine(t);
  const running = await operator.serve();
  const admin = tokenOf(running);
  return { operator, running, admin, ...(await pair(t, { operator, url: operator.url, token: admin })) };
}

const copiesOf = ({ folder }: Person) => join(folder, ".config/parley/copies");

/** Returns the texts of a conversation, oldest first. */
async function textsOf(who: Person, conversation: string): Promise<string[]> {
  return items(await who.run("messages", conversation, "--json"))
    .map(({ text }) => text)
    .filter((text) => text !== null)
    .reverse();
}

test("a chat opens offline, and what it sends then arrives once, in order, after restarts of the command", async (t) => {
  const { operator, running, ada, bob, conversation } = await open(t);
  await ada.run("send", "bob", "before");
  assert.equal((await bob.feed("", "chat", "ada")).code, 0);
  for (const name of await readdir(copiesOf(bob)))
    assert.equal((await stat(join(copiesOf(bob), name))).mode & 0o777, 0o600, name);
  assert.equal((await stat(copiesOf(bob))).mode & 0o777, 0o700);
  await running.stop();
  const first = follow(bob, "ada");
  await first.until("ada: before\n");
  first.child.stdin!.write("one\n");
  await first.until("Not sent yet: one\n");
  first.child.stdin!.end("two\n");
  const { code, stderr } = await first.end;
  assert.equal(code, 2);
  assert.match(stderr, /^parley: The connection to the server failed .* Trying again\.\nNot sent yet: one\n/);
  assert.match(stderr, /\nparley: 2 messages wait for the server\. The next parley chat sends them\.\n$/);
  const second = follow(bob, "ada");
  await second.until("Not sent yet: two\n");
  second.child.stdin!.write("three\n");
  await second.until("Not sent yet: three\n");
  second.child.kill("SIGKILL");
  await second.end;
  await operator.serve();
  const last = follow(bob, "ada");
  await last.until("bob: three\n");
  last.child.stdin!.end("four\n");
  assert.equal((await last.end).code, 0);
  assert.deepEqual(await textsOf(ada, conversation), ["before", "one", "two", "three", "four"]);
});

test("a chat whose server restarts sends what was entered meanwhile, once", async (t) => {
  const { operator, running, ada, bob, conversation } = await open(t);
  const chat = follow(bob, "ada");
  chat.child.stdin!.write("one\n");
  await chat.until("bob: one\n");
  await running.stop();
  chat.child.stdin!.write("two\nthree\n");
  await chat.until("Not sent yet: three\n");
  await operator.serve();
  await chat.until("bob: three\n");
  await ada.run("send", "bob", "welcome back");
  await chat.until("ada: welcome back\n");
  chat.child.stdin!.end();
  const { code, stdout } = await chat.end;
  assert.equal(code, 0);
  const shown = stdout
    .replaceAll(/^\S+Z /gm, "")
    .trim()
    .split("\n");
  assert.deepEqual(shown, ["bob: one", "bob: two", "bob: three", "ada: welcome back"]);
  assert.deepEqual(await textsOf(ada, conversation), ["one", "two", "three", "welcome back"]);
  assert.deepEqual(items(await bob.run("conversations", "--unread", "--json")), []);
});

test("a second chat at the same time says that it keeps nothing, sends, and names what it has not sent", async (t) => {
  const { running, ada, bob, conversation } = await open(t);
  const first = follow(bob, "ada");
  first.child.stdin!.write("one\n");
  await first.until("bob: one\n");
  const second = follow(bob, "ada");
  await second.until("Another parley chat has your messages open.");
  second.child.stdin!.write("two\n");
  await Promise.all([first.until("bob: two\n"), second.until("bob: two\n")]);
  assert.deepEqual(await textsOf(ada, conversation), ["one", "two"]);
  await running.stop();
  second.child.stdin!.end("three\n");
  const { code, stderr } = await second.end;
  assert.equal(code, 1);
  assert.match(stderr, /\nparley: Not sent: three: The connection (to the server failed|was lost)/);
  first.child.stdin!.end();
  await first.end;
});

test("the copy of a user is not shown to another login, whose chat sends nothing of it", async (t) => {
  const { operator, running, admin, ada, bob, conversation } = await open(t);
  const server = { operator, url: operator.url, token: admin };
  await ada.run("send", "bob", "for bob");
  const login = JSON.parse(await readFile(join(bob.folder, ".config/parley/login.json"), "utf8"));
  assert.equal((await bob.feed("", "chat", "ada")).code, 0);
  const carol = await tokenFor(server, "carol");
  await running.stop();
  await bob.feed("from bob\n", "chat", "ada");
  const again = await operator.serve();
  assert.equal((await bob.feed(carol, "login", server.url, "--token-stdin")).code, 0);
  const refused = await bob.run("chat", conversation);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /List your conversations: parley conversations\n$/);
  await again.stop();
  const other = follow(bob, conversation);
  await other.until("Trying again.");
  other.child.stdin!.end();
  assert.doesNotMatch(JSON.stringify(await other.end), /for bob|from bob/);
  await operator.serve();
  assert.deepEqual(await textsOf(ada, conversation), ["for bob"]);
  await bob.feed(login.token, "login", server.url, "--token-stdin");
  assert.match((await bob.feed("", "chat", "ada")).stdout, /ada: for bob\n.*bob: from bob\n$/);
  assert.deepEqual(await textsOf(ada, conversation), ["for bob", "from bob"]);
});

test("logout erases the copy, also while a chat runs", async (t) => {
  const { running, ada, bob, conversation } = await open(t);
  await ada.run("send", "bob", "secret");
  const login = await readFile(join(bob.folder, ".config/parley/login.json"), "utf8");
  const chat = follow(bob, "ada");
  await chat.until("ada: secret");
  assert.equal((await bob.run("logout")).code, 0);
  chat.child.stdin!.end("last words\n");
  assert.equal((await chat.end).code, 0);
  assert.deepEqual(await readdir(join(bob.folder, ".config/parley")), []);
  assert.deepEqual(await textsOf(ada, conversation), ["secret", "last words"]);
  await running.stop();
  await writeFile(join(bob.folder, ".config/parley/login.json"), login);
  const empty = follow(bob, conversation);
  await empty.until("Trying again.");
  empty.child.stdin!.end();
  assert.doesNotMatch((await empty.end).stdout, /secret/);
});

test("a token of the environment and a user by --as leave no copy", async (t) => {
  const { operator, ada } = await open(t);
  const { token } = JSON.parse(await readFile(join(ada.folder, ".config/parley/login.json"), "utf8"));
  const guest = await person(t, { PARLEY_URL: operator.url, PARLEY_TOKEN: token });
  assert.match((await guest.feed("hello\n", "chat", "bob")).stdout, /ada: hello\n$/);
  assert.deepEqual(await readdir(guest.folder), []);
  const scopes = ["act_as", "contacts:read", "groups:read", "messages:read", "messages:write", "events:read"];
  const named = scopes.flatMap((scope) => ["--scope", scope]);
  const { stdout: acting } = await operator.run("token", "create", "admin", ...named);
  const backEnd = await person(t);
  await backEnd.feed(acting, "login", operator.url, "--token-stdin");
  const { code, stdout, stderr } = await backEnd.feed("as bob\n", "chat", "ada", "--as", "bob");
  assert.deepEqual([code, stderr], [0, ""]);
  assert.match(stdout, /ada: hello\n.*bob: as bob\n$/);
  assert.deepEqual(await readdir(join(backEnd.folder, ".config/parley")), ["login.json"]);
});

test("a copy that is damaged is reported, and the chat works without it", async (t) => {
  const { ada, bob } = await open(t);
  await ada.run("send", "bob", "before");
  await bob.feed("", "chat", "ada");
  const [name] = await readdir(copiesOf(bob));
  await writeFile(join(copiesOf(bob), name!), "x".repeat(5_000));
  const { code, stdout, stderr } = await bob.feed("hello\n", "chat", "ada");
  assert.equal(code, 0, stderr);
  assert.match(stderr, /^The copy of your messages can't be opened: file is not a database\. /);
  assert.match(stdout, /ada: before\n.*bob: hello\n$/);
});

test("offline, a group is found by its name; online, the server decides whose name it is", async (t) => {
  const { operator, running, ada } = await open(t);
  const [old] = items(await ada.run("groups", "create", "Team", "--json"));
  assert.equal((await ada.feed("to the first\n", "chat", "Team")).code, 0);
  await ada.run("groups", "rename", "Team", "Old team");
  const [other] = items(await ada.run("groups", "create", "Team", "--json"));
  assert.equal((await ada.feed("to the second\n", "chat", "team")).code, 0);
  assert.deepEqual(await textsOf(ada, old.conversation_id), ["to the first"]);
  assert.deepEqual(await textsOf(ada, other.conversation_id), ["to the second"]);
  await running.stop();
  const chat = follow(ada, "Team");
  await chat.until("ada: to the second\n");
  chat.child.stdin!.end("offline\n");
  assert.equal((await chat.end).code, 2);
  await operator.serve();
  assert.equal((await ada.feed("", "chat", other.id)).code, 0);
  assert.deepEqual(await textsOf(ada, other.conversation_id), ["to the second", "offline"]);
});

test("on a terminal a chat shows its copy at once, then what was missed, and ends at once while offline", {
  skip: noTerminal,
}, async (t) => {
  const { operator, running, ada, bob, conversation } = await open(t);
  await ada.run("send", "bob", "one");
  const [two] = items(await ada.run("send", "bob", "two", "--json"));
  await bob.feed("", "chat", "ada");
  await ada.run("delete", two.id);
  // More than a snapshot has.
  const missed = Array.from({ length: 25 }, (_, i) => `missed ${i}`);
  await ada.feed(missed.map((text) => `${text}\n`).join(""), "chat", "bob");
  await running.stop();
  const offline = onTerminal(bob, "chat ada");
  await offline.until("Trying again.");
  offline.type("waits\r");
  await offline.until("Not sent yet: waits");
  offline.type("\u0004");
  const away = await offline.end();
  assert.equal(away.code, 2);
  assert.match(away.shown, /ada: one\r\n.*ada: two\r\n/s);
  await operator.serve();
  const chat = onTerminal(bob, "chat ada");
  await chat.until("bob: waits");
  chat.type("\u0004");
  const { code, shown } = await chat.end();
  assert.equal(code, 0, shown);
  const lines = toScreen(shown).map((line) => line.replace(/^\S+Z /, ""));
  assert.deepEqual(
    lines.filter((line) => line !== "Not sent yet: waits"),
    [
      "ada: one",
      "ada: two",
      "(a message was deleted)",
      ...missed.map((text) => `ada: ${text}`),
      "bob: waits",
    ],
  );
  assert.deepEqual(await textsOf(ada, conversation), ["one", ...missed, "waits"]);
});
