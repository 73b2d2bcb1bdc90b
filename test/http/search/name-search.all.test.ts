// `q` of contacts, attachments and users: compared with a model that scans each name, and how much one request scans.
import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import fc from "fast-check";
import { Parley } from "../../../packages/parley-client/src/index.ts";
import { createToken, SCOPES } from "../../../src/core/people/tokens.ts";
import { createUser } from "../../../src/core/people/users.ts";
import { phoneDigits, searchDigits } from "../../../src/util/text.ts";
import { fold } from "../../../src/util/words.ts";
import { startApp, type TestApp, type TestUser, upload } from "../../support/app.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { addFiles } from "../../support/many-files.ts";
import { ENGINES, startOnEngine } from "../../support/on-engines.ts";
import { done, give, pair, read, send } from "../../support/people.ts";
import { holds } from "../../support/property.ts";

const PARTS = [
  "Ada",
  "ADAM",
  "lovelace",
  "Ångström",
  "A\u030angel",
  "ﬁn",
  "2024",
  "17",
  "20",
  "v2",
  "a1b2",
  "+",
  "c++",
  "Νίκος",
  "νικη",
  "Юлия",
  "юл",
  "שלומית",
  "של",
  "عبدالله",
  "عبد",
  "प्रियंका",
  "प्रि",
  "Արամ",
  "თამარ",

  "李小美",
  "美",
  "さくら",
  "くら",
  "タナカ",
  "ﾅｶ",
  "김민수",
  "민수",
  "สมชาย",
  "ชาย",
  "ສົມພອນ",
  "សុខា",
  "အောင်",
  "🎉",
  "👩‍👩‍👧",
  "%",
  "_",
  "\\",
  "'",
  "$1",
  "?",
  "ß",
  "ẞ",
  "İ",
];
const BETWEEN = ["", "", " ", "-", "_", ".", ", ", "\u3000", "\u200b"];
const part = fc.constantFrom(...PARTS);
const pieces = fc.array(fc.tuple(part, fc.constantFrom(...BETWEEN)), { minLength: 1, maxLength: 4 });
const name = pieces.map((all) => all.flat().join("").trim() || "x");
const phone = fc.string({ unit: fc.constantFrom(..."0123456789"), minLength: 3, maxLength: 12 });
/** Parts of words of an existing name, or any text. */
const sought = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.array(
      fc.record({ word: fc.nat(), from: fc.constantFrom(0, 0, 0, 1, 2), length: fc.nat(5) }),
      {
        minLength: 1,
        maxLength: 3,
      },
    ),
  },
  name,
  phone.map((digits) => digits.slice(0, 4)),
);
type Sought = typeof sought extends fc.Arbitrary<infer T> ? T : never;

function textOf(each: Sought, which: number, names: string[]): string {
  if (typeof each === "string") return each;
  const name = names[which % names.length]!;
  const words = wordsOf(name);
  if (words.length === 0) return name;
  const cut = each.map(({ word, from, length }) =>
    [...words[word % words.length]!].slice(from, from + length + 1).join(""),
  );
  return cut.join(" ");
}

/** Returns the folded words. test/unit/search-words.test.ts tests folding. */
const wordsOf = (text: string) =>
  fold(text)
    .split(/[\p{P}\p{Z}\p{C}]+/u)
    .filter(Boolean);

const isUnspaced = (text: string) =>
  "Han Hira Kana Hang Bopo Thai Laoo Khmr Mymr"
    .split(" ")
    .some((script) => new RegExp(`^\\p{scx=${script}}`, "u").test(text));

/** Returns the kind of a character. In a file name a new word begins where the kind changes. */
function kindOf(character: string): string {
  if (isUnspaced(character)) return "unspaced";
  if (/[\p{L}\p{M}]/u.test(character)) return "letter";
  return /\p{N}/u.test(character) ? "number" : "symbol";
}

function begins(word: string, sought: string, inFile: boolean): boolean {
  const characters = [...word];
  return characters.some((character, i) => {
    const kinds = [kindOf(characters[i - 1] ?? " "), kindOf(character)];
    const isPlace = i === 0 || (inFile && (kinds[0] !== kinds[1] || kinds[1] === "symbol"));
    return (isPlace || isUnspaced(sought)) && characters.slice(i).join("").startsWith(sought);
  });
}

const isFound = (names: string[], q: string, inFile: boolean) =>
  wordsOf(q).every((each) => names.flatMap(wordsOf).some((word) => begins(word, each, inFile)));

/** Reports whether digits of `q` occur in the phone number. test/unit/search-words.test.ts tests reading digits. */
function isDialled(phoneNumber: string, q: string): boolean {
  return searchDigits(q).some((digits) => ` ${phoneDigits(phoneNumber)}`.includes(digits));
}

/** Returns all items found, page by page along the links. */
async function walk<T>(server: TestApp, user: TestUser, path: string): Promise<T[]> {
  const found: T[] = [];
  for (let next: string | undefined = path; next !== undefined; ) {
    const answer = await send(server, user, "GET", next);
    const page = await read<{ has_more: boolean; data: T[] }>(Promise.resolve(answer), 200);
    found.push(...page.data);
    const link = /<([^>]+)>; rel="next"/.exec(answer.headers.get("link") ?? "")?.[1];
    assert.equal(page.has_more, link !== undefined);
    next = link?.slice(server.url.length);
  }
  return found;
}

for (const engine of ENGINES) {
  test(`${engine}: q of contacts and files finds what a scan of all names finds, in every script`, async (t) => {
    const server = await startOnEngine(t, engine);
    const people = fc.array(fc.record({ username: name, display_name: name, phone_number: phone }), {
      minLength: 1,
      maxLength: 6,
    });
    const files = fc.array(name, { minLength: 1, maxLength: 6 });
    const searches = fc.array(sought, { minLength: 10, maxLength: 20 });
    let hits = 0;
    await holds(
      fc.asyncProperty(people, files, searches, async (people, filenames, searches) => {
        const user = await server.user();
        const contacts: typeof people = [];
        for (const fields of people) {
          const made = await send(server, user, "POST", "/v1/contacts", fields);
          // A repeated or invisible name is refused.
          if (made.status === 201) contacts.unshift(fields);
        }
        const kept: string[] = [];
        for (const filename of filenames) {
          const made = await upload(server.url, user, new File(["x"], filename));
          if (made.status === 201) kept.unshift(((await made.json()) as { filename: string }).filename);
        }
        const names = [...contacts.flatMap(Object.values), ...kept];
        for (const [which, each] of searches.entries()) {
          const q = textOf(each, which, names);
          const query = new URLSearchParams({ q, limit: "2" });
          const found = await walk<{ username: string }>(server, user, `/v1/contacts?${query}`);
          const expected = contacts.filter(
            (each) =>
              isFound([each.username, each.display_name], q, false) || isDialled(each.phone_number, q),
          );
          assert.deepEqual(
            found.map(({ username }) => username),
            expected.map(({ username }) => username),
            `contacts by ${JSON.stringify(q)}`,
          );
          const ofFiles = await walk<{ filename: string }>(server, user, `/v1/attachments?${query}`);
          assert.deepEqual(
            ofFiles.map(({ filename }) => filename),
            kept.filter((filename) => isFound([filename], q, true)),
            `files by ${JSON.stringify(q)}`,
          );
          hits += found.length + ofFiles.length;
        }
      }),
      25,
    );
    t.diagnostic(`${hits} found`);
    assert.ok(hits > 20);
  });

  test(`${engine}: q finds no files that the user cannot see, and pages continue after them`, async (t) => {
    const server = await startOnEngine(t, engine);
    const { ann, bob, conversation: conversation_id } = await pair(server);
    await give(server, ann, conversation_id, "plan first.txt");
    await done(send(server, bob, "PUT", `/v1/blocks/${ann.name}`));
    for (let i = 0; i < 5; i++) await give(server, ann, conversation_id, `plan hidden ${i}.txt`);
    await done(send(server, bob, "DELETE", `/v1/blocks/${ann.name}`));
    await give(server, bob, conversation_id, "plan last.txt");
    const names = async (who: TestUser, path: string) =>
      (await walk<{ filename: string }>(server, who, path)).map(({ filename }) => filename);
    for (const more of ["", `&conversation_id=${conversation_id}`]) {
      const path = `/v1/attachments?q=plan&limit=1${more}`;
      assert.deepEqual(await names(bob, path), ["plan last.txt", "plan first.txt"]);
      assert.equal((await names(ann, path)).length, 7);
    }
    const notes = await read<{ conversation_id: string }>(send(server, bob, "GET", "/v1/me"), 200);
    assert.deepEqual(await names(bob, `/v1/attachments?q=plan&conversation_id=${notes.conversation_id}`), []);
    // The sender of a file that another user sees keeps its grant after deleting it for themselves.
    const own: string[] = [];
    for (let i = 0; i < 5; i++) own.push(await give(server, bob, conversation_id, `plan own ${i}.txt`));
    for (const id of own) {
      const path = `/v1/attachments/${id}`;
      const { message_id } = await read<{ message_id: string }>(send(server, bob, "GET", path), 200);
      await done(send(server, bob, "DELETE", `/v1/messages/${message_id}?for=me`));
    }
    assert.equal((await names(ann, "/v1/attachments?q=own")).length, 5);
    for (const limit of [1, 2, 3]) {
      const path = `/v1/attachments?q=plan&limit=${limit}`;
      assert.deepEqual(await names(bob, path), ["plan last.txt", "plan first.txt"]);
    }
  });
}

for (const engine of ENGINES) {
  test(`${engine}: q finds users by words of their names, with storage and last_active_at`, async (t) => {
    const server = await startOnEngine(t, engine);
    const admin = await server.user({ scopes: SCOPES });
    const names = [
      ["ada", "Augusta Ada King"],
      ["adam", null],
      ["x-ada", "Zoë Ångström"],
      ["nada", "李小美"],
    ] as const;
    const made: string[] = [];
    for (const [username, display_name] of names)
      made.push((await createUser(server.app.core, null, { username, display_name })).id);
    const found = async (query: object) => {
      const path = `/v1/users?${new URLSearchParams({ limit: "1", ...query })}`;
      return (await walk<{ username: string }>(server, admin, path)).map(({ username }) => username);
    };
    for (const [q, expected] of [
      ["ADA", ["x-ada", "adam", "ada"]],
      ["king aug", ["ada"]],
      ["king zoë", []],
      ["ång", ["x-ada"]],
      ["小", ["nada"]],
      ["-", ["nada", "x-ada", "adam", "ada"]],
      ["nobody", []],
    ] as const) {
      const all = (await found({ q })).filter((name) => !name.startsWith("user-"));
      assert.deepEqual(all, expected, q);
    }
    assert.deepEqual(await found({ q: "ada", username: "ADAM" }), ["adam"]);
    assert.deepEqual(await found({ q: "king", username: "adam" }), []);
    for (const q of ["x".repeat(256), "a ".repeat(33), "\u0000"])
      assert.equal((await send(server, admin, "GET", `/v1/users?${new URLSearchParams({ q })}`)).status, 400);
    const { token } = await createToken(server.app.core, null, made[0]!, {});
    const ada = { id: made[0]!, token, headers: { authorization: `Bearer ${token}` } };
    assert.equal((await upload(server.url, ada, new File(["12345"], "x"))).status, 201);
    const shown = async () => {
      const { data } = await read<{ data: Shown[] }>(send(server, admin, "GET", "/v1/users?q=ada"), 200);
      const one = await read<Shown>(send(server, admin, "GET", `/v1/users/${ada.id}`), 200);
      const listed = data.find(({ id }) => id === ada.id)!;
      return [listed, one].map(({ storage, last_active_at }) => ({ ...storage, last_active_at }));
    };
    assert.ok(await eventually(async () => (await shown()).every((each) => each.last_active_at !== null)));
    for (const { used, quota, last_active_at } of await shown()) {
      assert.deepEqual([used, quota], [5, null]);
      assert.ok(Math.abs(last_active_at! - Date.now() / 1000) < 60);
    }
    const other = await read<Shown>(send(server, admin, "GET", `/v1/users/${made[1]}`), 200);
    assert.deepEqual([other.storage, other.last_active_at], [{ used: 0, quota: null }, null]);
  });
}

interface Shown {
  id: string;
  storage: { used: number; quota: number | null };
  last_active_at: number | null;
}

/** The most files that one request scans. */
const MOST = 20_000;

test("one request scans at most 20,000 users, and the next page continues after them", async (t) => {
  const server = await startApp(t);
  const { token } = await server.user({ scopes: SCOPES });
  const { id } = await createUser(server.app.core, null, { username: "sought" });
  using db = new DatabaseSync(join(server.config.dataFolder, "parley.db"), { timeout: 5000 });
  db.exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${MOST})
    INSERT INTO users (id, username, username_key, conversation_id, created_at)
    SELECT 'usr_7zzz' || printf('%022d', i), 'other ' || i, 'other ' || i, 'cnv', 1 FROM n`);
  const { users } = new Parley({ url: server.url, token });
  assert.deepEqual(await users.list({ q: "sought" }), { has_more: true, data: [] });
  const all = await Array.fromAsync(users.list({ q: "sought" }));
  assert.deepEqual(
    all.map((each) => each.id),
    [id],
  );
});

test("one request scans at most 20,000 files, and the next page continues after them, in both directions", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const made = await upload(server.url, user, new File(["x"], "sought.txt"));
  const { id } = (await made.json()) as { id: string };
  for (const start of ["7zzz", "0000"]) addFiles(server, user.id, id, start, MOST + 100);
  const page = async (query: string) => {
    const answer = await send(server, user, "GET", `/v1/attachments?q=sought${query}`);
    const { has_more, data } = await read<{ has_more: boolean; data: { id: string }[] }>(
      Promise.resolve(answer),
      200,
    );
    const link = answer.headers.get("link") ?? "";
    const cursorOf = (rel: string) =>
      new RegExp(`<[^>]*[?&](?:starting_after|ending_before)=([^>&]*)>; rel="${rel}"`).exec(link)?.[1];
    return { has_more, ids: data.map((each) => each.id), next: cursorOf("next"), prev: cursorOf("prev") };
  };
  const newest = (number: number) => `att_7zzz${String(number).padStart(22, "0")}`;
  const oldest = (number: number) => `att_0000${String(number).padStart(22, "0")}`;
  // From the newest file, whose number is MOST + 100.
  const first = await page("");
  assert.deepEqual(first, { has_more: true, ids: [], next: newest(101), prev: undefined });
  const second = await page(`&starting_after=${first.next}`);
  assert.deepEqual(second, { has_more: true, ids: [id], next: oldest(202), prev: id });
  const third = await page(`&starting_after=${second.next}`);
  assert.deepEqual(third, { has_more: false, ids: [], next: undefined, prev: undefined });
  const up = await page(`&ending_before=${oldest(0)}`);
  assert.deepEqual(up, { has_more: true, ids: [], next: oldest(MOST), prev: oldest(MOST) });
  const above = await page(`&ending_before=${up.prev}`);
  assert.deepEqual(above, { has_more: true, ids: [id], next: id, prev: newest(MOST - 101) });
  const { attachments } = new Parley({ url: server.url, token: user.token });
  for (const query of [{}, { ending_before: oldest(0) }, { limit: 1 }]) {
    const all = await Array.fromAsync(attachments.list({ ...query, q: "sought" }));
    assert.deepEqual(
      all.map((each) => each.id),
      [id],
    );
  }
  const all = await Array.fromAsync(attachments.list({ q: "other 2" }));
  assert.equal(new Set(all.map((each) => each.id)).size, all.length);
  assert.equal(
    all.length,
    2 * Array.from({ length: MOST + 100 }, (_, i) => `${i + 1}`).filter((n) => n.startsWith("2")).length,
  );
});
