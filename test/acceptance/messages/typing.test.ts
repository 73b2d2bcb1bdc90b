// Typing events: streamed to the other members, for a moment.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { call, faulty, isNow, json, me, newContact, problem, type Reply, unknownLike } from "../client.ts";
import { newMessage } from "../send.ts";
import { needsSecond, second, target } from "../target.ts";
import { pair, part, theirs } from "../two-users.ts";

const skip = needsSecond;
const WAIT_MS = 60_000;

interface Frame {
  id: string | undefined;
  event: string | undefined;
  data: Record<string, unknown>;
}

/** Listens to typing and new messages. `until` waits for a message, and returns what came before it. */
async function listen(t: TestContext, token = target.token) {
  const ended = new AbortController();
  t.after(() => ended.abort());
  const response = await fetch(`${target.url}/v1/events?types=typing,message.created`, {
    headers: { authorization: `Bearer ${token}`, accept: "text/event-stream" },
    signal: ended.signal,
  });
  assert.equal(response.status, 200);
  let text = "";
  const reading = async () => {
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) text += chunk;
  };
  reading().catch(() => {});
  return {
    async until({ id }: { id: string }): Promise<Frame[]> {
      for (const deadline = Date.now() + WAIT_MS; !text.includes(`"payload":{"id":"${id}"`); await sleep(20))
        assert.ok(Date.now() < deadline, text);
      const frames = text.split("\n\n").flatMap((frame) => toFrame(frame) ?? []);
      return frames.filter(({ event }) => event === "typing");
    },
  };
}

function toFrame(text: string): Frame | undefined {
  const field = (name: string) => new RegExp(`^${name}: ?(.*)$`, "m").exec(text)?.[1];
  const data = field("data");
  return data?.endsWith("}") ? { id: field("id"), event: field("event"), data: JSON.parse(data) } : undefined;
}

const post = (conversation: string, options = {}): Promise<Reply> =>
  call("POST", `/v1/conversations/${conversation}/typing`, options);

async function type(conversation: string, options = {}): Promise<void> {
  const reply = await post(conversation, options);
  assert.deepEqual([reply.status, reply.text], [204, ""]);
}

test("the other member sees who is typing, once in three seconds", { skip }, async (t) => {
  const conversation_id = await pair();
  const { id: user_id } = await me(second());
  const [mine, others] = [await listen(t), await listen(t, second())];
  for (let i = 0; i < 3; i++) await type(conversation_id, theirs());
  const shown = await mine.until(await newMessage({ conversation_id }));
  assert.equal(shown.length, 1);
  const [{ id, data }] = shown as [Frame];
  assert.equal(id, undefined);
  const payload = data.payload as { expires_at: number };
  assert.deepEqual(data, {
    type: "typing",
    conversation_id,
    payload: { conversation_id, user_id, expires_at: payload.expires_at },
  });
  isNow(payload.expires_at);
  assert.deepEqual(await others.until(await newMessage({ conversation_id })), [], "not to who is typing");
});

test("a blocker does not see a blocked user typing, and the blocked user cannot tell", {
  skip,
}, async (t) => {
  const conversation_id = await pair();
  const block = `/v1/blocks/${encodeURIComponent((await me(second())).username)}`;
  assert.equal((await call("PUT", block)).status, 204);
  const [mine, others] = [await listen(t), await listen(t, second())];
  await type(conversation_id, theirs());
  await type(conversation_id);
  assert.equal((await others.until(await newMessage({ conversation_id }))).length, 1);
  assert.deepEqual(await mine.until(await newMessage({ conversation_id })), []);
  await part();
});

test("typing in a conversation of others is 404", { skip }, async () => {
  await part();
  const { conversation_id } = await newContact();
  const { conversation_id: notes } = await me();
  for (const id of [conversation_id, notes]) {
    await type(id);
    problem(await post(id, theirs()), 404, "conversation_not_found");
  }
  for (const id of [unknownLike(notes), "nonsense", "%ff"])
    problem(await post(id), 404, "conversation_not_found");
});

test("a typing event accepts no fields and is in no page", async () => {
  const { conversation_id } = await me();
  faulty(await post(conversation_id, json({ text: "hello" })), "text", "unknown_parameter");
  await type(conversation_id, json({}));
  faulty(await call("POST", `/v1/conversations/${conversation_id}/typing?a=b`), "a", "unknown_parameter");
  for (const method of ["GET", "PUT", "DELETE"])
    problem(await call(method, `/v1/conversations/${conversation_id}/typing`), 405, "method_not_allowed");
  const { detail } = faulty(await call("GET", "/v1/events?types=typing"), "types", "invalid_parameter");
  assert.match(detail, /streams only/);
  const webhook = json({ url: "https://example.com/", events: ["typing"] });
  faulty(await call("POST", "/v1/webhooks", webhook), "events", "invalid_parameter");
});
