import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { decodeUtf8, parseForm, parseJson } from "../../src/http/protocol/bodies.ts";
import { holds } from "../support/property.ts";

const malformed = { name: "ParleyError", code: "malformed_body" };
const TROUBLESOME = [
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "hasOwnProperty",
  "",
  " ",
  "1",
  "a.b",
  "a[]",
];

const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 20 }),
  fc.constantFrom(...TROUBLESOME, "a&b=c", "100%", "a+b", "%41", "\u0000", "\ufeff", "😀"),
);
const names = fc.uniqueArray(text, { maxLength: 8 });

function refusesRepeat(name: string) {
  return { name: "ParleyError", code: "repeated_parameter", param: name };
}

test("a form round-trips the fields that URLSearchParams wrote", () =>
  holds(
    fc.property(names, fc.array(text, { minLength: 8, maxLength: 8 }), (keys, values) => {
      const fields = keys.map((key, i): [string, string] => [key, values[i]!]);
      assert.deepEqual([...parseForm(new URLSearchParams(fields).toString())], fields);
    }),
  ));

test("a form round-trips the fields that encodeURIComponent wrote", () =>
  holds(
    fc.property(names, text, (keys, value) => {
      const form = keys.map((key) => `${encodeURIComponent(key)}=${encodeURIComponent(value)}`).join("&");
      assert.deepEqual(
        [...parseForm(form)],
        keys.map((key) => [key, value]),
      );
    }),
  ));

const FORMS: [form: string, fields: [string, string][]][] = [
  ["", []],
  ["&", []],
  [
    "a=1&&b=2&",
    [
      ["a", "1"],
      ["b", "2"],
    ],
  ],
  ["a", [["a", ""]]],
  ["a=", [["a", ""]]],
  ["=a", [["", "a"]]],
  ["=", [["", ""]]],
  ["a=b=c", [["a", "b=c"]]],
  ["a+b+c=d+e+f", [["a b c", "d e f"]]],
  ["a=%2B%20%26%3d", [["a", "+ &="]]],
  ["a=1;b=2", [["a", "1;b=2"]]],
  ["a=ä", [["a", "ä"]]],
  ["a=%F0%9F%98%80", [["a", "😀"]]],
  [
    "a[]=1&a[b]=2",
    [
      ["a[]", "1"],
      ["a[b]", "2"],
    ],
  ],
  [
    "a=1&A=2",
    [
      ["a", "1"],
      ["A", "2"],
    ],
  ],
];

for (const [form, fields] of FORMS) {
  test(`the form ${JSON.stringify(form)} has the fields ${JSON.stringify(fields)}`, () =>
    assert.deepEqual([...parseForm(form)], fields));
}

for (const broken of [
  "%",
  "%4",
  "%zz",
  "%C3",
  "%ff",
  "%ED%A0%80",
  "%C0%AF",
  "%u0041",
  "100%",
  "%F4%90%80%80",
]) {
  test(`a form with ${broken} is malformed, in a name and in a value`, () => {
    assert.throws(() => parseForm(`a=1&${broken}=x`), malformed);
    assert.throws(() => parseForm(`a=1&b=x${broken}`), malformed);
  });
}

test("malformed encoding in a query is reported as the fault of the request", () => {
  assert.throws(() => parseForm("a=%", "invalid_parameter"), {
    name: "ParleyError",
    code: "invalid_parameter",
  });
  assert.throws(() => parseForm("%=a", "invalid_parameter"), {
    name: "ParleyError",
    code: "invalid_parameter",
  });
});

const percent = (text: string) =>
  Array.from(Buffer.from(text), (byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");

test("a duplicate name in a form is found in any spelling", () =>
  holds(
    fc.property(names, fc.nat(7), fc.nat(8), fc.boolean(), (keys, at, to, encoded) => {
      fc.pre(keys.length > 0);
      const name = keys[at % keys.length]!;
      const pairs = keys.map((key) => `${encodeURIComponent(key)}=1`);
      pairs.splice(to % (pairs.length + 1), 0, `${encoded ? percent(name) : encodeURIComponent(name)}=2`);
      assert.throws(() => parseForm(pairs.join("&")), refusesRepeat(name));
    }),
  ));

test("a duplicate name in a form is found without a value and with either spelling of a space", () => {
  assert.throws(() => parseForm("a&a"), refusesRepeat("a"));
  assert.throws(() => parseForm("a=&a"), refusesRepeat("a"));
  assert.throws(() => parseForm("a+b=1&a%20b=2"), refusesRepeat("a b"));
});

const object = names.chain((keys) =>
  fc.tuple(...keys.map((key) => fc.tuple(fc.constant(key), fc.jsonValue({ maxDepth: 3 })))),
);

test("JSON round-trips nested members", () =>
  holds(
    fc.property(object, fc.constantFrom(undefined, 2, "\t\r\n "), (members, space) => {
      const json = JSON.stringify(Object.fromEntries(members), null, space);
      const fields = parseJson(json);
      assert.equal(fields.size, members.length);
      for (const [name, value] of members) {
        assert.equal(JSON.stringify(fields.get(name)), JSON.stringify(value));
      }
    }),
  ));

const TOPS = ["[]", '[{"a":1}]', "null", "true", "1", '"a"', '"{}"', "-0.5e3"];

for (const json of TOPS) {
  test(`the JSON ${json} is refused: a body must be an object`, () =>
    assert.throws(() => parseJson(json), { ...malformed, message: "The body must be a JSON object." }));
}

const NO_JSON = [
  " ",
  "{",
  "{}x",
  "{}{}",
  "{a:1}",
  "{'a':1}",
  '{"a":1,}',
  '{"a":01}',
  '{"a":NaN}',
  '{"a":"\t"}',
];

test("an empty body is an object without members", () => {
  assert.equal(parseJson("").size, 0);
});

for (const json of [...NO_JSON, '{"a":"\\x41"}', '{"a"}', "a=1", "// a\n{}", "undefined", '{"a":1}\u00a0']) {
  test(`${JSON.stringify(json)} is refused: it is not JSON`, () =>
    assert.throws(() => parseJson(json), {
      ...malformed,
      message: /^The body is not valid JSON: expected .+ at line \d+, column \d+\.$/,
    }));
}

const REPEATED: [json: string, name: string][] = [
  ['{"a":1,"a":1}', "a"],
  ['{"a":1,"\\u0061":2}', "a"],
  ['{"\\u0061":1,"a":2}', "a"],
  ['{"é":1,"\\u00e9":2}', "é"],
  ['{"😀":1,"\\ud83d\\uDE00":2}', "😀"],
  ['{"\\"":1,"\\u0022":2}', '"'],
  ['{"\\\\":1,"\\u005c":2}', "\\"],
  ['{"/":1,"\\/":2}', "/"],
  ['{"":1,"":2}', ""],
  ['{"__proto__":1,"__proto__":2}', "__proto__"],
  ['{"a" \t\r\n :1,"b":2,"a"\n:3}', "a"],
  ['{"a":{"x":[{}]},"b":[[]],"a":2}', "a"],
  ['{"a":"}","a":"{"}', "a"],
  ['{"a":"\\"","a":1}', "a"],
  ['{"a":"\\\\","a":1}', "a"],
  ['{"a":null,"a":null}', "a"],
];

for (const [json, name] of REPEATED) {
  test(`a duplicate name is found in ${json}`, () =>
    assert.throws(() => parseJson(json), refusesRepeat(name)));
}

const unicode = (text: string) =>
  Array.from(
    { length: text.length },
    (_, i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, "0")}`,
  ).join("");

test("a duplicate name in JSON is found in any spelling and position", () =>
  holds(
    fc.property(object, fc.nat(7), fc.nat(8), fc.boolean(), (members, at, to, encoded) => {
      fc.pre(members.length > 0);
      const [name] = members[at % members.length]!;
      const pairs = members.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`);
      pairs.splice(to % (pairs.length + 1), 0, `${encoded ? `"${unicode(name)}"` : JSON.stringify(name)} :1`);
      assert.throws(() => parseJson(`{${pairs.join(",")}}`), refusesRepeat(name));
    }),
  ));

const DIFFERENT = [
  '{"a":1,"A":2}',
  '{"a":{"b":1},"b":1}',
  '{"a":{"x":1},"b":{"x":1},"x":1}',
  '{"a":[{"a":1},{"a":1}]}',
  '{"a":"b","b":"a"}',
  '{"a":"\\"b\\":","b":1}',
  '{"a":"{\\"b\\":1","b":1}',
  '{"a":["b","b"],"b":1}',
];

for (const json of DIFFERENT) {
  test(`no duplicate name is found in ${json}`, () =>
    assert.deepEqual(Object.fromEntries(parseJson(json)), JSON.parse(json)));
}

test("names of Object.prototype are ordinary field names and change no object", () => {
  const json = parseJson(
    '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"a":1}',
  );
  const form = parseForm("__proto__=x&constructor=y&__proto__[polluted]=z&toString=w");
  assert.deepEqual([...json.keys()], ["__proto__", "constructor", "a"]);
  assert.deepEqual([...form.keys()], ["__proto__", "constructor", "__proto__[polluted]", "toString"]);
  assert.equal(JSON.stringify(json.get("__proto__")), '{"polluted":true}');
  assert.equal(form.get("__proto__"), "x");
  assert.equal("polluted" in {}, false);
  assert.equal("polluted" in Object, false);
});

test("a missing field is absent, even if objects inherit its name", () => {
  for (const fields of [parseJson("{}"), parseForm("")]) {
    for (const name of TROUBLESOME) {
      assert.equal(fields.has(name), false);
      assert.equal(fields.get(name), undefined);
    }
  }
});

test("UTF-8 is decoded, and invalid UTF-8 is malformed", () => {
  for (const each of ["", "plain", "é日本語😀", "\u0000", "\uffff"]) {
    assert.equal(decodeUtf8(Buffer.from(each)), each);
  }
  const broken = [
    "\xff",
    "\x80",
    "\xc3",
    "a\xc3(",
    "\xc0\xaf",
    "\xed\xa0\x80",
    "\xf4\x90\x80\x80",
    "\xe2\x82",
    "\xf0\x9f\x98",
  ];
  for (const each of broken) assert.throws(() => decodeUtf8(Buffer.from(each, "latin1")), malformed);
});
