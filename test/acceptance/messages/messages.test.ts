import assert from "node:assert/strict";
import { test } from "node:test";
import {
  call,
  faulty,
  form,
  isNow,
  json,
  location,
  me,
  message,
  messages,
  problem,
  unknownLike,
} from "../client.ts";
import { freshConversation, newMessage, PATH, send, sendForm } from "../send.ts";

test("a message is answered 201 with its Location and all fields", async () => {
  const { id, username, conversation_id } = await me();
  const reply = await send({ text: "hello" });
  const { sender, ...made } = message(reply, 201);
  assert.equal(location(reply), `${PATH}/${made.id}`);
  assert.deepEqual([sender?.id, sender?.username], [id, username]);
  isNow(made.created_at);
  assert.deepEqual(made, {
    id: made.id,
    conversation_id,
    type: "text",
    text: "hello",
    data: null,
    attachments: [],
    mentions: [],
    reply_to_id: null,
    client_id: null,
    reactions: [],
    created_at: made.created_at,
    edited_at: null,
  });
});

test("a retrieved message equals the created one, and HEAD answers like GET without a body", async () => {
  const first = await newMessage({ text: "ä" });
  const fields = { text: "b", data: { kind: "card" }, mentions: [first.sender!.id], reply_to_id: first.id };
  const reply = await send(fields);
  const got = await call("GET", location(reply)!);
  assert.equal(got.text, reply.text);
  assert.equal(got.headers.get("etag"), reply.headers.get("etag"));
  const made = message(got);
  const head = await call("HEAD", `${PATH}/${made.id}`);
  assert.equal(head.status, 200);
  assert.equal(head.bytes.length, 0);
  assert.equal(head.headers.get("etag"), got.headers.get("etag"));
});

const TEXTS: [what: string, sent: string, kept: string][] = [
  ["one character", "x", "x"],
  ["10,000 characters", "x".repeat(10_000), "x".repeat(10_000)],
  ["10,000 characters of two units", "😀".repeat(10_000), "😀".repeat(10_000)],
  ["lines and tabs", "a\n\tb\n", "a\n\tb\n"],
  ["line ends of browsers", "a\r\nb\r\n\r\nc", "a\nb\n\nc"],
  ["10,000 characters after line ends became one", `a${"\r\n".repeat(9999)}`, `a${"\n".repeat(9999)}`],
  ["spaces around it", "  a  ", "  a  "],
  ["directions and joiners", "\u202ea\u200d\u2028b", "\u202ea\u200d\u2028b"],
];

for (const [what, sent, kept] of TEXTS) {
  test(`a text of ${what} is kept, in JSON and in a form`, async () => {
    assert.equal(message(await send({ text: sent }), 201).text, kept);
    assert.equal(message(await sendForm([["text", sent]]), 201).text, kept);
  });
}

const WRONG_TEXTS: [what: string, text: unknown][] = [
  ["10,001 characters", "x".repeat(10_001)],
  ["NUL", "a\0b"],
  ["a lone carriage return", "a\rb"],
  ["an escape", "\u001b[31m"],
  ["a C1 control", "a\u0085b"],
  ["a lone surrogate", "\ud800"],
  ["a number", 7],
  ["a list", ["a"]],
];

for (const [what, text] of WRONG_TEXTS) {
  test(`a text of ${what} is 400`, async () => {
    faulty(await send({ text }), "text", "invalid_parameter");
    const { id } = await newMessage();
    faulty(await call("PUT", `${PATH}/${id}`, json({ text })), "text", "invalid_parameter");
  });
}

test("the longest text may be escaped: a body may have 256 KiB", async () => {
  const { conversation_id } = await me();
  const text = "\\ud83d\\ude00".repeat(10_000);
  const made = await call("POST", PATH, json(`{"conversation_id":"${conversation_id}","text":"${text}"}`));
  assert.equal(message(made, 201).text, "😀".repeat(10_000));
  const form = `conversation_id=${conversation_id}&text=${"%F0%9F%98%80".repeat(10_000)}`;
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  assert.equal(message(await call("POST", PATH, { headers, body: form }), 201).text, "😀".repeat(10_000));
  problem(await send({ text: "x".repeat(257 * 1024) }), 413, "body_too_large");
  const path = `${PATH}/${message(made, 201).id}`;
  assert.equal(
    message(await call("PUT", path, { headers, body: form.slice(form.indexOf("text")) })).text?.length,
    20_000,
  );
});

const deep = (levels: number): object => (levels === 1 ? {} : { a: deep(levels - 1) });
/** Returns an object of this many bytes as compact JSON. */
const sized = (bytes: number) => ({ a: "é".repeat((bytes - 8) / 2) });

const DATA: [what: string, data: object][] = [
  ["no members", {}],
  ["members of every type", { a: [1, -2.5e-3, true, false, null, "é😀", { b: {} }], "": "", constructor: 1 }],
  ["lines and tabs", { "a\n": "b\r\n\tc\rd" }],
  ["4,096 bytes", sized(4096)],
  ["16 levels", deep(16)],
];

for (const [what, data] of DATA) {
  test(`data of ${what} is returned as sent, in JSON and in a form`, async () => {
    const made = message(await send({ data }), 201);
    assert.deepEqual(made.data, data);
    assert.equal(made.text, null);
    assert.deepEqual(message(await sendForm([["data", JSON.stringify(data, null, 2)]]), 201).data, data);
  });
}

/** As JSON text, because no object can have a name twice. */
const WRONG_DATA: [what: string, data: string][] = [
  ["4,098 bytes", JSON.stringify(sized(4098))],
  ["17 levels", JSON.stringify(deep(17))],
  ["17 levels of lists", `{"a":${"[".repeat(16)}${"]".repeat(16)}}`],
  ["40,000 levels", `{"a":${"[".repeat(40_000)}${"]".repeat(40_000)}}`],
  ["a list", "[]"],
  ["a text", '"a"'],
  ["a number", "1"],
  ["a name twice", '{"a":1,"b":2,"a":1}'],
  ["a name twice further in", '{"a":[{"b":1,"\\u0062":2}]}'],
  ["the name __proto__", '{"__proto__":{}}'],
  ["the name __proto__ further in", '{"a":{"__proto__":1}}'],
  ["a control character", '{"a":"\\u0000"}'],
  ["a control character in a name", '{"a\\u0007":1}'],
  ["a lone surrogate", '{"a":"\\udfff"}'],
  ["a number that no double holds", '{"a":1e999}'],
];

for (const [what, data] of WRONG_DATA) {
  test(`data of ${what} is 400`, async () => {
    const { conversation_id } = await me();
    const body = `{"conversation_id":"${conversation_id}","text":"a","data":${data}}`;
    faulty(await call("POST", PATH, json(body)), "data", "invalid_parameter");
    faulty(
      await sendForm([
        ["text", "a"],
        ["data", data],
      ]),
      "data",
      "invalid_parameter",
    );
  });
}

test("data in a form that is not JSON is 400", async () => {
  faulty(await sendForm([["data", "{a:1}"]]), "data", "invalid_parameter");
});

test("a message needs text, data or a file, and empty ones do not count", async () => {
  for (const fields of [{}, { text: null }, { text: "" }, { data: null }, { text: "", data: null }])
    faulty(await send(fields), "text", "missing_parameter");
  faulty(
    await sendForm([
      ["text", ""],
      ["data", ""],
    ]),
    "text",
    "missing_parameter",
  );
});

test("the conversation is required, and an unknown or malformed one is 404", async () => {
  faulty(await call("POST", PATH, json({ text: "a" })), "conversation_id", "missing_parameter");
  const { conversation_id, id } = await me();
  for (const other of [unknownLike(conversation_id), "nonsense", "", id]) {
    const reply = await send({ conversation_id: other, text: "a" });
    assert.equal(problem(reply, 404, "conversation_not_found").param, "conversation_id");
  }
  faulty(await send({ conversation_id: 7, text: "a" }), "conversation_id", "invalid_parameter");
});

test("mentions are ids of members, once each, as an array or a repeated field", async () => {
  const { id } = await me();
  assert.deepEqual(message(await send({ text: "a", mentions: [id, id] }), 201).mentions, [id]);
  assert.deepEqual(message(await send({ text: "a", mentions: [] }), 201).mentions, []);
  const repeated = await sendForm([
    ["text", "a"],
    ["mentions", id],
    ["mentions", id],
  ]);
  assert.deepEqual(message(repeated, 201).mentions, [id]);
  assert.deepEqual(
    message(
      await sendForm([
        ["text", "a"],
        ["mentions", id],
      ]),
      201,
    ).mentions,
    [id],
  );
  const wrong = [[unknownLike(id)], ["nonsense"], id, [7], [null], Array(21).fill(id), [[id]]];
  for (const mentions of wrong) faulty(await send({ text: "a", mentions }), "mentions", "invalid_parameter");
  const many: [string, string][] = Array.from({ length: 21 }, () => ["mentions", id]);
  faulty(await sendForm([["text", "a"], ...many]), "mentions", "invalid_parameter");
});

test("a reply names a message of the conversation, and keeps its id after that is deleted", async () => {
  const first = await newMessage();
  const reply = await newMessage({ reply_to_id: first.id });
  assert.equal(reply.reply_to_id, first.id);
  assert.equal((await call("DELETE", `${PATH}/${first.id}`)).status, 204);
  assert.equal(message(await call("GET", `${PATH}/${reply.id}`)).reply_to_id, first.id);
  problem(await call("GET", `${PATH}/${first.id}`), 404, "message_not_found");
  const elsewhere = await newMessage({ conversation_id: await freshConversation() });
  for (const id of [first.id, elsewhere.id, unknownLike(first.id), "nonsense"]) {
    const answer = problem(await send({ text: "a", reply_to_id: id }), 404, "message_not_found");
    assert.equal(answer.param, "reply_to_id");
  }
  assert.equal((await newMessage({ reply_to_id: null })).reply_to_id, null);
});

test("unknown or duplicate fields are 400", async () => {
  const { conversation_id } = await me();
  for (const name of [
    "id",
    "sender",
    "attachments",
    "attachment_ids",
    "type",
    "file",
    "surprise",
    "__proto__",
  ])
    faulty(
      await call("POST", PATH, json(`{"conversation_id":"${conversation_id}","text":"a","${name}":"x"}`)),
      name,
    );
  faulty(
    await call("POST", `${PATH}?conversation_id=${conversation_id}`, json({ text: "a" })),
    "conversation_id",
  );
  faulty(
    await sendForm([
      ["text", "a"],
      ["text", "b"],
    ]),
    "text",
    "repeated_parameter",
  );
  const { id } = await newMessage();
  for (const name of ["reply_to_id", "conversation_id"])
    faulty(await call("PUT", `${PATH}/${id}`, form({ [name]: "x" })), name, "unknown_parameter");
  faulty(await call("DELETE", `${PATH}/${id}?to=me`), "to", "unknown_parameter");
  faulty(
    await call("GET", `${PATH}?conversation_id=${conversation_id}&query=a`),
    "query",
    "unknown_parameter",
  );
});

test("an edit changes only its fields, sets edited_at, and clears with null or an empty text", async () => {
  const made = await newMessage({ data: { a: 1 } });
  const path = `${PATH}/${made.id}`;
  const edited = message(await call("PUT", path, json({ text: "new" })));
  isNow(edited.edited_at ?? 0);
  assert.deepEqual(edited, { ...made, text: "new", edited_at: edited.edited_at });
  assert.deepEqual(message(await call("GET", path)), edited);
  assert.equal(message(await call("PUT", path, form({ data: "" }))).data, null);
  assert.deepEqual(message(await call("PUT", path, json({ text: "", data: { b: [2] } }))).data, { b: [2] });
  const cleared = message(await call("GET", path));
  assert.deepEqual([cleared.text, cleared.data], [null, { b: [2] }]);
  faulty(await call("PUT", path, json({ data: null })), "text", "missing_parameter");
  assert.deepEqual(message(await call("GET", path)), cleared);
});

test("an edit without a change sets neither edited_at nor a new version", async () => {
  const made = await newMessage({ data: { a: 1, b: 2 } });
  const path = `${PATH}/${made.id}`;
  const etag = (await call("GET", path)).headers.get("etag");
  for (const fields of [{}, { text: "hello" }, { data: { a: 1, b: 2 } }]) {
    const reply = await call("PUT", path, json(fields));
    assert.deepEqual(message(reply), made);
    assert.equal(reply.headers.get("etag"), etag);
  }
});

test("If-None-Match and If-Match compare the version", async () => {
  const made = await newMessage();
  const path = `${PATH}/${made.id}`;
  const etag = (await call("GET", path)).headers.get("etag")!;
  assert.equal((await call("GET", path, { headers: { "if-none-match": etag } })).status, 304);
  const withTag = (tag: string, text: string) => {
    const { headers, body } = json({ text });
    return call("PUT", path, { body: body!, headers: { ...headers, "if-match": tag } });
  };
  problem(await withTag('"0"', "no"), 412, "precondition_failed");
  assert.equal(message(await withTag(etag, "second")).text, "second");
  problem(await withTag(etag, "third"), 412, "precondition_failed");
  problem(await call("DELETE", path, { headers: { "if-match": etag } }), 412, "precondition_failed");
  const reply = await call("GET", path, { headers: { "if-none-match": etag } });
  assert.equal(message(reply).text, "second");
  const current = reply.headers.get("etag")!;
  assert.equal((await call("DELETE", path, { headers: { "if-match": current } })).status, 204);
});

test("a deleted message is 404 in every request and not listed", async () => {
  const conversation_id = await freshConversation();
  const made = await newMessage({ conversation_id });
  const path = `${PATH}/${made.id}`;
  const reply = await call("DELETE", path);
  assert.equal(reply.status, 204);
  assert.equal(reply.bytes.length, 0);
  for (const method of ["GET", "DELETE"]) problem(await call(method, path), 404, "message_not_found");
  problem(await call("PUT", path, json({ text: "a" })), 404, "message_not_found");
  assert.deepEqual(messages(await call("GET", `${PATH}?conversation_id=${conversation_id}`)).data, []);
});

test("an unknown or malformed id is 404", async () => {
  const { id } = await newMessage();
  for (const other of [unknownLike(id), "nonsense", id.slice(0, -1), id.replace("msg_", "att_")]) {
    for (const method of ["GET", "DELETE"])
      problem(await call(method, `${PATH}/${other}`), 404, "message_not_found");
    problem(await call("PUT", `${PATH}/${other}`, json({ text: "a" })), 404, "message_not_found");
  }
});

test("an Idempotency-Key sends once, and a retry gets the message in its current state", async () => {
  const conversation_id = await freshConversation();
  const headers = { "idempotency-key": crypto.randomUUID() };
  const fields = { conversation_id, text: "once", data: { a: 1 } };
  const made = message(await send(fields, { headers }), 201);
  const again = await send(fields, { headers });
  assert.deepEqual(message(again, 201), made);
  assert.equal(again.headers.get("idempotent-replayed"), "true");
  const asForm = form({ conversation_id, text: "once", data: '{ "a": 1 }' });
  const replayed = await call("POST", PATH, { ...asForm, headers: { ...asForm.headers, ...headers } });
  assert.deepEqual(message(replayed, 201), made);
  problem(await send({ ...fields, text: "twice" }, { headers }), 422, "idempotency_key_reused");
  const edited = message(await call("PUT", `${PATH}/${made.id}`, json({ text: "edited" })));
  assert.deepEqual(message(await send(fields, { headers }), 201), edited);
  assert.equal(messages(await call("GET", `${PATH}?conversation_id=${conversation_id}`)).data.length, 1);
  await call("DELETE", `${PATH}/${made.id}`);
  problem(await send(fields, { headers }), 404, "message_not_found");
  assert.deepEqual(messages(await call("GET", `${PATH}?conversation_id=${conversation_id}`)).data, []);
});

test("the caller's limits include the length of a message and the size of its body", async () => {
  const { limits } = (await me()) as unknown as { limits: Record<string, unknown> };
  assert.equal(limits.max_message_body_size, 256 * 1024);
  assert.ok(limits.message_limit === null || Number(limits.message_limit) > 0);
  assert.ok(limits.max_files_per_day === null || Number(limits.max_files_per_day) > 0);
  const { allowed_file_types: allowed, refused_file_types: refused } = limits;
  for (const types of [allowed ?? [], refused] as string[][]) {
    for (const type of types) assert.match(type, /^[^/*]+\/([^/*]+|\*)$/);
  }
});
