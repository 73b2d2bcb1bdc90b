// Search for messages by their words.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { call, json, type Message, me, messages, type Options, problem } from "../client.ts";
import { invite, join, leave, newGroup } from "../in-groups.ts";
import { newMessage, PATH, send } from "../send.ts";
import { needsSecond, second, target } from "../target.ts";
import { add, pair, part, theirs } from "../two-users.ts";
import { newAttachment } from "../upload.ts";

const skip = needsSecond;

/** With fewer messages, the server reads the user's texts without the index. */
const ENOUGH = 60;

before(async () => {
  for (let i = 0; i < ENOUGH; i++) await newMessage({ text: `one of many ${i}` });
});

let made = 0;
/** Returns a word that no other message has. */
const rare = () => `w${Date.now().toString(36)}${process.pid.toString(36)}x${made++}y`;

async function search(q: string, more = "", options: Options = {}) {
  return messages(await call("GET", `${PATH}?q=${encodeURIComponent(q)}${more}`, options));
}

async function found(q: string, more = "", options: Options = {}): Promise<string[]> {
  return (await search(q, more, options)).data.map(({ id }) => id);
}

test("a message is found by all words, the last one as a prefix, in any order and case", async () => {
  const word = rare();
  const { id } = await newMessage({ text: `The ${word.toUpperCase()}, and then\nCafé-Olé!` });
  for (const q of [word, `${word} cafe`, `CAFÉ ${word}`, `ole ${word}`, `${word} the an`, `then "${word}"`])
    assert.deepEqual(await found(q), [id], q);
  for (const q of [`x${word}`, `${word} tha`, `caf ${word}`, `${word} missing`])
    assert.deepEqual(await found(q), [], q);
});

test("a message is found at once, by its new words after an edit, and not after a delete", async () => {
  const [before, after] = [rare(), rare()];
  const { id } = await newMessage({ text: before });
  assert.deepEqual(await found(before), [id]);
  assert.equal((await call("PUT", `${PATH}/${id}`, json({ text: after }))).status, 200);
  assert.deepEqual([await found(before), await found(after)], [[], [id]]);
  assert.equal((await call("DELETE", `${PATH}/${id}`)).status, 204);
  assert.deepEqual(await found(after), []);
});

test("pages go through all hits, newest first, in both directions", async () => {
  const word = rare();
  const sent: Message[] = [];
  for (let i = 0; i < 7; i++) sent.push(await newMessage({ text: `${i} ${word}` }));
  const ids = sent.map(({ id }) => id).reverse();
  assert.deepEqual(await found(word), ids);
  const walked: string[] = [];
  for (let after = ""; ; ) {
    const page = await search(word, `&limit=3${after}`);
    walked.push(...page.data.map(({ id }) => id));
    if (!page.has_more) break;
    after = `&starting_after=${walked.at(-1)}`;
  }
  assert.deepEqual(walked, ids);
  const back = await search(word, `&limit=3&ending_before=${ids[5]}`);
  assert.deepEqual([back.data.map(({ id }) => id), back.has_more], [ids.slice(2, 5), true]);
  const first = await call("GET", `${PATH}?q=${word}&limit=3`);
  const next = /<[^>]*(\/v1\/[^>]*)>; rel="next"/.exec(String(first.headers.get("link")))?.[1];
  assert.deepEqual(
    messages(await call("GET", next!)).data.map(({ id }) => id),
    ids.slice(3, 6),
  );
});

test("a search covers one conversation or all of the caller's, and never others", { skip }, async () => {
  const word = rare();
  const conversation_id = await pair();
  const shared = await newMessage({ conversation_id, text: word });
  const notes = await newMessage({ text: word });
  assert.deepEqual(await found(word), [notes.id, shared.id]);
  assert.deepEqual(await found(word, `&conversation_id=${conversation_id}`), [shared.id]);
  assert.deepEqual(await found(word, "", theirs()), [shared.id]);
  const { conversation_id: own } = await me();
  problem(
    await call("GET", `${PATH}?q=${word}&conversation_id=${own}`, theirs()),
    404,
    "conversation_not_found",
  );
});

test("a message deleted for oneself is found only by others", { skip }, async () => {
  const word = rare();
  const { id } = await newMessage({ conversation_id: await pair(), text: word });
  assert.equal((await call("DELETE", `${PATH}/${id}?for=me`, theirs())).status, 204);
  assert.deepEqual(await found(word, "", theirs()), []);
  assert.deepEqual(await found(word, "", { token: target.token }), [id]);
  assert.ok(second());
});

test("an edited message keeps its place, and filenames, data and quoted texts are not searched", async () => {
  const [word, other] = [rare(), rare()];
  const sent: string[] = [];
  for (const text of [word, `old ${other}`, word]) sent.push((await newMessage({ text })).id);
  await call("PUT", `${PATH}/${sent[1]}`, json({ text: `new ${word}` }));
  assert.deepEqual(await found(word), sent.toReversed());
  assert.deepEqual(await found(other), []);
  await newAttachment({ name: `${other}.txt` });
  const { id: quoted } = await newMessage({ data: { text: other }, text: "card" });
  const { id: reply } = await newMessage({ text: `re ${word}`, reply_to_id: quoted });
  assert.deepEqual(await found(`${word} re`), [reply]);
  assert.deepEqual(await found(`card ${word}`), []);
  assert.deepEqual(await found(other), []);
  await call("PUT", `${PATH}/${reply}`, json({ text: null, data: { text: word } }));
  assert.deepEqual(await found(word), sent.toReversed());
});

test("messages of blocked users are never found, nor once edited", { skip }, async () => {
  const word = rare();
  const conversation_id = await pair();
  const { username } = await me(second());
  const write = (text: string) => newMessage({ conversation_id, text }, theirs());
  const [kept, edited] = [await write(`${word} kept`), await write(`${word} edited`)];
  assert.equal((await call("PUT", `/v1/blocks/${encodeURIComponent(username)}`)).status, 204);
  const hidden = await write(`${word} hidden`);
  await call("PUT", `${PATH}/${edited.id}`, { ...json({ text: `${word} anew` }), ...theirs() });
  const inOrder = [hidden.id, edited.id, kept.id];
  assert.deepEqual([await found(word), await found(word, "", theirs())], [[kept.id], inOrder]);
  assert.equal((await call("DELETE", `/v1/blocks/${encodeURIComponent(username)}`)).status, 204);
  const after = await write(`${word} after`);
  assert.deepEqual(await found(word), [after.id, kept.id]);
});

test("adding a contact finds waiting messages, rejoining finds only new ones", { skip }, async () => {
  const word = rare();
  await part();
  const { conversation_id, id } = await add(target.token, second());
  const waiting = await newMessage({ conversation_id, text: word });
  assert.deepEqual(await found(word, "", theirs()), []);
  await add(second(), target.token);
  assert.deepEqual(await found(word, "", theirs()), [waiting.id]);
  assert.equal((await call("DELETE", `/v1/contacts/${id}`)).status, 204);
  assert.deepEqual([await found(word), await found(word, "", theirs())], [[], [waiting.id]]);
  assert.equal((await add(target.token, second())).conversation_id, conversation_id);
  const after = await newMessage({ conversation_id, text: word });
  assert.deepEqual(await found(word), [after.id]);
  assert.deepEqual(await found(word, "", theirs()), [after.id, waiting.id]);
});

test("members find what the group's history shows, and nothing after leaving", { skip }, async () => {
  const { username } = await me(second());
  await pair();
  for (const history of ["joined", "all"]) {
    const word = rare();
    const { id: groupId, conversation_id } = await newGroup({ history, name: word });
    const before = await newMessage({ conversation_id: conversation_id!, text: word });
    assert.equal((await invite(groupId, username)).status, 201);
    assert.deepEqual(await found(word, "", theirs()), []);
    await join(groupId);
    const after = await newMessage({ conversation_id: conversation_id!, text: word });
    const all = [after.id, before.id];
    assert.deepEqual(await found(word, "", theirs()), history === "all" ? all : [after.id]);
    await leave(groupId, theirs());
    assert.deepEqual([await found(word), await found(word, "", theirs())], [all, []]);
    const within = `${PATH}?q=${word}&conversation_id=${conversation_id}`;
    problem(await call("GET", within, theirs()), 404, "conversation_not_found");
    assert.equal((await invite(groupId, username)).status, 201);
    await join(groupId);
    assert.deepEqual(await found(word, "", theirs()), []);
  }
});

const CORPUS: [text: string, hits: string[], misses: string[]][] = [
  ["今天我们去北京吃烤鸭", ["北京", "吃", "京吃烤", "今天 烤鸭"], ["东京", "北鸭"]],
  ["明日は東京でラーメンを食べる", ["ラーメン", "東京", "食べ"], ["京東"]],
  ["내일 서울역에서 만나요", ["서울", "만나", "울역"], ["역서"]],
  ["วันนี้อากาศดีมาก", ["อากาศ", "ดี"], ["กาแฟ"]],
  ["Встретимся в Москве завтра", ["москве", "завтра встретимся", "МОСК"], ["моск завтра"]],
  ["Καλημέρα από την Αθήνα", ["καλημερα", "ΑΘΗΝΑ"], ["θηνα"]],
  ["مرحبا يا صديقي", ["مرحبا", "صدي"], ["حبا"]],
  ["שלום לך חבר", ["שלום", "חב"], ["לום"]],
  ["नमस्ते दुनिया कैसे हो", ["दुनिया", "नमस्ते"], ["निया"]],
  ["Đường phố Hà Nội", ["ha noi", "đuong"], ["oi"]],
];

for (const [text, hits, misses] of CORPUS) {
  test(`words of ${text}`, async () => {
    const { conversation_id } = await me();
    const { id } = await newMessage({ text });
    const within = `&conversation_id=${conversation_id}&limit=1`;
    for (const q of hits) assert.deepEqual(await found(q, within), [id], q);
    for (const q of misses) assert.ok(!(await found(q, within)).includes(id), q);
  });
}

test("an invalid search is refused", async () => {
  const { conversation_id } = await me();
  const of = (query: string) => call("GET", `${PATH}?${query}`);
  problem(await of(""), 400, "missing_parameter");
  for (const q of ["", "a".repeat(129)])
    assert.match(problem(await of(`q=${q}`), 400, "invalid_parameter").detail, /1 to 128 characters/);
  problem(await of("q=%3F%21"), 400, "invalid_parameter");
  problem(await of(`q=${Array.from({ length: 21 }, (_, i) => `a${i}`).join("+")}`), 400, "invalid_parameter");
  const { id } = await newMessage();
  problem(await of(`q=a&conversation_id=${conversation_id}&around=${id}`), 400, "invalid_parameter");
  problem(await of("q=a&conversation_id=cnv_1"), 404, "conversation_not_found");
  assert.equal((await send({ text: "a".repeat(10_000) })).status, 201);
});
