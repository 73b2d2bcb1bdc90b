// The sender and the conversation of a file: `include` of attachments.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type Attachment,
  attachments,
  call,
  faulty,
  type Message,
  message,
  problem,
  type Reply,
  unknownLike,
} from "../client.ts";
import { needsSecond, second } from "../target.ts";
import { pair, theirs } from "../two-users.ts";
import { newAttachment } from "../upload.ts";

const skip = needsSecond;
const PATH = "/v1/attachments";

type WithSender = Attachment & { sender: Message["sender"] };

/** A link may change with time. */
const unlinked = <T extends Attachment>(item: T): T => ({
  ...item,
  file_url: item.file_url.replace(/\?.*/, ""),
});
const json = (reply: Reply) => reply.json as { has_more: boolean; data: WithSender[] };

test("include=unscanned adds whether a file passed without a scan, alone and with the sender", async () => {
  const { id } = await newAttachment();
  const plain = await call("GET", `${PATH}/${id}`);
  const { data } = json(await call("GET", `${PATH}?include=unscanned&limit=1`));
  assert.deepEqual(Object.keys(data[0]!), [...Object.keys(plain.json as object), "unscanned"]);
  const both = await call("GET", `${PATH}/${id}?include=sender,unscanned`);
  const { sender, unscanned, ...rest } = both.json as WithSender & { unscanned: boolean };
  assert.equal(typeof unscanned, "boolean");
  assert.deepEqual(sender, message(await call("GET", `/v1/messages/${rest.message_id}`)).sender);
  assert.deepEqual(unlinked(rest), unlinked(plain.json as Attachment));
});

test("include=conversation_id adds the conversation of each file, alone and with the sender", {
  skip,
}, async () => {
  const conversation = await pair();
  const { id } = await newAttachment({ query: `?conversation_id=${conversation}` });
  const note = await newAttachment();
  const list = json(await call("GET", `${PATH}?include=conversation_id&limit=2`));
  const conversations = new Map(
    list.data.map((file) => [file.id, (file as WithSender & { conversation_id: string }).conversation_id]),
  );
  assert.equal(conversations.get(id), conversation);
  const { message_id } = note;
  const { conversation_id } = message(await call("GET", `/v1/messages/${message_id}`));
  assert.equal(conversations.get(note.id), conversation_id);
  const other = await call("GET", `${PATH}/${id}?include=conversation_id,sender`, theirs());
  assert.equal((other.json as { conversation_id: string }).conversation_id, conversation);
  assert.deepEqual(Object.keys(other.json as object).slice(-2), ["conversation_id", "sender"]);
});

test("a list with include=sender is the list without it plus the senders", { skip }, async () => {
  const conversation = await pair();
  const query = `?conversation_id=${conversation}`;
  const mine = await newAttachment({ query });
  const other = await newAttachment({ query, token: second() });
  for (const filter of [query, `${query}&q=notes`, `${query}&limit=1`]) {
    const plain = await call("GET", PATH + filter);
    const { has_more, data } = json(await call("GET", `${PATH}${filter}&include=sender`));
    const expected = attachments(plain);
    assert.equal(has_more, expected.has_more);
    assert.deepEqual(
      data.map(({ sender: _, ...rest }) => unlinked(rest)),
      expected.data.map(unlinked),
    );
    for (const { message_id, sender } of data)
      assert.deepEqual(sender, message(await call("GET", `/v1/messages/${message_id}`)).sender);
  }
  const { data } = json(await call("GET", `${PATH}${query}&include=sender`, theirs()));
  assert.deepEqual(
    data.map(({ id }) => id),
    [other.id, mine.id],
  );
  assert.equal(new Set(data.map(({ sender }) => sender?.id)).size, 2);
  const next = (await call("GET", `${PATH}${query}&include=sender&limit=1`)).headers.get("link") ?? "";
  assert.match(next, /[?&]include=sender&.*rel="next"/);
});

test("a file can be retrieved with its sender and then also has an ETag", { skip }, async () => {
  const query = `?conversation_id=${await pair()}`;
  const { id } = await newAttachment({ query, token: second() });
  const plain = (await call("GET", `${PATH}/${id}`)).json as Attachment;
  const reply = await call("GET", `${PATH}/${id}?include=sender`);
  const { sender, ...rest } = reply.json as WithSender;
  assert.deepEqual(unlinked(rest), unlinked(plain));
  assert.deepEqual(sender, message(await call("GET", `/v1/messages/${plain.message_id}`)).sender);
  const headers = { "if-none-match": String(reply.headers.get("etag")) };
  assert.equal((await call("GET", `${PATH}/${id}?include=sender`, { headers })).status, 304);
  assert.equal((await call("GET", `${PATH}/${id}`, { headers })).status, 200);
});

test("include reveals no hidden file, and only senders", { skip }, async () => {
  const { id } = await newAttachment();
  const [foreign, missing] = [id, unknownLike(id)];
  for (const each of [foreign, missing])
    problem(await call("GET", `${PATH}/${each}?include=sender`, theirs()), 404, "attachment_not_found");
  for (const path of [PATH, `${PATH}/${id}`]) {
    for (const value of ["", "Sender", "message", "sender,message", "sender,"])
      faulty(await call("GET", `${path}?include=${value}`), "include", "invalid_parameter");
    faulty(await call("GET", `${path}?include=sender&include=sender`), "include", "repeated_parameter");
  }
});
