// Searches for very frequent words, and in conversations with the same key in the index.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createToken } from "../../../src/core/people/tokens.ts";
import type { TestApp, TestUser } from "../../support/app.ts";
import type { Json } from "../../support/asker.ts";
import { ENGINES, startOnEngine } from "../../support/on-engines.ts";
import { done, pair, read, send } from "../../support/people.ts";
import { aUser, contact, message, messageId } from "../../support/rows.ts";

/** Uses the index even for few messages. */
const INDEXED = { messagesReadAtOnce: 0 };

/** More than one lookup of a search. */
const MESSAGES = 2100;
/** One in this many messages has both of two words with the same beginning. */
const EVERY = 7;
const AT_ONCE = 100;

/** Writes many messages at once without the API, and returns their ids, oldest first. */
async function fill(server: TestApp, who: TestUser, conversations: readonly string[]): Promise<string[]> {
  const { db, newId } = server.app.core;
  const sent = Array.from({ length: MESSAGES }, (_, i) => ({
    ...message(who.id, i, conversations[i % conversations.length]!),
    newId: newId("msg"),
    text: i % EVERY === 0 ? `the foxa foxb ${i}` : `the ${i}`,
  }));
  for (let at = 0; at < sent.length; at += AT_ONCE)
    await Promise.all(sent.slice(at, at + AT_ONCE).map((one) => db.write("createMessage", one)));
  return sent.map((one) => one.newId);
}

async function page(
  server: TestApp,
  who: TestUser,
  query: string,
): Promise<{ ids: string[]; more: boolean }> {
  const { data, has_more } = await read<Json>(
    send(server, who, "GET", `/v1/messages?limit=100&${query}`),
    200,
  );
  return { ids: (data as { id: string }[]).map(({ id }) => id), more: has_more === true };
}

/** Returns all pages, joined. */
async function walk(server: TestApp, who: TestUser, query: string, newer = false): Promise<string[]> {
  const ids: string[] = [];
  let cursor = newer ? `&ending_before=${messageId(0).replace(/./g, (c, i) => (i < 4 ? c : "0"))}` : "";
  for (;;) {
    const { ids: some, more } = await page(server, who, query + cursor);
    if (newer) ids.unshift(...some);
    else ids.push(...some);
    if (!more) return ids;
    cursor = newer ? `&ending_before=${some[0]}` : `&starting_after=${some.at(-1)}`;
  }
}

for (const name of ENGINES) {
  test(`${name}: a word in 2,100 messages is found once in each, in both directions`, async (t) => {
    const server = await startOnEngine(t, name, INDEXED);
    const { ann, bob, conversation: conversation_id } = await pair(server);
    const me = await read<Json>(send(server, ann, "GET", "/v1/me"), 200);
    const own = String(me.conversation_id);
    const sent = await fill(server, ann, [conversation_id, own, conversation_id]);
    await done(send(server, bob, "DELETE", `/v1/messages/${sent[6]}?for=me`));
    const newest = sent.toReversed();
    // A word, a prefix, a letter with which too many words begin, and two frequent prefixes.
    for (const q of ["the", "th", "t", "the+th"]) {
      assert.deepEqual(await walk(server, ann, `q=${q}`), newest, q);
      assert.deepEqual(await walk(server, ann, `q=${q}`, true), newest, q);
    }
    const shared = newest.filter((_, i) => (MESSAGES - 1 - i) % 3 !== 1);
    assert.deepEqual(await walk(server, ann, `q=the&conversation_id=${conversation_id}`), shared);
    const ofBob = shared.filter((id) => id !== sent[6]);
    assert.deepEqual(await walk(server, bob, "q=the"), ofBob);
    // Both words of a message begin like this.
    const foxes = newest.filter((_, i) => (MESSAGES - 1 - i) % EVERY === 0);
    for (const q of ["fox", "fo", "foxb+foxa"]) {
      assert.deepEqual(await walk(server, ann, `q=${q}`), foxes, q);
      assert.deepEqual(await walk(server, ann, `q=${q}`, true), foxes, q);
    }
  });

  test(`${name}: a search tells conversations apart whose ids have the same ending`, async (t) => {
    const server = await startOnEngine(t, name, INDEXED);
    const { core } = server.app;
    const like = (first: string) => `cnv_${first.padEnd(16, "0")}zzzzzzzzzz`;
    for (const [id, first] of [
      ["usr_a", "1"],
      ["usr_b", "2"],
    ] as const)
      await core.db.write("createUser", aUser(id, { conversationId: like(first) }));
    await core.db.write("createContact", {
      ...contact("usr_a", 1),
      usernameKey: "nobody",
      conversationId: like("3"),
    });
    const texts = { 1: "own red", 2: "other red", 3: "contact red" };
    for (const [first, text] of Object.entries(texts)) {
      const sender = first === "2" ? "usr_b" : "usr_a";
      await core.db.write("createMessage", message(sender, Number(first), like(first), { text }));
    }
    const { token } = await createToken(core, null, "usr_a", {});
    const me = { id: "usr_a", token, headers: { authorization: `Bearer ${token}` } };
    assert.deepEqual((await page(server, me, "q=red")).ids, [messageId(3), messageId(1)]);
    for (const first of [1, 3])
      assert.deepEqual((await page(server, me, `q=red&conversation_id=${like(`${first}`)}`)).ids, [
        messageId(first),
      ]);
  });
}
