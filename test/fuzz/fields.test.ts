// The fields of a contact, as a form and as JSON: taken exactly where the rules of docs/api/contacts.md take them.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isVisible } from "../support/visible.ts";
import { damage, damages, oneOf, seldom, texts } from "./damage.ts";
import { fuzz, startSubject } from "./fuzz.ts";
import { ask, json, preview } from "./wire.ts";

type Pairs = [name: string, value: unknown][];

const OTHER_NAMES = oneOf(
  "id|created_at|__proto__|constructor|toString|conversation_id||username |user\0name|é",
);
const names = oneOf("username|phone_number|display_name|avatar_url");
const values: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 3, arbitrary: texts },
  fc.constantFrom(null, true, 0, -1e308, [], {}, ["a"], { username: "a" }),
  fc.jsonValue(),
);
const phones = fc.oneof(texts, fc.constantFrom("555", "55", "٣٣٣", "５５５", "(5) 5-5", "a5b5c5"));
const urls = fc.oneof(
  texts.map((text) => `https://example.com/${text}`),
  fc.webUrl({ withQueryParameters: true, withFragments: true }),
  oneOf("javascript:alert(1)|HTTP://é.example|http://|https:x|http://[::1|//x|http://a b"),
);

/** Those that are needed, with others of all kinds. */
const someFields: fc.Arbitrary<Pairs> = fc
  .tuple(
    texts,
    phones,
    seldom(urls, 2),
    fc.array(fc.oneof(fc.tuple(names, values), fc.tuple(fc.oneof(OTHER_NAMES, texts), values)), {
      maxLength: 2,
    }),
    fc.integer({ min: 0, max: 20 }),
  )
  .map(([username, phone, url, more, left]) => {
    const all: Pairs = [
      ["username", username],
      ["phone_number", phone],
      ...(url === undefined ? [] : [["avatar_url", url] as [string, unknown]]),
    ];
    return [...all.filter((_, i) => i !== left), ...more.filter((_, i) => left % 3 > i)];
  });

/** JSON in which names may come twice, and characters may be written as escapes. */
function asJson(pairs: Pairs, escapes: boolean): string {
  const unit = (each: string) =>
    escapes && /[a-z\u0080-\uffff]/.test(each)
      ? `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`
      : JSON.stringify(each).slice(1, -1);
  const text = (value: string) =>
    escapes ? `"${value.split("").map(unit).join("")}"` : JSON.stringify(value);
  return `{${pairs.map(([name, value]) => `${JSON.stringify(name)}: ${typeof value === "string" ? text(value) : JSON.stringify(value)}`).join(",\n")}}`;
}

const textOf = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));
const encodeAll = (text: string) =>
  Buffer.from(text).reduce((all, byte) => `${all}%${byte.toString(16).padStart(2, "0")}`, "");

function asForm(pairs: Pairs, escapes: boolean): string {
  const part = (text: string) =>
    escapes ? encodeAll(text) : encodeURIComponent(text.toWellFormed()).replaceAll("%20", "+");
  return pairs.map(([name, value]) => `${part(name)}=${part(textOf(value))}`).join("&");
}

const count = (text: string) => [...text].length;
const isText = (value: unknown): value is string =>
  typeof value === "string" && value.isWellFormed() && !/\p{Cc}/u.test(value);

/** The rules, once more. A form has no null. */
const RULES: Record<string, (value: unknown) => boolean> = {
  username: (value) =>
    isText(value) &&
    count(value) >= 1 &&
    count(value) <= 128 &&
    value === value.trim() &&
    !/^\.{1,2}$/.test(value.normalize("NFKC")) &&
    isVisible(value),
  phone_number: (value) =>
    isText(value) &&
    count(value) >= 3 &&
    count(value) <= 64 &&
    count(value.normalize("NFKC").replace(/\P{Nd}/gu, "")) >= 3,
  display_name: (value) => value === null || (isText(value) && count(value) <= 128),
  avatar_url: (value) =>
    value === null ||
    (isText(value) &&
      count(value) <= 2048 &&
      !/\s/.test(value) &&
      /^https?:/i.test(value) &&
      URL.canParse(value)),
};

function isValid(pairs: Pairs): boolean {
  const given = new Set(pairs.map(([name]) => name));
  return (
    given.size === pairs.length &&
    given.has("username") &&
    given.has("phone_number") &&
    pairs.every(([name, value]) => Object.hasOwn(RULES, name) && RULES[name]!(value))
  );
}

function stored(name: string, value: unknown, isJson: boolean): unknown {
  if (name === "display_name" && value === "") return null;
  // A plus that was not encoded.
  return name === "phone_number" && !isJson ? String(value).replace(/^ (?=\p{Nd})/u, "+") : value;
}

const TYPES = ["application/json", "application/x-www-form-urlencoded"];
const OTHER_TYPES = oneOf(
  "text/plain||application/json; charset=latin1|application/jsonx|multipart/form-data; boundary=b|application/json, text/plain|\tapplication/json\t;charset=UTF-8",
);

const inputs = fc.record({
  pairs: someFields,
  json: fc.boolean(),
  escapes: fc.boolean(),
  otherType: seldom(OTHER_TYPES, 10),
  harm: seldom(damages, 3),
});

const depth = 8000;
const CASES = [
  `{"username":${"[".repeat(depth)}${"]".repeat(depth)}}`,
  `{"a":${'{"a":'.repeat(depth)}1${"}".repeat(depth)}}`,
  "&".repeat(60_000),
  "a&".repeat(30_000),
  "%".repeat(60_000),
];

test("fields are taken exactly where the rules take them, and come back as they were sent", async (t) => {
  const subject = await startSubject(t);
  const { url, mine } = subject;
  const post = (type: string, body: Buffer) =>
    ask(url, {
      method: "POST",
      target: "/v1/contacts",
      headers: { ...mine.headers, "content-type": type },
      body,
    });
  for (const text of CASES)
    for (const type of TYPES)
      assert.equal((await post(type, Buffer.from(text))).status, 400, text.slice(0, 20));

  await fuzz(t, subject, "fields", inputs, async ({ pairs, json: isJson, escapes, otherType, harm }) => {
    // A form says all as text.
    const meant: Pairs = isJson
      ? pairs
      : pairs.map(([name, value]) => [name.toWellFormed(), textOf(value).toWellFormed()]);
    const plain = Buffer.from(isJson ? asJson(meant, escapes) : asForm(meant, escapes));
    const body = damage(plain, harm ?? []);
    const answer = await post(otherType ?? TYPES[isJson ? 0 : 1]!, body);
    const about = `${answer.status} ${answer.body} to ${preview(body)}`;
    if (answer.status === 201) {
      const made = json<Record<string, never>>(answer);
      const item = { target: `/v1/contacts/${made.id}`, headers: mine.headers };
      assert.deepEqual(json(await ask(url, item)), made);
      assert.equal((await ask(url, { ...item, method: "DELETE" })).status, 204);
      if (!harm)
        for (const [name, value] of meant) assert.equal(made[name], stored(name, value, isJson), about);
    } else assert.ok([400, 413, 415].includes(answer.status), about);
    if (!harm && body.length <= 65536 && otherType === undefined)
      assert.equal(answer.status, isValid(meant) ? 201 : 400, about);
  });
});
