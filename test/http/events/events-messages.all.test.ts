// Events of messages: recipients, notify, and slow streams.
import assert from "node:assert/strict";
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { type TestContext, test } from "node:test";
import { createToken, type Scope } from "../../../src/core/people/tokens.ts";
import { deleteUser } from "../../../src/core/people/users.ts";
import { startApp, type TestApp } from "../../support/app.ts";
import { allEvents, eventPage, listen, type Stream, type TestEvent } from "../../support/event-stream.ts";
import { code, give, type Person, pair, read, say, send } from "../../support/people.ts";

const ofMessages = (events: TestEvent[]) => events.filter(({ type }) => type.startsWith("message."));

test("message.created notifies everybody but the sender, and through a mute only users it mentions", async (t) => {
  let now = Date.UTC(2030, 0, 1);
  const server = await startApp(t, {}, { clock: () => now });
  const { ann, bob, conversation } = await pair(server);
  const mute = (muted_until: number | null) =>
    read(send(server, bob, "PUT", `/v1/conversations/${conversation}`, { muted_until }), 200);
  const alerted = async (who: Person) => {
    const [newest] = (await eventPage(server, who, "?limit=1&types=message.created")).data;
    return newest!.notify;
  };
  await say(server, ann, conversation, "plain");
  assert.deepEqual([await alerted(ann), await alerted(bob)], [false, true]);
  await mute(now / 1000 + 60);
  assert.equal(await alerted(bob), false);
  await say(server, ann, conversation, "for you", { mentions: [bob.id] });
  assert.equal(await alerted(bob), true);
  await say(server, ann, conversation, "for me", { mentions: [ann.id] });
  assert.deepEqual([await alerted(ann), await alerted(bob)], [false, false]);
  now += 60_000;
  assert.equal(await alerted(bob), true, "it is muted no longer");
  await mute(null);
  await say(server, bob, conversation, "back");
  assert.deepEqual([await alerted(ann), await alerted(bob)], [true, false]);
});

test("a token gets the event types that its scopes allow, in pages and streams", async (t) => {
  const server = await startApp(t);
  const { ann, bob, conversation } = await pair(server);
  const as = async (...scopes: Scope[]) => {
    const { token } = await createToken(server.app.core, null, bob.id, {
      scopes: ["events:read", ...scopes],
    });
    return { ...bob, headers: { authorization: `Bearer ${token}` } };
  };
  const shown: [Scope[], string[]][] = [
    [[], []],
    [["contacts:read"], ["contact.created"]],
    [["attachments:read"], ["attachment.created"]],
    [["messages:read"], ["message.created", "message.created"]],
    [
      ["messages:read", "attachments:read", "contacts:read"],
      ["contact.created", "message.created", "message.created", "attachment.created"],
    ],
  ];
  const first = (await allEvents(server, bob))[0]!;
  const streams: Stream[] = [];
  for (const [scopes] of shown)
    streams.push(await listen(t, server, await as(...scopes), { after: first.id }));
  await say(server, ann, conversation, "text");
  await give(server, ann, conversation, "file");
  await streams.at(-1)!.wait(3);
  for (const [i, [scopes, types]] of shown.entries()) {
    const all = await allEvents(server, await as(...scopes));
    assert.equal(all.map(({ type }) => type).join(), types.join());
    const later = all.filter(({ type }) => type !== "contact.created");
    assert.deepEqual(await streams[i]!.wait(later.length), later);
  }
  const blind = await as("contacts:read");
  for (const type of ["message.updated", "conversation.updated", "attachment.created"]) {
    for (const accept of ["application/json", "text/event-stream"]) {
      const path = `/v1/events?types=contact.created,${type}`;
      const refused = send(server, blind, "GET", path, undefined, { accept });
      assert.equal(await code(refused, 403), "insufficient_scope");
    }
  }
});

const EDITS = 400;
/** 40 KB each: together more than the buffers of a connection. */
const LONG = "𝄞".repeat(9990);

/** Opens a stream without reading it. */
async function quietListener(t: TestContext, server: TestApp, { headers }: Person): Promise<IncomingMessage> {
  const request = get(`${server.url}/v1/events`, { headers: { ...headers, accept: "text/event-stream" } });
  t.after(() => request.destroy());
  const [response] = (await once(request, "response")) as [IncomingMessage];
  return response.pause();
}

/** Reads a stream until it has this many events. */
async function readOn(stream: IncomingMessage, count: number): Promise<TestEvent[]> {
  const events: TestEvent[] = [];
  let text = "";
  for await (const chunk of stream.setEncoding("utf8")) {
    text += chunk;
    const frames = text.split("\n\n");
    text = frames.pop()!;
    for (const frame of frames) {
      const data = /^data: (.*)$/m.exec(frame);
      if (data) events.push(JSON.parse(data[1]!));
    }
    if (events.length >= count) return events;
  }
  throw new Error(`the stream ended after ${events.length} events`);
}

interface Parties {
  ann: Person;
  bob: Person;
  contact: string;
  id: string;
}

type Ending = [told: string[], end: (server: TestApp, parties: Parties) => Promise<unknown>];

/** Ways in which a user stops seeing a message, and the events that the user gets. */
const ENDINGS: Record<string, Ending> = {
  "the message is deleted": [
    ["message.deleted"],
    (server, { ann, id }) => send(server, ann, "DELETE", `/v1/messages/${id}`),
  ],
  "its sender edits it after a block": [
    ["message.deleted"],
    async (server, { ann, bob, contact, id }) => {
      await send(server, bob, "PUT", `/v1/contacts/${contact}/block`);
      return send(server, ann, "PUT", `/v1/messages/${id}`, { text: "unseen" });
    },
  ],
};

/** Ann edits a message many times while Bob's stream is open but not read. */
async function editUnread(t: TestContext) {
  const server = await startApp(t);
  const parties = await pair(server);
  const { ann, bob, conversation, back } = parties;
  const stream = await quietListener(t, server, bob);
  const id = await say(server, ann, conversation, LONG);
  for (let i = 0; i < EDITS; i++) {
    const edit = { userId: ann.id, id, text: LONG + i, data: undefined, expected: null, now: i };
    await server.app.core.db.write("updateMessage", edit);
  }
  return { server, stream, conversation, ann, bob, contact: back, id };
}

/** Returns the last events, which were in no buffer yet. */
const lateOf = (events: TestEvent[]) => ofMessages(events).slice(-50);

for (const [what, [told, end]] of Object.entries(ENDINGS)) {
  test(`a slow stream does not get the content of a message if ${what}`, async (t) => {
    const { server, stream, conversation, ...parties } = await editUnread(t);
    await end(server, parties);
    const events = await readOn(stream, EDITS + 1 + told.length);
    assert.deepEqual(
      events.slice(EDITS + 1).map(({ type }) => type),
      told,
    );
    const ids = { id: parties.id, conversation_id: conversation };
    for (const { payload } of lateOf(events)) assert.deepEqual(payload, ids);
  });
}

test("a slow stream does not get the name of a sender who was erased meanwhile", async (t) => {
  const { server, stream, conversation, ann, bob, id } = await editUnread(t);
  await deleteUser(server.app.core, null, ann.id);
  await say(server, bob, conversation, "end");
  const events = await readOn(stream, EDITS + 2);
  for (const { payload } of lateOf(events.slice(0, -1)))
    assert.deepEqual([payload.id, payload.sender], [id, null]);
});
