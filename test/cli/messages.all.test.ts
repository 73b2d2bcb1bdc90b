import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Parley } from "../../packages/parley-client/src/index.ts";
import { follow } from "./follow.ts";
import { noTerminal, onTerminal, toScreen } from "./on-terminal.ts";
import { items, onEachServer, pair, servePair } from "./person.ts";

onEachServer("messages are sent with text and files, and listed", async (t, server) => {
  const { ada, bob, conversation } = await pair(t, server);
  await writeFile(join(ada.folder, "a.txt"), "first");
  await writeFile(join(ada.folder, "b.txt"), "second");
  const sent = await ada.run("send", "bob", "Hello");
  assert.match(sent.stdout, /^msg_\w{26}\n$/);
  const [piped] = items(await ada.feed("two\nlines\n", "send", "BOB", "-", "--json"));
  assert.equal(piped.text, "two\nlines");
  const [both] = items(
    await ada.run("send", conversation, "with files", "--file", "a.txt", "--file", "b.txt", "--json"),
  );
  assert.deepEqual(
    both.attachments.map((each: { filename: string }) => each.filename),
    ["a.txt", "b.txt"],
  );
  assert.equal((await ada.run("send", "bob", "--file", "a.txt")).code, 0);
  const { stdout } = await bob.run("messages", "ada");
  assert.match(
    stdout,
    /^ID +FROM +SENT +MESSAGE\nmsg_\w+ +ada +\S+Z +\[a\.txt\]\nmsg_\w+ +ada +\S+Z +with files \[a\.txt\] \[b\.txt\]\nmsg_\w+ +ada +\S+Z +two lines\nmsg_\w+ +ada +\S+Z +Hello\n$/,
  );
  assert.deepEqual(
    items(await bob.run("messages", conversation, "--limit", "3", "--json")).map((each) => each.text),
    [null, "with files", "two\nlines"],
  );
  assert.match(
    (await bob.run("conversations")).stdout,
    /^ID +NAME +UNREAD +LAST +MESSAGE\ncnv_\w+ +ada +4 +\S+Z +\[a\.txt\]\ncnv_\w+ +\(notes to self\) +0\n$/,
  );
  const unread = items(await bob.run("conversations", "--unread", "--json"));
  assert.deepEqual(
    unread.map(({ id, unread_count }) => [id, unread_count]),
    [[conversation, 4]],
  );
});

onEachServer("several words are one text, which can be changed", async (t, server) => {
  const { ada, bob } = await pair(t, server);
  const id = (await ada.run("send", "bob", "hello", "there")).stdout.trim();
  const textOf = async () => items(await bob.run("messages", "ada", "--json"))[0].text;
  assert.equal(await textOf(), "hello there");
  const changed = await ada.run("edit", id, "Hello", "there!");
  assert.deepEqual([changed.code, changed.stdout, changed.stderr], [0, "", `Changed ${id}.\n`]);
  assert.equal(await textOf(), "Hello there!");
  assert.equal(items(await ada.run("edit", id, "Hi", "--json"))[0].text, "Hi");
  const refused = await bob.run("edit", id, "Mine");
  assert.equal(refused.code, 1);
});

onEachServer("a conversation is marked as read, muted and unmuted", async (t, server) => {
  const { ada, bob, conversation } = await pair(t, server);
  const empty = await bob.run("read", "ada");
  assert.deepEqual([empty.code, empty.stderr], [0, "No messages yet.\n"]);
  const id = (await ada.run("send", "bob", "Hello")).stdout.trim();
  const state = async () =>
    items(await bob.run("conversations", "--json")).find((each) => each.id === conversation);
  assert.equal((await state()).unread_count, 1);
  assert.equal((await bob.run("read", "ada")).stderr, `Read up to ${id}.\n`);
  assert.equal((await state()).unread_count, 0);
  assert.deepEqual(items(await bob.run("read", "ada", "--json")), [
    { conversation_id: conversation, message_id: id },
  ]);
  assert.equal((await bob.run("mute", "ada")).stderr, "Muted ada.\n");
  assert.equal((await state()).muted_until, 99_999_999_999);
  const timed = await bob.run("mute", "ada", "--until", "2126-03-09T17:30Z");
  assert.equal(timed.stderr, "Muted ada until 2126-03-09T17:30:00Z.\n");
  assert.equal((await bob.run("mute", "ada", "--off")).stderr, "Unmuted ada.\n");
  assert.equal((await state()).muted_until, null);
  assert.equal((await bob.run("mute", "ada", "--off", "--until", "2126-03-09")).code, 2);
});

onEachServer("reactions are added, listed and removed", async (t, server) => {
  const { ada, bob } = await pair(t, server);
  const [{ id }] = items(await ada.run("send", "bob", "Hello", "--json"));
  const added = await bob.run("react", id, "👍");
  assert.deepEqual([added.code, added.stdout, added.stderr], [0, "", `Added 👍 to ${id}.\n`]);
  assert.deepEqual(items(await ada.run("react", id, "👍", "--json")), [{ message_id: id, emoji: "👍" }]);
  await ada.run("react", id, "❤️");
  assert.match((await bob.run("messages", "ada")).stdout, /Hello {2}\[👍 2\] {2}\[❤️\]\n$/);
  assert.equal((await ada.run("react", id, "👍", "--remove")).stderr, `Removed 👍 from ${id}.\n`);
  assert.match((await bob.run("messages", "ada")).stdout, /Hello {2}\[👍\] {2}\[❤️\]\n$/);
  const refused = await ada.run("react", id, "thumbsup");
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /^parley: emoji must be one visible character/);
  for (const none of ["", ".", ".."]) {
    const { code, stderr } = await ada.run("react", id, none);
    assert.equal(code, 2);
    assert.match(stderr, /Use one visible character/);
  }
});

onEachServer("the readers of a message are listed", async (t, server) => {
  const { ada, bob, conversation } = await pair(t, server);
  const [{ id: message_id }] = items(await ada.run("send", "bob", "Hello", "--json"));
  assert.equal((await ada.run("readers", message_id)).stdout, "ID  USERNAME  NAME\n");
  const login = await readFile(join(bob.folder, ".config/parley/login.json"), "utf8");
  await new Parley(JSON.parse(login)).conversations.markRead(conversation, { message_id });
  assert.match((await ada.run("readers", message_id)).stdout, /^ID +USERNAME +NAME\nusr_\w{26} +bob\n$/);
  assert.deepEqual(
    items(await bob.run("readers", message_id, "--json")).map(({ username }) => username),
    ["bob"],
  );
  const unknown = await ada.run("readers", `msg_${"0".repeat(26)}`);
  assert.deepEqual([unknown.code, unknown.stdout], [1, ""]);
  assert.match(unknown.stderr, /^parley: /);
});

onEachServer(
  "a sender deletes a message for everybody, anybody deletes it for themselves",
  async (t, server) => {
    const { ada, bob } = await pair(t, server);
    const [first, second] = [await ada.run("send", "bob", "first"), await ada.run("send", "bob", "second")];
    const id = first.stdout.trim();
    const refused = await bob.run("delete", id);
    assert.deepEqual([refused.code, refused.stdout], [1, ""]);
    const deleted = await bob.run("delete", id, "--for-me");
    assert.deepEqual([deleted.code, deleted.stderr], [0, `Deleted ${id} for you.\n`]);
    const texts = async (who: typeof ada, other: string) =>
      items(await who.run("messages", other, "--json")).map(({ text }) => text);
    assert.deepEqual([await texts(bob, "ada"), await texts(ada, "bob")], [["second"], ["second", "first"]]);
    const gone = await ada.run("delete", second.stdout.trim());
    assert.deepEqual([gone.code, gone.stderr], [0, `Deleted ${second.stdout.trim()} for everybody.\n`]);
    assert.deepEqual(items(await ada.run("delete", id, "--for-me", "--json")), [{ id }]);
    assert.deepEqual([await texts(bob, "ada"), await texts(ada, "bob")], [[], []]);
  },
);

test("a message that was not sent is explained", async (t) => {
  const { ada, bob, conversation } = await servePair(t);
  for (const [code, said, ...args] of [
    [2, /nothing to send/, "bob"],
    [2, /Cannot send none\.txt: No such file/, "bob", "text", "--file", "none.txt"],
    [2, /is a folder/, "bob", "--file", "."],
    [1, /no contact or group called "nobody".*parley contacts list/, "nobody", "text"],
    [1, /parley conversations/, `cnv_${"0".repeat(26)}`, "text"],
    [1, /text must be/, "bob", "a\u001bb"],
  ] as [number, RegExp, ...string[]][]) {
    const failed = await ada.run("send", ...args);
    assert.deepEqual([failed.code, failed.stdout], [code, ""], failed.stderr);
    assert.match(failed.stderr, said);
  }
  assert.deepEqual(items(await bob.run("messages", conversation, "--json")), []);
});

test("a terminal of unknown width shows lists and chats in full", { skip: noTerminal }, async (t) => {
  const { ada, bob } = await servePair(t);
  await ada.run("send", "bob", "The plan");
  const list = await onTerminal(bob, "messages ada", 0).end();
  assert.match(list.shown, /ada +\S+Z +The plan/);
  const chat = onTerminal(bob, "chat ada", 0);
  await chat.until("> ");
  chat.type("typed\r");
  await chat.until("bob: typed");
  chat.type("\u0004");
  const { code, shown } = await chat.end();
  assert.equal(code, 0, shown);
  assert.doesNotMatch(shown, /Infinity/);
});

test("a chat prints new messages, sends each line of a pipe in order, and ends with the pipe", async (t) => {
  const { ada, bob } = await servePair(t);
  await ada.run("send", "bob", "before");
  const chat = follow(bob, "ada");
  await chat.until("before");
  await writeFile(join(ada.folder, "a.txt"), "first");
  const { stdout: id } = await ada.feed(
    "first\n2026-01-01T00:00:00Z ada: forged",
    ...["send", "bob", "-", "--file", "a.txt"],
  );
  await chat.until("a.txt");
  await ada.run("react", id.trim(), "👍");
  await chat.until("👍");
  const lines = Array.from({ length: 5 }, (_, i) => `line ${i}`);
  chat.child.stdin!.end(`\n${lines.join("\n")}`);
  const { code, stdout, stderr } = await chat.end;
  assert.deepEqual([code, stderr], [0, ""]);
  assert.match(
    stdout,
    /^\S+Z ada: before\n\S+Z ada: first\n {2}2026-01-01T00:00:00Z ada: forged\n {2}\[a\.txt\] 5 B att_\w+\n/,
  );
  assert.match(stdout, /\n\(👍 reacted to: first 2026-01-01T00:00:00Z ada: forged \[a\.txt\]\)\n/);
  const sent = items(await ada.run("messages", "bob", "--limit", "5", "--json")).map(({ text }) => text);
  assert.deepEqual(sent.reverse(), lines);
  assert.deepEqual(items(await bob.run("conversations", "--unread", "--json")), []);
});

test("a chat prints changes as JSON, continues after a refused line, and ends when the reader stops", async (t) => {
  const { ada, bob, conversation } = await servePair(t);
  const login = await readFile(join(ada.folder, ".config/parley/login.json"), "utf8");
  await new Parley(JSON.parse(login)).messages.create({ conversation_id: conversation, data: { lat: 1 } });
  const chat = follow(bob, "ada", "--json");
  const [message] = items(await ada.run("send", "bob", "\u202eevil", "--json"));
  await chat.until(message.id);
  chat.child.stdin!.end(`${"x".repeat(10_001)}\nshort\n`);
  const { code, stdout, stderr } = await chat.end;
  assert.equal(code, 1);
  assert.match(stderr, /^parley: Not sent: x+: text must be/);
  assert.equal(JSON.parse(stdout.split("\n")[1]!).message.id, message.id);
  assert.ok(!stdout.includes("\u202e"));
  assert.equal(items(await ada.run("messages", "bob", "--json"))[0].text, "short");
  const unread = follow(bob, "ada");
  await unread.until("short");
  await unread.until('ada: {"lat":1}\n');
  unread.child.stdout!.destroy();
  for (const text of ["1", "2"]) await ada.run("send", "bob", text);
  assert.equal((await unread.end).code, 0);
});

test("on a terminal a chat shows sent and new messages, and restores the terminal", {
  skip: noTerminal,
}, async (t) => {
  const { ada, bob } = await servePair(t);
  await writeFile(join(ada.folder, "a.txt"), "x");
  for (const key of ["\u0003", "\u0004"]) {
    const chat = onTerminal(bob, "chat ada; code=$?; stty -a | grep -o ' -*echo '; exit $code");
    await chat.until("> ");
    chat.type("half");
    assert.equal((await ada.run("send", "bob", "\u202ehello", "--file", "a.txt")).code, 0);
    await chat.until("[a.txt]");
    chat.type(" a line\r");
    await chat.until("bob: half a line");
    if (key === "\u0004") chat.type("\u0015");
    chat.type(key);
    const { code, shown } = await chat.end();
    assert.equal(code, 0, shown);
    assert.match(shown, /ada: \\u\{202e\}hello/);
    assert.ok(!shown.includes("\u202e"), "a text drives the terminal");
    assert.match(shown, / echo \r\n$/);
  }
});

test("on a terminal, typed lines are replaced by their messages, even if typed faster than sent", {
  skip: noTerminal,
}, async (t) => {
  const { ada, bob } = await servePair(t);
  await ada.run("send", "bob", "before");
  const chat = onTerminal(bob, "chat ada");
  await chat.until("before");
  chat.type("one\rtwo\rthree\r");
  await chat.until("bob: three");
  chat.type("\u0004");
  const { shown } = await chat.end();
  const texts = toScreen(shown).map((line) => line.replace(/^\S+Z /, ""));
  assert.deepEqual(texts, ["ada: before", "bob: one", "bob: two", "bob: three"]);
});
