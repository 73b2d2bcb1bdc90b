import assert from "node:assert/strict";
import { test } from "node:test";
import {
  call,
  contact,
  contacts,
  faulty,
  form,
  fresh,
  isNow,
  json,
  location,
  newContact,
  problem,
  unknownLike,
} from "../client.ts";

test("creating a contact answers 201 with its Location and the contact, whose other fields are unset", async () => {
  const username = fresh("ada");
  const reply = await call("POST", "/v1/contacts", form({ username, phone_number: "+44 20 7946 0001" }));
  const made = contact(reply, 201);
  assert.equal(location(reply), `/v1/contacts/${made.id}`);
  assert.equal(made.username, username);
  assert.equal(made.phone_number, "+44 20 7946 0001");
  assert.equal(made.avatar_url, null);
  assert.equal(made.display_name, null);
  assert.equal(made.last_active_at, null);
  isNow(made.created_at);
});

test("a new contact keeps every field", async () => {
  const given = {
    username: fresh("grace"),
    phone_number: "(555) 010-2299",
    avatar_url: "https://example.com/a%20b.png?size=2#x",
    display_name: "Grace “Amazing” Hopper 👩‍💻",
  };
  const made = await newContact(given);
  assert.deepEqual({ ...made, ...given }, made);
});

test("form and JSON bodies create the same contact", async () => {
  const given = {
    phone_number: "+1 555 010 (77) & 8=9",
    avatar_url: "http://example.com/?a=1&b=2+3",
    display_name: "100% + ümlaut = 名前",
  };
  const one = contact(await call("POST", "/v1/contacts", form({ username: fresh("form"), ...given })), 201);
  const two = contact(await call("POST", "/v1/contacts", json({ username: fresh("json"), ...given })), 201);
  for (const made of [one, two]) assert.deepEqual({ ...made, ...given }, made);
});

test("in a form, a plus is a space and %2B is a plus", async () => {
  const body = form(`username=${fresh("plus")}&phone_number=%2B1+555+0100&display_name=a+b%2Bc`);
  const made = contact(await call("POST", "/v1/contacts", body), 201);
  assert.equal(made.phone_number, "+1 555 0100");
  assert.equal(made.display_name, "a b+c");
});

test("content types are compared without case and parameters", async () => {
  const fields = () => ({ username: fresh("type"), phone_number: "5550100" });
  const ways: [string, string][] = [
    ["application/x-www-form-urlencoded; charset=UTF-8", new URLSearchParams(fields()).toString()],
    ["Application/X-WWW-Form-Urlencoded", new URLSearchParams(fields()).toString()],
    ["application/json; charset=utf-8", JSON.stringify(fields())],
    ["APPLICATION/JSON", JSON.stringify(fields())],
  ];
  for (const [type, body] of ways) {
    contact(await call("POST", "/v1/contacts", { headers: { "content-type": type }, body }), 201);
  }
});

test("a retrieved contact equals the created one", async () => {
  const made = await newContact({ display_name: "Ada" });
  assert.deepEqual(contact(await call("GET", `/v1/contacts/${made.id}`)), made);
});

test("every contact has its own conversation", async () => {
  const [one, two] = [await newContact(), await newContact()];
  assert.notEqual(one.conversation_id, two.conversation_id);
});

for (const [encoding, body] of [
  ["a form", form],
  ["JSON", json],
] as const) {
  test(`an update by ${encoding} changes only display_name`, async () => {
    const made = await newContact({ display_name: "before", avatar_url: "https://example.com/a.png" });
    const reply = await call("PUT", `/v1/contacts/${made.id}`, body({ display_name: "after" }));
    assert.deepEqual(contact(reply), { ...made, display_name: "after" });
    assert.deepEqual(contact(await call("GET", `/v1/contacts/${made.id}`)), {
      ...made,
      display_name: "after",
    });
  });
}

test("an update without fields changes nothing and answers 200", async () => {
  const made = await newContact({ display_name: "stays" });
  for (const options of [{}, form({}), json({})]) {
    assert.deepEqual(contact(await call("PUT", `/v1/contacts/${made.id}`, options)), made);
  }
});

test("an empty display_name unsets it, and reads null", async () => {
  const made = await newContact({ display_name: "" });
  assert.equal(made.display_name, null);
  const named = contact(await call("PUT", `/v1/contacts/${made.id}`, form({ display_name: "x" })));
  assert.equal(named.display_name, "x");
  const cleared = contact(await call("PUT", `/v1/contacts/${made.id}`, form({ display_name: "" })));
  assert.equal(cleared.display_name, null);
});

test("JSON null unsets display_name and avatar_url", async () => {
  const body = { username: fresh("null"), phone_number: "5550100", display_name: null, avatar_url: null };
  const made = contact(await call("POST", "/v1/contacts", json(body)), 201);
  assert.equal(made.display_name, null);
  assert.equal(made.avatar_url, null);
  await call("PUT", `/v1/contacts/${made.id}`, json({ display_name: "x" }));
  const cleared = contact(await call("PUT", `/v1/contacts/${made.id}`, json({ display_name: null })));
  assert.equal(cleared.display_name, null);
});

for (const field of ["username", "phone_number"]) {
  test(`JSON null for ${field} is 400 naming it`, async () => {
    const body = { username: fresh("null"), phone_number: "5550100", [field]: null };
    faulty(await call("POST", "/v1/contacts", json(body)), field);
  });
}

for (const field of ["id", "username", "phone_number", "avatar_url", "conversation_id", "created_at"]) {
  test(`an update of ${field} is 400 naming it and changes nothing`, async () => {
    const made = await newContact({ display_name: "before" });
    const body = { display_name: "after", [field]: "5550199" };
    for (const options of [form(body), json(body)]) {
      const { detail } = faulty(await call("PUT", `/v1/contacts/${made.id}`, options), field);
      assert.match(detail, /display_name/, "the detail should say what is accepted");
    }
    assert.deepEqual(contact(await call("GET", `/v1/contacts/${made.id}`)), made);
  });
}

test("deleting a contact answers 204 without a body, and a second delete is 404", async () => {
  const made = await newContact();
  const reply = await call("DELETE", `/v1/contacts/${made.id}`);
  assert.equal(reply.status, 204);
  assert.equal(reply.bytes.length, 0);
  assert.equal(reply.headers.get("content-type"), null);
  problem(await call("DELETE", `/v1/contacts/${made.id}`), 404);
  problem(await call("GET", `/v1/contacts/${made.id}`), 404);
  problem(await call("PUT", `/v1/contacts/${made.id}`, form({ display_name: "x" })), 404);
  const newest = contacts(await call("GET", "/v1/contacts?limit=100")).data;
  assert.ok(!newest.some(({ id }) => id === made.id));
});

test("a username already in the list is 409 contact_exists with the existing id", async () => {
  const made = await newContact({ display_name: "first" });
  const again = { username: made.username, phone_number: "5550199", display_name: "second" };
  for (const options of [form(again), json(again)]) {
    const { existing_id } = problem(await call("POST", "/v1/contacts", options), 409, "contact_exists");
    assert.equal(existing_id, made.id);
  }
  assert.deepEqual(contact(await call("GET", `/v1/contacts/${made.id}`)), made);
});

test("usernames are compared without case and in compatible forms", async () => {
  const end = fresh("");
  const pairs: [string, string][] = [
    ["ada", "ADA"],
    ["ｆｕｌｌ", "full"],
    ["ﬁne", "FINE"],
    ["zoe\u0308", "ZOË"],
    ["\u212Aelvin", "kelvin"],
    ["ЖУК", "жук"],
  ];
  for (const [one, two] of pairs) {
    const made = await newContact({ username: one + end });
    assert.equal(made.username, one + end, "the username is kept as given");
    const reply = await call("POST", "/v1/contacts", form({ username: two + end, phone_number: "5550100" }));
    assert.equal(problem(reply, 409, "contact_exists").existing_id, made.id, `${one} and ${two}`);
  }
});

test("usernames that only look or sound alike are different", async () => {
  const end = fresh("");
  for (const word of ["strasse", "straße", "zoe", "zoë", "a b", "a  b", "ab", "аb", "ı", "i"]) {
    const made = await newContact({ username: word + end });
    assert.equal(made.username, word + end);
  }
});

test("two contacts may have the same phone number", async () => {
  const phone_number = "+49 30 5550100";
  const [one, two] = [await newContact({ phone_number }), await newContact({ phone_number })];
  assert.notEqual(one.id, two.id);
});

test("a deleted contact can be added again, as a new contact with a new conversation", async () => {
  const made = await newContact();
  await call("DELETE", `/v1/contacts/${made.id}`);
  const again = await newContact({ username: made.username });
  assert.notEqual(again.id, made.id);
  assert.notEqual(again.conversation_id, made.conversation_id);
});

test("concurrent creates of the same username make one contact, and the others are 409", async () => {
  const fields = { username: fresh("race"), phone_number: "5550100" };
  const replies = await Promise.all(
    Array.from({ length: 8 }, () => call("POST", "/v1/contacts", form(fields))),
  );
  const made = replies.filter(({ status }) => status === 201).map((reply) => contact(reply, 201));
  assert.equal(made.length, 1);
  for (const reply of replies.filter(({ status }) => status !== 201)) {
    assert.equal(problem(reply, 409, "contact_exists").existing_id, made[0]?.id);
  }
});

test("a malformed id answers like an unknown one", async () => {
  const made = await newContact();
  const ids = [
    unknownLike(made.id),
    "nonsense",
    "con_",
    made.id.toUpperCase(),
    `${made.id}0`,
    "con_%F0%9F%98%80",
    "1",
  ];
  ids.push(made.conversation_id, "x".repeat(3000));
  const bodies = new Set<string>();
  for (const id of ids) {
    for (const method of ["GET", "PUT", "DELETE"]) {
      const { request_id, ...rest } = problem(await call(method, `/v1/contacts/${id}`), 404);
      assert.ok(request_id);
      bodies.add(JSON.stringify(rest));
    }
  }
  assert.equal(bodies.size, 1, [...bodies].join("\n"));
});

test("HEAD answers like GET without a body", async () => {
  const made = await newContact();
  const path = `/v1/contacts/${made.id}`;
  const [head, got] = [await call("HEAD", path), await call("GET", path)];
  assert.equal(head.status, 200);
  assert.equal(head.bytes.length, 0);
  for (const name of ["content-type", "content-length"])
    assert.equal(head.headers.get(name), got.headers.get(name));
  const list = await call("HEAD", "/v1/contacts");
  assert.equal(list.status, 200);
  assert.equal(list.bytes.length, 0);
  assert.equal((await call("HEAD", `/v1/contacts/${unknownLike(made.id)}`)).status, 404);
});
