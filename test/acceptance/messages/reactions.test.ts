// Reactions: valid ones, who sees them, and what they leave unchanged.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  call,
  faulty,
  json,
  type Message,
  me,
  message,
  messages,
  newContact,
  problem,
  type Reply,
  unknownLike,
} from "../client.ts";
import { newMessage, PATH } from "../send.ts";
import { needsSecond, second, target } from "../target.ts";
import { pair, part, theirs } from "../two-users.ts";

const skip = needsSecond;

type Id = Pick<Message, "id">;

const ask = (method: "PUT" | "DELETE", { id }: Id, emoji: string, token = target.token): Promise<Reply> =>
  call(method, `${PATH}/${id}/reactions/${encodeURIComponent(emoji)}`, { token });

async function change(method: "PUT" | "DELETE", message: Id, emoji: string, token?: string): Promise<void> {
  const reply = await ask(method, message, emoji, token);
  assert.deepEqual([reply.status, reply.text], [204, ""], emoji);
}

const react = (message: Id, emoji: string, token?: string) => change("PUT", message, emoji, token);
const unreact = (message: Id, emoji: string, token?: string) => change("DELETE", message, emoji, token);

async function get({ id }: Id, token = target.token): Promise<Message> {
  return message(await call("GET", `${PATH}/${id}`, { token }));
}

/** Returns each emoji with its count. */
const shown = ({ reactions }: Message) => reactions.map(({ emoji, count }) => `${emoji} ${count}`);

test("a reaction is any single visible character, stored as sent, once, in order", async () => {
  const made = await newMessage();
  const { id } = await me();
  const all = [
    "👍",
    "❤️",
    "❤",
    "👨‍👩‍👧‍👦",
    "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
    "🇩🇪",
    "e\u0301",
    "\u00e9",
  ];
  all.push("+", "/", "?", "%", '"', "\\", "한", `a${"\u0301".repeat(31)}`);
  for (const emoji of [...all, ...all]) await react(made, emoji);
  const wanted = all.map((emoji) => ({ emoji, count: 1, user_ids: [id] }));
  assert.deepEqual((await get(made)).reactions, wanted);
  const { conversation_id } = made;
  const list = messages(await call("GET", `${PATH}?conversation_id=${conversation_id}&limit=1`));
  assert.deepEqual(list.data[0]!.reactions, wanted);
  const around = messages(await call("GET", `${PATH}?conversation_id=${conversation_id}&around=${made.id}`));
  assert.deepEqual(around.data.find((each) => each.id === made.id)!.reactions, wanted);
  const conversation = await call("GET", `/v1/conversations/${conversation_id}`);
  assert.deepEqual((conversation.json as { last_message: Message }).last_message.reactions, wanted);
  for (const emoji of [...all, ...all]) await unreact(made, emoji);
  assert.deepEqual(await get(made), made);
});

test("anything else is 400 with what is accepted", async () => {
  const made = await newMessage();
  const wrong = [
    "ab",
    "👍👍",
    "👍 ",
    " ",
    "\u00a0",
    "\u200d",
    "\ufe0f",
    "\u2800",
    "\u202e",
    "\u0007",
    "a\u0000",
  ];
  wrong.push("\n", `a${"\u0301".repeat(32)}`, "thumbsup", "👍".repeat(1000));
  for (const emoji of wrong) {
    for (const method of ["PUT", "DELETE"] as const) {
      const { detail } = faulty(await ask(method, made, emoji), "emoji", "invalid_parameter");
      assert.match(
        detail,
        /^emoji must be one visible character other than a full stop, such as an emoji, of at most 64 bytes/,
      );
    }
  }
  for (const malformed of ["", "%ff", "%", "%f0%9f", "a%ff?b=c"])
    faulty(await call("PUT", `${PATH}/${made.id}/reactions/${malformed}`), "emoji", "invalid_parameter");
  problem(await call("PUT", `${PATH}/%ff/reactions/a`), 404, "message_not_found");
  for (const method of ["GET", "POST"])
    problem(await call(method, `${PATH}/${made.id}/reactions/a`), 405, "method_not_allowed");
  faulty(await call("PUT", `${PATH}/${made.id}/reactions/a?b=c`), "b", "unknown_parameter");
  faulty(await call("PUT", `${PATH}/${made.id}/reactions/a`, json({ b: 1 })), "b", "unknown_parameter");
  assert.deepEqual(await get(made), made);
});

test("a reaction is not an edit: If-Match ignores it, If-None-Match does not", async () => {
  const made = await newMessage();
  const path = `${PATH}/${made.id}`;
  const before = (await call("GET", path)).headers.get("etag")!;
  await react(made, "👍");
  const after = await call("GET", path, { headers: { "if-none-match": before } });
  assert.deepEqual(shown(message(after)), ["👍 1"]);
  assert.equal(message(after).edited_at, null);
  const etag = after.headers.get("etag")!;
  assert.notEqual(etag, before);
  assert.equal((await call("GET", path, { headers: { "if-none-match": etag } })).status, 304);
  const edit = json({ text: "edited" });
  const edited = await call("PUT", path, { ...edit, headers: { ...edit.headers, "if-match": before } });
  assert.deepEqual(shown(message(edited)), ["👍 1"], "and an edit keeps them");
});

test("a message has at most 20 different emoji", async () => {
  const made = await newMessage();
  const all = Array.from({ length: 21 }, (_, i) => String.fromCodePoint(0x1f600 + i));
  for (const emoji of all.slice(0, 20)) await react(made, emoji);
  const refused = problem(await ask("PUT", made, all[20]!), 409, "count_limit_reached");
  assert.match(refused.detail, /20/);
  await react(made, all[0]!);
  await unreact(made, all[0]!);
  await react(made, all[20]!);
  assert.deepEqual(
    shown(await get(made)),
    all.slice(1).map((emoji) => `${emoji} 1`),
  );
});

test("a user who sees a message can react to it, for others it is 404", { skip }, async () => {
  const conversation_id = await pair();
  const [mine, other] = [await me(), await me(second())];
  const made = await newMessage({ conversation_id });
  await react(made, "🎉", second());
  await react(made, "👀");
  await react(made, "🎉");
  const wanted = [
    { emoji: "🎉", count: 2, user_ids: [other.id, mine.id] },
    { emoji: "👀", count: 1, user_ids: [mine.id] },
  ];
  for (const token of [target.token, second()]) assert.deepEqual((await get(made, token)).reactions, wanted);
  await unreact(made, "👀", second());
  await unreact(made, "🎉", second());
  assert.deepEqual(shown(await get(made)), ["🎉 1", "👀 1"]);
  await part();
  const { conversation_id: own } = await newContact();
  const hidden = await newMessage({ conversation_id: own });
  for (const method of ["PUT", "DELETE"] as const) {
    for (const id of [hidden.id, unknownLike(hidden.id), "nonsense"])
      problem(await ask(method, { id }, "👍", second()), 404, "message_not_found");
  }
});

test("reactions of a blocked user are hidden until the block ends", { skip }, async () => {
  const conversation_id = await pair();
  const made = await newMessage({ conversation_id });
  await react(made, "🎉", second());
  const block = `/v1/blocks/${encodeURIComponent((await me(second())).username)}`;
  await call("PUT", block);
  assert.deepEqual(shown(await get(made)), []);
  await react(made, "👀", second());
  await react(made, "🎉");
  assert.deepEqual(shown(await get(made)), ["🎉 1"]);
  assert.deepEqual(shown(await get(made, second())), ["🎉 2", "👀 1"], "who is blocked cannot tell");
  const list = await call("GET", `${PATH}?conversation_id=${conversation_id}`);
  assert.deepEqual(shown(messages(list).data[0]!), ["🎉 1"]);
  await call("DELETE", block);
  assert.deepEqual(shown(await get(made)), ["🎉 2", "👀 1"]);
  await call("DELETE", `${PATH}/${made.id}`);
  problem(await ask("PUT", made, "🎉", theirs().token), 404, "message_not_found");
});
