// Messages sent by forms with text, data and files: valid, odd and damaged.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { isVisible } from "../support/visible.ts";
import { damage, damages, oneOf, texts } from "./damage.ts";
import { fuzz, type Subject, startSubject } from "./fuzz.ts";
import { ask, json, preview } from "./wire.ts";

type Harm = Parameters<typeof damage>[1];

interface Sent {
  /** Undefined leaves out the field. */
  text: string | undefined;
  data: string | undefined;
  files: Buffer[];
  /** Additional raw fields. */
  more: readonly string[];
  filesFirst: boolean;
  harm: Harm;
}

interface Message {
  id: string;
  text: string | null;
  data: object | null;
  attachments: { filename: string; file_url: string; file_size: number }[];
}

const BOUNDARY = "----b0undary";
const MAX_TEXT = 10_000;
const MAX_FILES = 10;

/** Some are too large for the database and are stored on disk. */
const bodies: fc.Arbitrary<Buffer> = fc
  .oneof(
    { weight: 4, arbitrary: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)) },
    fc.integer({ min: 32_000, max: 60_000 }).map((size) => Buffer.alloc(size, "\r\n-")),
  )
  .filter((body) => !body.includes(`--${BOUNDARY}`));

/** UTF-8 cannot encode lone surrogates. */
const wellFormed = texts.map((text) => text.toWellFormed());
const longTexts = fc.nat(2).map((n) => "𝄞".repeat(MAX_TEXT - 1 + n));

const messages: fc.Arbitrary<Sent> = fc.record({
  text: fc.option(fc.oneof({ weight: 9, arbitrary: wellFormed }, longTexts), { nil: undefined }),
  data: fc.option(
    fc.oneof(
      fc
        .dictionary(fc.string({ maxLength: 4 }), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 4 })
        .map((value) => JSON.stringify(value)),
      oneOf('|{|[]|null|"x"|{"a":1,"a":2}|{"__proto__":1}|{"a":1e999}|{"a":"\\ud800"}'),
    ),
    { nil: undefined },
  ),
  files: fc.oneof(
    { weight: 6, arbitrary: fc.array(bodies, { maxLength: 3 }) },
    fc.array(bodies, { minLength: 9, maxLength: 12 }),
  ),
  more: fc.oneof(
    { weight: 6, arbitrary: fc.constant<readonly string[]>([]) },
    fc.array(
      oneOf("reply_to_id=x|mentions=usr_x|mentions=|text=|is_pinned=true|__proto__=x|conversation_id=cnv_x"),
      { minLength: 1, maxLength: 2 },
    ),
  ),
  filesFirst: fc.boolean(),
  harm: fc.oneof({ weight: 3, arbitrary: fc.constant<Harm>([]) }, damages),
});

const field = (name: string, value: string) =>
  Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`);

const file = (body: Buffer, i: number) =>
  Buffer.concat([
    Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="${i}.bin"\r\n\r\n`),
    body,
    Buffer.from("\r\n"),
  ]);

function bytesOf({ text, data, files, more, filesFirst, harm }: Sent, conversation: string): Buffer {
  const fields = [
    field("conversation_id", conversation),
    ...(text === undefined ? [] : [field("text", text)]),
    ...(data === undefined ? [] : [field("data", data)]),
    ...more.map((each) => field(each.split("=")[0]!, each.split("=")[1]!)),
  ];
  const parts = filesFirst ? [...files.map(file), ...fields] : [...fields, ...files.map(file)];
  return damage(Buffer.concat([...parts, Buffer.from(`--${BOUNDARY}--\r\n`)]), harm);
}

/** Returns the stored text by the rules of docs/api/messages.md; undefined if it is refused. */
function toText(text: string): string | null | undefined {
  const lines = text.replaceAll("\r\n", "\n");
  const odd = /[\0-\x08\x0b-\x1f\x7f-\x9f]/.test(lines);
  return odd || [...lines].length > MAX_TEXT ? undefined : isVisible(lines) ? lines : null;
}

/** Asserts that an acknowledged message is stored as it was sent, and gone after its delete. */
async function isKept({ url, mine }: Subject, made: Message, sent: Sent): Promise<void> {
  const item = { target: `/v1/messages/${made.id}`, headers: mine.headers };
  const shown = json<Message & { attachments: object[] }>(await ask(url, item));
  assert.deepEqual([shown.id, shown.text, shown.data], [made.id, made.text, made.data]);
  const targets = made.attachments.map(({ file_url }) => file_url.replace(/^http:\/\/[^/]*/, ""));
  const isWhole = sent.harm.length === 0;
  for (const [i, target] of targets.entries()) {
    const found = await ask(url, { target });
    assert.equal(found.status, 200);
    if (isWhole) assert.ok(found.body.equals(sent.files[i]!), `file ${i}`);
    const digest = createHash("sha256").update(found.body).digest("base64");
    assert.equal(found.headers.get("repr-digest"), `sha-256=:${digest}:`);
  }
  assert.equal((await ask(url, { ...item, method: "DELETE" })).status, 204);
  for (const target of targets) assert.equal((await ask(url, { target })).status, 404);
}

test("a message with files is sent whole and stored unchanged, or refused without a trace", async (t) => {
  const subject = await startSubject(t);
  const { url, mine } = subject;
  const me = json<{ conversation_id: string }>(await ask(url, { target: "/v1/me", headers: mine.headers }));
  const used = async () =>
    json<{ storage: { used: number } }>(await ask(url, { target: "/v1/me", headers: mine.headers })).storage
      .used;
  const before = await used();
  await fuzz(t, subject, "messages", messages, async (sent) => {
    const body = bytesOf(sent, me.conversation_id);
    const headers = { ...mine.headers, "content-type": `multipart/form-data; boundary=${BOUNDARY}` };
    const answer = await ask(url, { method: "POST", target: "/v1/messages", headers, body });
    const about = `${answer.status} ${preview(answer.body)} to ${preview(body)}`;
    const { text, data, files, more, harm } = sent;
    const wanted = text === undefined ? null : toText(text);
    const isPlain = harm.length === 0 && more.length === 0 && data === undefined;
    const isRight =
      wanted !== undefined && files.length <= MAX_FILES && (wanted !== null || files.length > 0);
    if (isPlain) assert.equal(answer.status, isRight ? 201 : 400, about);
    if (answer.status === 201) {
      const made = json<Message>(answer);
      if (harm.length === 0) {
        assert.equal(made.text, wanted, about);
        assert.deepEqual(made.data, data ? JSON.parse(data) : null, about);
        assert.deepEqual(
          made.attachments.map(({ filename, file_size }) => [filename, file_size]),
          files.map(({ length }, i) => [`${i}.bin`, length]),
        );
      }
      await isKept(subject, made, sent);
    } else assert.ok([400, 404, 413, 415].includes(answer.status), about);
    assert.equal(await used(), before, about);
  });
});
