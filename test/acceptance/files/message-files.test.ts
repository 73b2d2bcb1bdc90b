import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { attachments, call, faulty, json, me, message, messages, problem } from "../client.ts";
import { freshConversation, newMessage, PATH, type Piece, parts, post } from "../send.ts";
import { fieldPart, filePart, multipart, newAttachment, PNG } from "../upload.ts";

const text = (name: string, bytes = `bytes of ${name}`) => new File([bytes], name, { type: "text/plain" });
const picture = new File([PNG], "pixel.png", { type: "image/png" });

/** Returns the number of messages and files in a conversation. */
async function inside(conversation: string): Promise<[messages: number, files: number]> {
  const query = `conversation_id=${conversation}&limit=100`;
  const sent = messages(await call("GET", `${PATH}?${query}`)).data.length;
  return [sent, attachments(await call("GET", `/v1/attachments?${query}`)).data.length];
}

test("a form with files sends them with its text as one message, in the order of the parts", async () => {
  const conversation = await freshConversation();
  const reply = await post(
    parts(["conversation_id", conversation], ["text", "two files"], text("b.txt"), picture),
  );
  const made = message(reply, 201);
  assert.equal(made.text, "two files");
  const shown = made.attachments.map(({ filename, file_type, file_size }) => [
    filename,
    file_type,
    file_size,
  ]);
  assert.deepEqual(shown, [
    ["b.txt", "text/plain", 14],
    ["pixel.png", "image/png", PNG.length],
  ]);
  const got = await call("GET", `${PATH}/${made.id}`);
  assert.deepEqual(message(got), made);
  assert.equal(got.headers.get("etag"), reply.headers.get("etag"));
  const bytes = await Promise.all(
    made.attachments.map(async ({ file_url }) => (await call("GET", file_url, { token: null })).bytes),
  );
  assert.deepEqual(bytes, [Buffer.from("bytes of b.txt"), PNG]);
  assert.deepEqual(await inside(conversation), [1, 2]);
});

test("parts may come in any order, and text or files alone are enough", async () => {
  const { id, conversation_id } = await me();
  const conversation: Piece = ["conversation_id", conversation_id];
  const mention: Piece = ["mentions", id];
  const mixed = [text("1"), mention, ["data", '{"a":1}'], text("2"), conversation, mention] as Piece[];
  const made = message(await post(parts(...mixed, ["text", "line\r\nline"])), 201);
  assert.deepEqual([made.text, made.data, made.mentions], ["line\nline", { a: 1 }, [id]]);
  assert.deepEqual(
    made.attachments.map(({ filename }) => filename),
    ["1", "2"],
  );
  assert.deepEqual(message(await post(parts(conversation, ["text", "no file"])), 201).attachments, []);
  assert.equal(message(await post(parts(text("alone"), conversation)), 201).text, null);
  faulty(await post(parts(conversation)), "text", "missing_parameter");
});

test("large, small and empty files are sent together", async () => {
  const conversation = await freshConversation();
  const large = Buffer.alloc(3_000_000, "large");
  const files = [filePart("large.bin", large), filePart("small.txt", "small"), filePart("empty.txt", "")];
  const { headers, body } = multipart([...files, fieldPart("conversation_id", conversation)]);
  const made = message(await call("POST", PATH, { headers: headers!, body: body! }), 201);
  assert.deepEqual(
    made.attachments.map(({ file_size }) => file_size),
    [large.length, 5, 0],
  );
  const got = await call("GET", made.attachments[0]!.file_url, { token: null });
  const digest = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");
  assert.equal(digest(got.bytes), digest(large));
});

test("ten files are accepted, eleven are 400 and nothing is stored", async () => {
  const conversation = await freshConversation();
  const files = Array.from({ length: 11 }, (_, at) => text(`${at}.txt`));
  const field: Piece = ["conversation_id", conversation];
  faulty(await post(parts(field, ...files)), "file", "invalid_parameter");
  assert.deepEqual(await inside(conversation), [0, 0]);
  assert.equal(message(await post(parts(field, ...files.slice(1))), 201).attachments.length, 10);
  assert.deepEqual(await inside(conversation), [1, 10]);
});

test("if anything is refused, neither message nor files are stored", async () => {
  const conversation = await freshConversation();
  const field: Piece = ["conversation_id", conversation];
  const refused: [param: string, ...pieces: Piece[]][] = [
    ["text", field, text("a"), ["text", "a\0"]],
    ["text", field, text("a"), ["text", "a"], ["text", "b"]],
    ["conversation_id", field, text("a"), field],
    ["surprise", field, text("a"), ["surprise", "x"]],
    ["message_id", field, text("a"), ["message_id", "x"]],
    ["data", field, text("a"), ["data", "[]"]],
    ["mentions", field, text("a"), ["mentions", "nonsense"]],
    ["filename", field, text("a"), text("..")],
    ["file", field, text("a"), ["file", "no file"]],
  ];
  for (const [param, ...pieces] of refused) faulty(await post(parts(...pieces)), param);
  const unknown = await post(parts(text("a"), field, ["reply_to_id", "msg_x"]));
  assert.equal(problem(unknown, 404, "message_not_found").param, "reply_to_id");
  problem(await post(parts(text("a"), ["text", "a"])), 400, "missing_parameter");
  assert.deepEqual(await inside(conversation), [0, 0]);
});

test("a text in a form may have 256 KiB, more is 400", async () => {
  const { conversation_id } = await me();
  const field: Piece = ["conversation_id", conversation_id];
  const made = message(await post(parts(field, ["text", "😀".repeat(10_000)])), 201);
  assert.equal(made.text?.length, 20_000);
  faulty(await post(parts(field, ["text", "x".repeat(256 * 1024 + 1)])), "text", "invalid_parameter");
  const many = Array.from({ length: 21 }, (): Piece => ["mentions", "usr_x"]);
  faulty(await post(parts(field, ["text", "a"], ...many)), "mentions", "invalid_parameter");
});

test("a file with a wrong digest refuses the whole message", async () => {
  const conversation = await freshConversation();
  const wrong = createHash("sha256").update("other").digest("base64");
  const file = filePart("a.txt", "bytes");
  const head = `${file.head}\r\nContent-Digest: sha-256=:${wrong}:`;
  const form = multipart([fieldPart("conversation_id", conversation), filePart("b"), { ...file, head }]);
  problem(await call("POST", PATH, form), 400, "digest_mismatch");
  assert.deepEqual(await inside(conversation), [0, 0]);
});

test("a retried form is compared by its contents, not by its boundary", async () => {
  const conversation = await freshConversation();
  const headers = { "idempotency-key": crypto.randomUUID() };
  const pieces: Piece[] = [["conversation_id", conversation], ["text", "once"], text("a.txt"), picture];
  const made = message(await post(parts(...pieces), { headers }), 201);
  const again = await post(parts(...pieces), { headers });
  assert.deepEqual(message(again, 201), made);
  assert.equal(again.headers.get("idempotent-replayed"), "true");
  const reordered = [pieces[2]!, pieces[1]!, pieces[3]!, pieces[0]!];
  assert.deepEqual(message(await post(parts(...reordered), { headers }), 201), made);
  for (const other of [
    pieces.slice(0, 3),
    [...pieces.slice(0, 2), picture, text("a.txt")],
    [...pieces.slice(0, 2), text("a.txt", "other"), picture],
    [...pieces.slice(0, 2), text("b.txt", "bytes of a.txt"), picture],
    [pieces[0]!, ...pieces.slice(2)],
  ])
    problem(await post(parts(...other), { headers }), 422, "idempotency_key_reused");
  assert.deepEqual(await inside(conversation), [1, 2]);
  await call("DELETE", `${PATH}/${made.id}`);
  problem(await post(parts(...pieces), { headers }), 404, "message_not_found");
  assert.deepEqual(await inside(conversation), [0, 0]);
});

test("an upload is a message without text, and a later file joins a message", async () => {
  const conversation_id = await freshConversation();
  const file = await newAttachment({ query: `?conversation_id=${conversation_id}` });
  const path = `${PATH}/${file.message_id}`;
  const made = message(await call("GET", path));
  assert.deepEqual([made.text, made.data, made.attachments, made.edited_at], [null, null, [file], null]);
  const second = await newAttachment({ query: `?message_id=${file.message_id}` });
  const { attachments, edited_at } = message(await call("GET", path));
  assert.deepEqual([attachments, edited_at], [[file, second], null]);
  assert.equal(message(await call("PUT", path, json({ text: "now with text" }))).attachments.length, 2);
});

test("If-Match of a message also depends on its files", async () => {
  const { id } = await newMessage();
  const etag = (await call("GET", `${PATH}/${id}`)).headers.get("etag")!;
  await newAttachment({ query: `?message_id=${id}` });
  problem(await call("DELETE", `${PATH}/${id}`, { headers: { "if-match": etag } }), 412);
});

test("a message that loses its last file stays if it has text, otherwise it is deleted", async () => {
  const conversation = await freshConversation();
  const field: Piece = ["conversation_id", conversation];
  const kept = message(await post(parts(field, ["text", "stays"], text("a"))), 201);
  const dropped = message(await post(parts(field, text("a"), text("b"))), 201);
  for (const { id } of [...kept.attachments, ...dropped.attachments])
    assert.equal((await call("DELETE", `/v1/attachments/${id}`)).status, 204);
  assert.deepEqual(message(await call("GET", `${PATH}/${kept.id}`)), { ...kept, attachments: [] });
  problem(await call("GET", `${PATH}/${dropped.id}`), 404, "message_not_found");
  assert.deepEqual(await inside(conversation), [1, 0]);
});

test("text and data may be cleared while the message has a file", async () => {
  const { conversation_id } = await me();
  const made = message(
    await post(parts(["conversation_id", conversation_id], ["text", "a"], text("a"))),
    201,
  );
  const cleared = message(await call("PUT", `${PATH}/${made.id}`, json({ text: null })));
  assert.deepEqual([cleared.text, cleared.attachments], [null, made.attachments]);
});

test("deleting a message deletes its files and frees their storage", async () => {
  const { conversation_id } = await me();
  const used = async () => ((await me()) as unknown as { storage: { used: number } }).storage.used;
  const before = await used();
  const made = message(await post(parts(["conversation_id", conversation_id], text("a"), picture)), 201);
  assert.equal(await used(), before + 10 + PNG.length);
  assert.equal((await call("DELETE", `${PATH}/${made.id}`)).status, 204);
  assert.equal(await used(), before);
  for (const { id, file_url } of made.attachments) {
    problem(await call("GET", `/v1/attachments/${id}`), 404, "attachment_not_found");
    problem(await call("GET", file_url, { token: null }), 404, "attachment_not_found");
  }
});

test("a body of another type is 415, and a file in JSON or in a plain form is an unknown field", async () => {
  const { conversation_id } = await me();
  const headers = { "content-type": "text/plain" };
  problem(await call("POST", PATH, { headers, body: "hello" }), 415, "unsupported_media_type");
  faulty(await call("POST", PATH, json({ conversation_id, file: "a" })), "file", "unknown_parameter");
  const made = await newMessage();
  problem(
    await call("PUT", `${PATH}/${made.id}`, { body: parts(["text", "a"]) }),
    415,
    "unsupported_media_type",
  );
});
