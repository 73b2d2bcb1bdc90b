import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { someOf } from "../../src/core/resource/choices.ts";
import {
  anyText,
  avatarUrl,
  displayName,
  emoji,
  type Field,
  filename,
  flag,
  nameWords,
  newUsername,
  nullable,
  optional,
  phoneNumber,
  readFields,
  reference,
  searchWord,
  trueOrFalse,
  username,
} from "../../src/core/resource/fields.ts";
import { cursor, pageFields, toPageRequest } from "../../src/core/resource/page.ts";
import { holds } from "../support/property.ts";

const ID = "con_01h455vb4pex5vsknk084sn02q";
const fields = (given: Record<string, unknown>) => new Map(Object.entries(given));
const limit = pageFields("con").limit;

/** Returns a URL of this length. */
const url = (length: number, fill = "x") => `https://a.example/${fill.repeat(length - 18)}`;

const ACCEPTED: Record<string, { field: Field<unknown>; values: unknown[] }> = {
  username: {
    field: username,
    values: ["a", "Ada Lovelace", "😀", "x".repeat(128), "😀".repeat(128), "é", "a\u200bb", "__proto__", "а"],
  },
  phone_number: {
    field: phoneNumber,
    values: [
      "123",
      "+1 (555) 010-0100",
      `123${"-".repeat(61)}`,
      `123${"😀".repeat(61)}`,
      " 123 ",
      "１２３",
      "٣٤٥",
      "+۹۸ ۲۱",
      "tel:911",
    ],
  },
  display_name: {
    field: displayName,
    values: ["a", " a ", "x".repeat(128), "😀".repeat(128), "👩‍👩‍👧", null],
  },
  avatar_url: {
    field: avatarUrl,
    values: [
      "http://a.example",
      "https://a.example/b.png?c=d#e",
      "HTTPS://A.example/",
      "http://[::1]:8080/a",
      "https://bücher.example/ü",
      url(2048),
      url(2048, "😀"),
      null,
    ],
  },
  filename: { field: filename, values: ["a", ".hidden", "...", "é".repeat(127), "x".repeat(255), " a "] },
  cursor: { field: cursor("con"), values: [ID, `con_${"0".repeat(26)}`] },
  file_cursor: { field: cursor("att"), values: [ID.replace("con", "att")] },
  q: { field: nameWords, values: ["", " ", "a", "x".repeat(255), "😀".repeat(255), "a ".repeat(32)] },
  anyText: { field: anyText, values: ["", " ", "x".repeat(10_000)] },
};

for (const [name, { field, values }] of Object.entries(ACCEPTED)) {
  for (const value of values) {
    test(`${name} accepts ${JSON.stringify(value).slice(0, 50)} unchanged`, () => {
      assert.deepEqual(readFields({ [name]: field }, fields({ [name]: value })), { [name]: value });
    });
  }
}

function fits(schema: Field<unknown>["schema"], value: unknown): boolean {
  const type = value === null ? "null" : "string";
  if (![schema.type].flat().includes(type)) return false;
  if (value === null) return true;
  const { minLength = 0, maxLength = Infinity, pattern = "" } = schema;
  const length = [...String(value)].length;
  return (
    length >= Number(minLength) && length <= Number(maxLength) && RegExp(String(pattern)).test(String(value))
  );
}

for (const [name, { field, values }] of Object.entries(ACCEPTED)) {
  test(`the schema of ${name} accepts what the field accepts`, () => {
    for (const value of values) assert.ok(fits(field.schema, value), JSON.stringify(value));
  });
}

test("an id used only for lookup may be any text", () => {
  for (const value of ["", "no id", ID, "x".repeat(10_000)])
    assert.equal(reference("cnv").parse(value), value);
});

test("an empty display_name means none", () => assert.equal(displayName.parse(""), null));

test("bidi controls are removed from a filename", () => assert.equal(filename.parse("a\u202eb"), "ab"));

test("a flag is set by the value 1", () => assert.equal(flag.parse("1"), true));

test("a boolean is true or false", () => {
  for (const value of [true, false]) {
    assert.equal(trueOrFalse.parse(value), value);
    assert.equal(trueOrFalse.fromText?.(String(value)), value);
  }
  for (const text of ["", "TRUE", "yes", "1", "0", " true"])
    assert.equal(trueOrFalse.fromText?.(text), undefined);
});

test("a limit is a number from 1 to 100", () => {
  const taken = ["1", "2", "10", "99", "100"].map((value) => limit.parse(value));
  assert.deepEqual(taken, [1, 2, 10, 99, 100]);
});

const WRONG_TYPES = [1, 0, 123, true, false, [], ["a"], {}, { a: 1 }];
const UNCLEAN = ["a\0b", "abc\n", "\u0085abc", "ab\x7f", "\ud83dabc", "abc\ude00"];

const REFUSED: Record<string, { field: Field<unknown>; accepts: string; values: unknown[] }> = {
  emoji: {
    field: emoji,
    accepts: "one visible character other than a full stop, such as an emoji, of at most 64 bytes of UTF-8",
    values: [".", "..", "", "ab", 1],
  },
  username: {
    field: username,
    accepts: "a string of 1 to 128 characters without control characters and without a space at either end",
    values: ["", " ", " a", "a ", "\u00a0a", "a\u3000", "x".repeat(129), "😀".repeat(129), null],
  },
  phone_number: {
    field: phoneNumber,
    accepts: "a string of 3 to 64 characters with at least 3 digits, without control characters",
    values: ["", "12", "12-", "ab12", "+--", "٣٤", `123${"-".repeat(62)}`, `123${"😀".repeat(62)}`, null],
  },
  word: {
    field: searchWord,
    accepts: "a string of 1 to 128 characters without control characters",
    values: ["", "x".repeat(129), "😀".repeat(129), null],
  },
  display_name: {
    field: displayName,
    accepts: "a string of 0 to 128 characters without control characters",
    values: ["x".repeat(129), "😀".repeat(129)],
  },
  avatar_url: {
    field: avatarUrl,
    accepts: "an http or https URL of at most 2048 characters",
    values: [
      "",
      "a.example",
      "//a.example",
      "/a.png",
      "https://",
      "http://a b.example",
      "https://a.example/ b",
      " https://a.example",
      "https://a.example ",
      "https://a.example:99999",
      "ftp://a.example",
      "javascript:alert(1)",
      "data:image/png,x",
      "httpsx://a.example",
      url(2049),
      url(2049, "😀"),
    ],
  },
  filename: {
    field: filename,
    accepts: '1 to 255 bytes of UTF-8 without "/", "\\" or control characters, and not "." or ".."',
    values: ["", ".", "..", "a/b", "a\\b", "\u202e", "x".repeat(256), "é".repeat(128), null],
  },
  download: { field: flag, accepts: '"1"', values: ["", "0", "2", "true", "11", " 1", null] },
  id: { field: anyText, accepts: "a string", values: [null] },
  conversation_id: { field: reference("cnv"), accepts: "an id (cnv_…)", values: [null] },
  q: {
    field: nameWords,
    accepts: "a string of 0 to 255 characters without control characters, at most 32 words",
    values: ["x".repeat(256), "😀".repeat(256), "a ".repeat(33), "ﷺ".repeat(11), null],
  },
  active: {
    field: trueOrFalse,
    accepts: "true or false, in JSON without quotes",
    values: ["", "true", "false", null],
  },
  starting_after: {
    field: cursor("con"),
    accepts: "the id of an item in this list (con_…)",
    values: ["", "x", ID.replace("con", "att"), ID.toUpperCase(), `${ID}0`, ID.slice(0, -1), ` ${ID}`, null],
  },
  limit: {
    field: limit,
    accepts: "a whole number from 1 to 100",
    values: [
      ...["", "0", "000", "101", "999", "1000", "-1", "+1"],
      ...["1.0", "1e1", "0x1", " 1", "ten", "١", "NaN", null],
    ],
  },
};

for (const [name, { field, accepts, values }] of Object.entries(REFUSED)) {
  for (const value of [...values, ...WRONG_TYPES, ...UNCLEAN]) {
    if (field === trueOrFalse && typeof value === "boolean") continue;
    test(`${name} refuses ${JSON.stringify(value).slice(0, 50)}, and says what is accepted`, () => {
      assert.throws(() => readFields({ [name]: field }, fields({ [name]: value })), {
        name: "ParleyError",
        code: "invalid_parameter",
        param: name,
        message: `${name} must be ${accepts}.`,
      });
    });
  }
}

const contact = { username, phone_number: phoneNumber, display_name: optional(displayName) };

test("present fields are read by name", () => {
  const given = { display_name: "Ada", phone_number: "123", username: "ada" };
  assert.deepEqual(readFields(contact, fields(given)), given);
});

test("a missing optional field is left out", () => {
  const read = readFields(contact, fields({ username: "ada", phone_number: "123" }));
  assert.equal(Object.hasOwn(read, "display_name"), false);
});

test("a present optional field is validated", () => {
  assert.throws(
    () => readFields(contact, fields({ username: "ada", phone_number: "123", display_name: 1 })),
    { code: "invalid_parameter", param: "display_name" },
  );
});

test("a missing required field is named, with what it accepts", () => {
  assert.throws(() => readFields(contact, fields({ username: "ada" })), {
    name: "ParleyError",
    code: "missing_parameter",
    param: "phone_number",
    message:
      "phone_number is required. It must be a string of 3 to 64 characters with at least 3 digits, without control characters.",
  });
});

test("null for a required field is refused as invalid, not as missing", () => {
  assert.throws(() => readFields(contact, fields({ username: null, phone_number: "123" })), {
    code: "invalid_parameter",
    param: "username",
  });
});

for (const name of [
  "usernam",
  "Username",
  "id",
  "",
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
]) {
  test(`the unknown field ${JSON.stringify(name)} is named, with the accepted fields`, () => {
    const given = new Map([
      ["username", "ada"],
      ["phone_number", "123"],
      [name, "x"],
    ]);
    assert.throws(() => readFields(contact, given), {
      name: "ParleyError",
      code: "unknown_parameter",
      param: name,
      message:
        `${JSON.stringify(name)} is unknown or read-only. ` +
        "Accepted fields: username, phone_number, display_name.",
    });
  });
}

test("a request without fields says that it accepts none", () => {
  assert.deepEqual(readFields({}, new Map()), {});
  assert.throws(() => readFields({}, fields({ a: "1" })), {
    code: "unknown_parameter",
    message: '"a" is unknown or read-only. No fields are accepted.',
  });
});

test("a field in the wrong place is refused for that place", () => {
  for (const [shape, list] of [
    [{}, "No fields are accepted in the query."],
    [{ username }, "Accepted fields in the query: username."],
  ] as const) {
    assert.throws(() => readFields(shape, fields({ a: "1" }), " in the query"), {
      message: `"a" is unknown or read-only. ${list}`,
    });
  }
});

test("a nullable field reads null as none, and stays required", () => {
  const field = nullable(username);
  assert.equal(field.parse(null), null);
  assert.equal(field.parse("ada"), "ada");
  assert.equal(field.parse(undefined), undefined);
  assert.throws(() => readFields({ field }, new Map()), { code: "missing_parameter" });
  assert.deepEqual(readFields({ field: nullable(optional(username)) }, new Map()), {});
});

const page = (given: Record<string, unknown>) => toPageRequest(readFields(pageFields("con"), fields(given)));

test("a page has 10 items by default", () => {
  assert.equal(page({}).limit, 10);
  assert.equal(page({ limit: "3" }).limit, 3);
});

test("a page accepts one cursor of the same kind", () => {
  assert.deepEqual(page({ starting_after: ID }), { cursor: ID, newer: false, limit: 10 });
  assert.deepEqual(page({ ending_before: ID, limit: "1" }), { cursor: ID, newer: true, limit: 1 });
  for (const name of ["starting_after", "ending_before"]) {
    assert.throws(() => page({ [name]: ID.replace("con", "att") }), {
      code: "invalid_parameter",
      param: name,
    });
  }
});

test("a page refuses two cursors", () => {
  assert.throws(() => page({ starting_after: ID, ending_before: ID }), {
    name: "ParleyError",
    code: "invalid_parameter",
    param: "ending_before",
    message: "Send starting_after or ending_before, not both.",
  });
});

/** Invisible code points, as listed by the Unicode standard: first and last of each range. */
const INVISIBLE: [first: number, last: number][] = [
  ...([0x20, 0xa0, 0xad, 0x34f, 0x61c, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x2800, 0x3000] as const).map(
    (point): [number, number] => [point, point],
  ),
  ...([0x3164, 0xfeff, 0xffa0] as const).map((point): [number, number] => [point, point]),
  [0x115f, 0x1160],
  [0x17b4, 0x17b5],
  [0x180b, 0x180f],
  [0x2000, 0x200f],
  [0x202a, 0x202e],
  [0x2060, 0x206f],
  [0xfe00, 0xfe0f],
  [0xfff0, 0xfffb],
  [0x1bca0, 0x1bca3],
  [0x1d173, 0x1d17a],
  [0xe0000, 0xe0fff],
];
const invisible = fc
  .constantFrom(...INVISIBLE)
  .chain(([first, last]) => fc.integer({ min: first, max: last }))
  .map((point) => String.fromCodePoint(point));
const invisibles = fc.array(invisible, { maxLength: 20 }).map((all) => all.join(""));

test("a new username needs a visible character, anywhere among invisible ones", () =>
  holds(
    fc.property(
      invisibles,
      fc.constantFrom("a", "é", "字", "😀", "-", "٣", "\u0301"),
      invisibles,
      (a, mark, b) => {
        assert.equal(newUsername.parse(a + b), undefined);
        const name = (a + mark + b).trim();
        assert.equal(newUsername.parse(name), name);
        assert.equal(newUsername.parse(` ${name}`), undefined, "the rules of all usernames hold as well");
      },
    ),
  ));

test("lists of names are separated by commas or spaces, or arrays, and refuse unknown names", () => {
  const known = ["a", "b", "c"] as const;
  for (const value of ["a,c", "c,a", "a c", " a , c ", "a,\tc", "a,c,a", ["c", "a"]])
    assert.deepEqual(someOf(known, value), ["a", "c"], JSON.stringify(value));
  for (const value of ["", "a,", ",a", "a,,c", "a;c", "a,d", "A", [], ["a,c"], ["a", 1], null, 1])
    assert.equal(someOf(known, value), undefined, JSON.stringify(value));
});
