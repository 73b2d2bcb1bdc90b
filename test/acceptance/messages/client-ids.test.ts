// The `client_id` of a message: sending it again creates no second message.
import assert from "node:assert/strict";
import { test } from "node:test";
import { call, faulty, form, json, location, message, messages, problem } from "../client.ts";
import { freshConversation, newMessage, PATH, type Piece, parts, post, send } from "../send.ts";

const fresh = () => crypto.randomUUID();

async function textsIn(conversation: string): Promise<(string | null)[]> {
  const { data } = messages(await call("GET", `${PATH}?conversation_id=${conversation}`));
  return data.map(({ text }) => text);
}

test("a message sent again with its client_id is answered 200 with the message as it is now", async () => {
  const conversation_id = await freshConversation();
  const fields = { conversation_id, text: "once", data: { a: 1 }, client_id: fresh() };
  const first = await send(fields);
  const made = message(first, 201);
  assert.equal(made.client_id, fields.client_id);
  const again = await send(fields);
  assert.deepEqual(message(again), made);
  assert.equal(again.headers.get("idempotent-replayed"), "true");
  assert.equal(again.headers.get("etag"), first.headers.get("etag"));
  assert.equal(location(again), location(first));
  const asForm = form({ conversation_id, text: "once", data: '{ "a": 1 }', client_id: fields.client_id });
  assert.deepEqual(message(await call("POST", PATH, asForm)), made);
  const edited = message(await call("PUT", `${PATH}/${made.id}`, json({ text: "edited" })));
  assert.equal(edited.client_id, fields.client_id);
  assert.deepEqual(message(await send(fields)), edited);
  assert.deepEqual(message(await call("GET", `${PATH}/${made.id}`)), edited);
  assert.deepEqual(await textsIn(conversation_id), ["edited"]);
});

test("a client_id with other content or in another conversation is 409 client_id_conflict", async () => {
  const [here, there] = [await freshConversation(), await freshConversation()];
  const fields = { conversation_id: here, text: "one", client_id: fresh() };
  await newMessage(fields);
  for (const other of [{ text: "two" }, { data: {} }, { conversation_id: there }, { mentions: [] }]) {
    const refused = await send({ ...fields, ...other });
    assert.equal(problem(refused, 409, "client_id_conflict").param, "client_id");
  }
  assert.deepEqual([await textsIn(here), await textsIn(there)], [["one"], []]);
});

for (const query of ["", "?for=me"])
  test(`a message sent again after DELETE${query} is 404`, async () => {
    const conversation_id = await freshConversation();
    const fields = { conversation_id, text: "gone", client_id: fresh() };
    const { id } = await newMessage(fields);
    assert.equal((await call("DELETE", `${PATH}/${id}${query}`)).status, 204);
    problem(await send(fields), 404, "message_not_found");
    problem(await send({ ...fields, text: "other" }), 409, "client_id_conflict");
    assert.deepEqual(await textsIn(conversation_id), []);
  });

test("a client_id and an Idempotency-Key both hold", async () => {
  const conversation_id = await freshConversation();
  const fields = { conversation_id, text: "both", client_id: fresh() };
  const headers = { "idempotency-key": fresh() };
  const made = message(await send(fields, { headers }), 201);
  assert.deepEqual(message(await send(fields, { headers }), 201), made, "the key's first answer");
  assert.deepEqual(message(await send(fields)), made);
  assert.deepEqual(message(await send(fields, { headers: { "idempotency-key": fresh() } })), made);
  const other = { ...fields, client_id: fresh() };
  problem(await send(other, { headers }), 422, "idempotency_key_reused");
  problem(await send({ ...fields, text: "other" }, { headers }), 422, "idempotency_key_reused");
  problem(await send({ ...fields, text: "other" }), 409, "client_id_conflict");
  assert.deepEqual(await textsIn(conversation_id), ["both"]);
});

const file = (name: string, content = `bytes of ${name}`) =>
  new File([content], name, { type: "text/plain" });

test("a form sent again with its client_id is compared by its fields and files", async () => {
  const conversation = await freshConversation();
  const pieces: Piece[] = [
    ["conversation_id", conversation],
    ["client_id", fresh()],
    ["text", "files"],
    file("a.txt"),
    file("b.txt", "x".repeat(100_000)),
  ];
  const made = message(await post(parts(...pieces)), 201);
  assert.equal(made.attachments.length, 2);
  assert.deepEqual(message(await post(parts(...pieces))), made);
  for (const other of [
    pieces.slice(0, 4),
    [...pieces.slice(0, 4), file("b.txt", "y".repeat(100_000))],
    [...pieces.slice(0, 3), file("c.txt", "bytes of a.txt"), pieces[4]!],
  ])
    problem(await post(parts(...other)), 409, "client_id_conflict");
  const { id } = made.attachments[0]!;
  await call("DELETE", `/v1/attachments/${id}`);
  assert.deepEqual(message(await post(parts(...pieces))).attachments, made.attachments.slice(1));
  assert.deepEqual(await textsIn(conversation), ["files"]);
});

test("a client_id after the files of a form is 400", async () => {
  const conversation = await freshConversation();
  const late = parts(["conversation_id", conversation], file("a.txt"), ["client_id", fresh()]);
  faulty(await post(late), "client_id", "invalid_parameter");
  assert.deepEqual(await textsIn(conversation), []);
});

test("a client_id has 1 to 64 visible ASCII characters", async () => {
  const longest = `"\\${fresh()}`.padEnd(64, "~");
  assert.equal((await newMessage({ client_id: longest })).client_id, longest);
  assert.equal((await newMessage({ client_id: longest.slice(0, 1) + fresh().slice(0, 5) })).type, "text");
  assert.equal((await newMessage({ client_id: null })).client_id, null);
  const conversation: Piece = ["conversation_id", await freshConversation()];
  for (const client_id of ["", "x".repeat(65), "a b", "a\tb", "é", "\u007f"]) {
    faulty(await send({ text: "a", client_id }), "client_id", "invalid_parameter");
    for (const pieces of [[], [file("a.txt")]])
      faulty(
        await post(parts(conversation, ["text", "a"], ["client_id", client_id], ...pieces)),
        "client_id",
        "invalid_parameter",
      );
  }
  faulty(await send({ text: "a", client_id: 7 }), "client_id", "invalid_parameter");
});
