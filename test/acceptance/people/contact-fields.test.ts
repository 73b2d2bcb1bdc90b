import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  call,
  contact,
  faulty,
  form,
  fresh,
  json,
  me,
  newContact,
  problem,
  type Reply,
  seeded,
} from "../client.ts";

const FIELDS = ["username", "phone_number", "avatar_url", "display_name"];

function base(): Record<string, string> {
  return { username: fresh("field"), phone_number: "+1 555 0100" };
}

/** Returns `count` code points of two UTF-16 units and four bytes each. */
function faces(count: number): string {
  return "😀".repeat(count);
}

/** Returns a unique name of exactly `count` code points. */
function unique(count: number, fill = "n"): string {
  const head = fresh("");
  return head + fill.repeat(count - head.length);
}

async function create(fields: Record<string, unknown>, encode: typeof json | typeof form): Promise<Reply> {
  return call("POST", "/v1/contacts", encode(fields as Record<string, string>));
}

const accepted: [string, string, () => string][] = [
  ["username", "of 128 code points", () => unique(128)],
  ["username", "of 128 code points outside the basic plane", () => unique(128, "😀")],
  ["username", "with spaces inside", () => `a b ${fresh("")}`],
  ["username", "in right-to-left script", () => `שלום${fresh("")}`],
  ["phone_number", "of three digits", () => "112"],
  ["phone_number", "of 64 characters", () => "1".repeat(64)],
  ["phone_number", "with signs between its digits", () => "+1 (555) 010-0100 #12"],
  ["display_name", "of one character", () => "x"],
  ["display_name", "of 128 code points outside the basic plane", () => faces(128)],
  ["display_name", "of combined characters", () => "e\u0301👨‍👩‍👧‍👦🇩🇪"],
  ["display_name", "with markup in it", () => `<b>"&'</b> %00 \\ {{x}} ; --`],
  ["avatar_url", "with http", () => "http://example.com/a.png"],
  ["avatar_url", "with https, a port and a query", () => "https://example.com:8443/a.png?x=1&y=2"],
  ["avatar_url", "of 2,048 characters", () => `https://example.com/${"a".repeat(2048 - 20)}`],
];

for (const [field, what, value] of accepted) {
  test(`a ${field} ${what} is accepted and stored as sent`, async () => {
    for (const encode of [form, json]) {
      const fields: Record<string, string> = { ...base(), [field]: value() };
      const made = contact(await create(fields, encode), 201);
      assert.equal(made[field as "username"], fields[field]);
    }
  });
}

const refused: [string, string, () => string][] = [
  ["username", "that is empty", () => ""],
  ["username", "of 129 code points", () => unique(129)],
  ["username", "of 129 code points outside the basic plane", () => unique(129, "😀")],
  ["username", "that begins with a space", () => ` ${fresh("x")}`],
  ["username", "that ends with a space", () => `${fresh("x")} `],
  ["username", "of a space alone", () => " "],
  ["username", "with @ before it", () => "@ada"],
  ["username", "with a wide @ before it", () => "＠ada"],
  ["username", "that is the id of a user", () => "usr_01h455vb4pex5vsknk084sn02q"],
  ["phone_number", "that is empty", () => ""],
  ["phone_number", "of two digits", () => "12"],
  ["phone_number", "with only two digits among signs", () => "+1 (2) ---"],
  ["phone_number", "of 65 characters", () => "1".repeat(65)],
  ["display_name", "of 129 characters", () => "x".repeat(129)],
  ["display_name", "of 129 code points outside the basic plane", () => faces(129)],
  ["avatar_url", "that is no address", () => "picture.png"],
  ["avatar_url", "without a scheme", () => "//example.com/a.png"],
  ["avatar_url", "without a host", () => "http://"],
  ["avatar_url", "with ftp", () => "ftp://example.com/a.png"],
  ["avatar_url", "with javascript", () => "javascript:alert(1)"],
  ["avatar_url", "with data", () => "data:image/png;base64,AAAA"],
  ["avatar_url", "of 2,049 characters", () => `https://example.com/${"a".repeat(2049 - 20)}`],
];

for (const [field, what, value] of refused) {
  test(`a ${field} ${what} is 400 naming it, in a form and in JSON`, async () => {
    const [one, two] = [form, json].map((encode) => create({ ...base(), [field]: value() }, encode));
    const { request_id: first, ...a } = faulty(await one!, field);
    const { request_id: other, ...b } = faulty(await two!, field);
    assert.deepEqual(a, b);
    assert.notEqual(first, other);
  });
}

test("a contact of your own username is refused", async () => {
  const { username } = await me();
  for (const name of [username, username.toUpperCase()]) {
    const { detail } = faulty(await create({ ...base(), username: name }, json), "username");
    assert.match(detail, /your own/);
  }
});

const ILL: [string, string][] = [
  ["NUL", "\0"],
  ["a line feed", "\n"],
  ["a tab", "\t"],
  ["U+0001", "\u0001"],
  ["DEL", "\u007f"],
  ["a control character of the C1 range", "\u0085"],
];

for (const field of FIELDS) {
  const value = field === "avatar_url" ? "https://example.com/a" : "12345";
  test(`${field} with a control character anywhere in it is 400 invalid_parameter`, async () => {
    for (const [what, character] of ILL) {
      for (const text of [`${value}${character}6`, `${value}${character}`, `${character}${value}`]) {
        for (const encode of [form, json]) {
          const reply = await create({ ...base(), [field]: text }, encode);
          assert.equal(reply.status, 400, `${what} in ${JSON.stringify(text)} answered ${reply.status}`);
          faulty(reply, field, "invalid_parameter");
        }
      }
    }
  });

  test(`${field} with a lone surrogate is 400 invalid_parameter`, async () => {
    for (const half of ["\\ud83d", "\\ude00", "\\ude00\\ud83d"]) {
      const rest = Object.entries({ ...base(), [field]: "" }).filter(([name]) => name !== field);
      const body = JSON.stringify(Object.fromEntries(rest)).replace("}", `,"${field}":"${value}${half}"}`);
      faulty(await call("POST", "/v1/contacts", json(body)), field, "invalid_parameter");
    }
  });

  for (const wrong of [7, true, [], ["12345"], {}, { $ne: null }]) {
    test(`${field} as JSON ${JSON.stringify(wrong)} is 400 naming it`, async () => {
      faulty(await create({ ...base(), [field]: wrong }, json), field);
    });
  }

  test(`${field} given twice is 400 naming it, in a form and in JSON, in any spelling`, async () => {
    const fields = Object.entries({ ...base(), [field]: value });
    const pairs = [...fields, [field, value] as [string, string]];
    faulty(await call("POST", "/v1/contacts", form(new URLSearchParams(pairs).toString())), field);
    const members = fields.map(([name, text]) => `${JSON.stringify(name)}:${JSON.stringify(text)}`).join(",");
    const escaped = `\\u00${field.charCodeAt(0).toString(16)}${field.slice(1)}`;
    for (const name of [field, escaped]) {
      faulty(await call("POST", "/v1/contacts", json(`{${members},"${name}":"${value}"}`)), field);
    }
  });
}

test("display_name with a control character or lone surrogate is refused in an update, too", async () => {
  const made = await newContact({ display_name: "before" });
  const path = `/v1/contacts/${made.id}`;
  for (const [, character] of ILL) {
    faulty(
      await call("PUT", path, form({ display_name: `a${character}b` })),
      "display_name",
      "invalid_parameter",
    );
  }
  faulty(await call("PUT", path, json('{"display_name":"\\udfff"}')), "display_name", "invalid_parameter");
  faulty(await call("PUT", path, form({ display_name: faces(129) })), "display_name");
  for (const wrong of [1, false, [], {}])
    faulty(await call("PUT", path, json({ display_name: wrong })), "display_name");
  faulty(await call("PUT", path, form("display_name=a&display_name=a")), "display_name");
  assert.deepEqual(contact(await call("GET", path)), made);
});

for (const field of ["username", "phone_number"]) {
  test(`a contact without ${field} is 400 naming it`, async () => {
    const fields = Object.fromEntries(Object.entries(base()).filter(([name]) => name !== field));
    for (const encode of [form, json]) faulty(await create(fields, encode), field);
  });
}

const strangers = [
  "surprise",
  "id",
  "conversation_id",
  "last_active_at",
  "created_at",
  "user_id",
  "Username",
];

for (const field of [...strangers, "username[]", "constructor", "__proto__", "toString"]) {
  test(`the field ${field} of a new contact is 400 naming it and what is accepted`, async () => {
    const fields = JSON.stringify(base()).replace("}", `,${JSON.stringify(field)}:"x"}`);
    const pairs = new URLSearchParams([...Object.entries(base()), [field, "x"]]).toString();
    for (const options of [form(pairs), json(fields)]) {
      const { detail } = faulty(await call("POST", "/v1/contacts", options), field);
      for (const name of FIELDS) assert.ok(detail.includes(name), `"${detail}" does not name ${name}`);
    }
  });
}

test("an unknown query parameter is 400 naming it, and nothing is done", async () => {
  const made = await newContact();
  const fields = base();
  for (const name of ["surprise", "__proto__", "username[]"]) {
    const query = `${encodeURIComponent(name)}=1`;
    faulty(await call("GET", `/v1/contacts?${query}`), name);
    faulty(await call("POST", `/v1/contacts?${query}`, form(fields)), name);
    faulty(await call("GET", `/v1/contacts/${made.id}?${query}`), name);
    faulty(await call("PUT", `/v1/contacts/${made.id}?${query}`, form({ display_name: "x" })), name);
    faulty(await call("DELETE", `/v1/contacts/${made.id}?${query}`), name);
  }
  assert.deepEqual(contact(await call("GET", `/v1/contacts/${made.id}`)), made);
  contact(await call("POST", "/v1/contacts", form(fields)), 201);
});

test("fields in the query of a create do not count as fields of the body", async () => {
  problem(await call("POST", `/v1/contacts?${new URLSearchParams(base())}`, form({})), 400);
});

test("any well-formed text without control characters is returned as sent", async (t) => {
  const made = await newContact();
  const text = fc.string({ unit: "binary", minLength: 1, maxLength: 128 }).filter((s) => !/\p{Cc}/u.test(s));
  await fc.assert(
    fc.asyncProperty(text, fc.constantFrom(form, json), async (display_name, encode) => {
      const reply = await call("PUT", `/v1/contacts/${made.id}`, encode({ display_name }));
      assert.equal(contact(reply).display_name, display_name);
    }),
    { seed: seeded(t), numRuns: 60 },
  );
});

test("any JSON value as a body is answered with 200 or a clear 400", async (t) => {
  const made = await newContact();
  const value = fc.oneof(fc.jsonValue(), fc.record({ display_name: fc.jsonValue() }));
  await fc.assert(
    fc.asyncProperty(value, async (body) => {
      const reply = await call("PUT", `/v1/contacts/${made.id}`, json(body));
      if (reply.status !== 200) problem(reply, 400);
    }),
    { seed: seeded(t), numRuns: 60 },
  );
});
