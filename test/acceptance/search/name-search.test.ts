// `q` of the lists of contacts and attachments.
import assert from "node:assert/strict";
import { randomBytes, randomInt } from "node:crypto";
import { test } from "node:test";
import { attachments, call, contacts, faulty, form, links, newContact } from "../client.ts";
import { needsSecond } from "../target.ts";
import { pair, theirs } from "../two-users.ts";
import { newAttachment } from "../upload.ts";

/** Returns a unique word. Of letters only, because in filenames words also begin at digits. */
const tag = () =>
  `q${randomBytes(8)
    .toString("hex")
    .replace(/\d/g, (digit) => "ghijklmnop"[Number(digit)]!)}`;

const search = (fields: Record<string, string>) => new URLSearchParams({ limit: "100", ...fields });

async function contactsBy(q: string, more: Record<string, string> = {}): Promise<string[]> {
  const { data } = contacts(await call("GET", `/v1/contacts?${search({ q, ...more })}`));
  return data.map(({ username }) => username);
}

async function filesBy(q: string, more: Record<string, string> = {}, token?: string): Promise<string[]> {
  const options = token === undefined ? {} : { token };
  const reply = await call("GET", `/v1/attachments?${search({ q, ...more })}`, options);
  return attachments(reply).data.map(({ filename }) => filename);
}

test("contacts are found by prefixes of words of both names, in any order and case", async () => {
  const word = tag();
  const username = `${word}.ada`;
  await newContact({ username, display_name: "Lovelace, Countess Ångström" });
  for (const q of [word, `lovelace ${word}`, `LOV ad co ${word}`, `${word}, A\u030ang`, `${word} ada ada`]) {
    assert.deepEqual(await contactsBy(q), [username], q);
  }
  for (const q of [
    `${word} lace`,
    `${word} lovelace grace`,
    `${word}x`,
    `${word.slice(0, 3)}%${word.slice(4)}`,
    `_${word.slice(1)}`,
  ]) {
    assert.deepEqual(await contactsBy(q), [], q);
  }
});

test("contacts are found by three or more digits of the phone number, however grouped", async () => {
  const digits = String(randomInt(1e8, 1e9));
  const username = tag();
  await newContact({ username, phone_number: `+44 (${digits.slice(0, 4)}) ${digits.slice(4)}` });
  for (const q of [
    digits,
    `0${digits}`,
    `0044 ${digits}`,
    `+44/${digits.slice(0, 2)}-${digits.slice(2)}`,
    digits.slice(1),
  ]) {
    assert.ok((await contactsBy(q)).includes(username), q);
  }
  for (const q of [`${digits}0`, `${digits}x`, `+45 ${digits}`]) {
    assert.ok(!(await contactsBy(q)).includes(username), q);
  }
  assert.deepEqual(await contactsBy(`${digits} ${username}`), [], "words beside digits are words of names");
  const named = `${tag()} ${digits}`;
  await newContact({ username: named });
  assert.ok((await contactsBy(digits)).includes(named), "digits are words of names, too");
});

test("names in scripts without spaces are found by any part", async () => {
  const word = tag();
  const names = ["李小美", "さくらこ", "タナカ", "김민수", "สมชาย"];
  for (const name of names) await newContact({ username: `${word} ${name}` });
  for (const [part, name] of [
    ["美", "李小美"],
    ["くら", "さくらこ"],
    ["ﾅｶ", "タナカ"],
    ["민수", "김민수"],
    ["ชาย", "สมชาย"],
  ]) {
    assert.deepEqual(await contactsBy(`${word} ${part}`), [`${word} ${name}`], part);
  }
});

test("files are found by prefixes of words in their names, by extension and by numbers", async () => {
  const word = tag();
  const report = `Report_2024-${word}.pdf`;
  const invoice = `${word} invoice17.PDF`;
  const chinese = `${word}年度报告.docx`;
  for (const name of [report, invoice, chinese]) await newAttachment({ name });
  const expected: Record<string, string[]> = {
    [word]: [chinese, invoice, report],
    [`${word} pdf`]: [invoice, report],
    [`report 2024 ${word}`]: [report],
    [`${word} RÉP`]: [report],
    [`${word}, final`]: [],
    [`${word} invoice 17`]: [invoice],
    [`${word} invoice17`]: [invoice],
    [`${word} 7`]: [],
    [`${word} 报告`]: [chinese],
    [report]: [report],
  };
  for (const [q, names] of Object.entries(expected)) assert.deepEqual(await filesBy(q), names, q);
});

test("files are found by their current name, also within one conversation", async () => {
  const word = tag();
  const { conversation_id } = await newContact();
  const { id } = await newAttachment({ name: `${word}-old.txt` });
  await newAttachment({ name: `${word}-other.txt`, query: `?conversation_id=${conversation_id}` });
  await call("PUT", `/v1/attachments/${id}`, form({ filename: `${word}-new.txt` }));
  assert.deepEqual(await filesBy(`${word} old`), []);
  assert.deepEqual(await filesBy(word), [`${word}-other.txt`, `${word}-new.txt`]);
  assert.deepEqual(await filesBy(word, { conversation_id }), [`${word}-other.txt`]);
  await call("DELETE", `/v1/attachments/${id}`);
  assert.deepEqual(await filesBy(word), [`${word}-other.txt`]);
  const unknown = { conversation_id: conversation_id.replace(/.{8}$/, "00000000") };
  assert.equal((await call("GET", `/v1/attachments?${search({ q: word, ...unknown })}`)).status, 404);
});

test("files of others are found only by users who see them", { skip: needsSecond }, async () => {
  const word = tag();
  const conversation_id = await pair();
  await newAttachment({ name: `${word}-private.txt` });
  await newAttachment({ name: `${word}-shared.txt`, query: `?conversation_id=${conversation_id}` });
  assert.deepEqual(await filesBy(word, {}, theirs().token), [`${word}-shared.txt`]);
  assert.equal((await filesBy(word)).length, 2);
});

for (const [list, read, make] of [
  ["contacts", contacts, (word: string) => newContact({ username: `${word} ${tag()}` })],
  ["attachments", attachments, (word: string) => newAttachment({ name: `${word} ${tag()}.txt` })],
] as const) {
  test(`pages of found ${list} have links with q, both ways`, async () => {
    const word = tag();
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) {
      ids.unshift((await make(word)).id);
      await make(tag());
    }
    const address = `/v1/${list}?${new URLSearchParams({ q: word, limit: "2" })}`;
    const idsOf = (page: { data: { id: string }[] }) => page.data.map(({ id }) => id);
    const first = await call("GET", address);
    assert.deepEqual(idsOf(read(first)), ids.slice(0, 2));
    assert.equal(read(first).has_more, true);
    const second = await call("GET", links(first).next!);
    assert.deepEqual(idsOf(read(second)), ids.slice(2, 4));
    assert.match(links(second).next!, new RegExp(`q=${word}`));
    const third = await call("GET", links(second).next!);
    assert.deepEqual([idsOf(read(third)), read(third).has_more], [ids.slice(4), false]);
    assert.equal(links(third).next, undefined);
    const back = await call("GET", links(third).prev!);
    assert.deepEqual(idsOf(read(back)), ids.slice(2, 4));
    assert.deepEqual(idsOf(read(await call("GET", links(back).prev!))), ids.slice(0, 2));
    const newer = read(await call("GET", `${address}&ending_before=${ids[3]}`));
    assert.deepEqual([idsOf(newer), newer.has_more], [ids.slice(1, 3), true]);
  });

  test(`q of ${list} without words finds all, and one too long or with too many words is 400`, async () => {
    const { id } = await make(tag());
    for (const q of ["", " ", "._-", "\u200b"]) {
      const { data } = read(await call("GET", `/v1/${list}?${search({ q })}`));
      assert.ok(
        data.some((item) => item.id === id),
        JSON.stringify(q),
      );
    }
    const words = Array.from({ length: 32 }, (_, i) => `w${i}`).join(" ");
    for (const q of ["x".repeat(255), words, `${words} -`, "%".repeat(255)]) {
      assert.equal((await call("GET", `/v1/${list}?${search({ q })}`)).status, 200, q);
    }
    for (const q of ["x".repeat(256), `${words} w32`, "a\u0000", "a\nb"]) {
      faulty(await call("GET", `/v1/${list}?${search({ q })}`), "q", "invalid_parameter");
    }
    faulty(await call("GET", `/v1/${list}?q=a&q=b`), "q");
  });
}
