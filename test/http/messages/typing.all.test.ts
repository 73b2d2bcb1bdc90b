// Typing: which streams show it, and how often.
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { deliverTyping } from "../../../src/core/events/typing.ts";
import { EventHub } from "../../../src/core/node/event-hub.ts";
import { createToken } from "../../../src/core/people/tokens.ts";
import { deleteUser } from "../../../src/core/people/users.ts";
import { startApp } from "../../support/app.ts";
import type { Json } from "../../support/asker.ts";
import { listen, type Stream } from "../../support/event-stream.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { add, code, done, type Person, pair, person, read, say, send, trio } from "../../support/people.ts";
import { openSocket } from "../../support/raw-socket.ts";
import { onNodes, PAUSE_MS, post, settle, type, typists } from "./typing.ts";

onNodes("typing reaches streams of other members, without an event id", async (t, places, time) => {
  const [here, there] = places;
  const { ann, bob, conversation } = await pair(here);
  time.now += 400;
  const [anns, bobs] = [await listen(t, there, ann), await listen(t, there, bob)];
  const socket = await openSocket(there.url);
  socket.write(
    `GET /v1/events?types=typing HTTP/1.1\r\nhost: x\r\nauthorization: ${bob.headers.authorization}\r\naccept: text/event-stream\r\n\r\n`,
  );
  let text = "";
  socket.on("data", (chunk) => {
    text += chunk;
  });
  assert.ok(await eventually(async () => text.endsWith(": listening\n\n")));
  text = "";
  await type(here, ann, conversation);
  const [event] = await bobs.wait(1);
  // Six seconds later, rounded up to whole seconds.
  const expires_at = Date.UTC(2030, 0, 1) / 1000 + 7;
  const payload = { conversation_id: conversation, user_id: ann.id, expires_at };
  assert.deepEqual(event as object, { type: "typing", conversation_id: conversation, payload });
  assert.ok(await eventually(async () => text !== ""));
  assert.equal(text, `event: typing\ndata: ${JSON.stringify(event)}\n\n`);
  socket.destroy();
  await settle(here, ann, conversation, [anns, bobs]);
  const typed = [...anns.events, ...bobs.events].filter(({ type }) => type === "typing");
  assert.equal(typed.length, 1, "the typist gets none");
});

onNodes("typing respects blocks and does not reveal them", async (t, places) => {
  const [here, there] = places;
  const { ann, bob, cat, conversation } = await trio(here);
  const direct = (await add(here, ann, bob.name)).conversation_id;
  await done(send(here, ann, "PUT", `/v1/blocks/${bob.name}`));
  const [anns, bobs, cats] = [
    await listen(t, there, ann),
    await listen(t, there, bob),
    await listen(t, there, cat),
  ];
  for (const [who, where] of [
    [bob, conversation],
    [bob, direct],
    [ann, conversation],
    [ann, direct],
    [cat, conversation],
  ] as const)
    await type(here, who, where);
  await settle(here, cat, conversation, [anns, bobs, cats]);
  assert.deepEqual(typists(anns.events, ann, bob, cat), ["cat"]);
  assert.deepEqual(typists(bobs.events, ann, bob, cat).sort(), ["ann", "ann", "cat"]);
  assert.deepEqual(typists(cats.events, ann, bob, cat).sort(), ["ann", "bob"]);
});

onNodes("typing reaches joined members only, and is 404 for others", async (t, places, time) => {
  const [here, there] = places;
  const { ann, bob, cat, conversation, group } = await trio(here);
  const { conversation_id: waiting } = await add(here, ann, cat.name);
  const { conversation_id: notes } = await read<{ conversation_id: string }>(
    send(here, ann, "GET", "/v1/me"),
    200,
  );
  // Cat has Ann as a contact, and they share a conversation. Dan does not have Bob.
  const dan = await person(here, "dan");
  const { conversation_id: lonely } = await add(here, bob, "dan");
  const streams = [];
  for (const who of [ann, bob, cat, dan]) streams.push(await listen(t, there, who));
  const [anns, bobs, cats, dans] = streams as [Stream, Stream, Stream, Stream];
  await type(here, ann, notes);
  await type(here, bob, lonely);
  await type(here, ann, waiting);
  await done(send(here, cat, "DELETE", group));
  time.now += PAUSE_MS;
  await type(here, ann, conversation);
  for (const [who, where] of [
    [cat, conversation],
    [dan, lonely],
    [dan, notes],
    [ann, `${notes.slice(0, -12)}000000000000`],
    [ann, "nonsense"],
  ] as const)
    assert.equal(await code(post(here, who, where), 404), "conversation_not_found");
  await settle(here, ann, conversation, [anns, bobs]);
  await settle(here, ann, waiting, [cats]);
  await settle(here, dan, (await add(here, dan, bob.name)).conversation_id, [dans]);
  const all = [ann, bob, cat, dan];
  assert.deepEqual(
    [anns, bobs, cats, dans].map(({ events }) => typists(events, ...all)),
    [[], ["ann"], ["ann"], []],
  );
});

onNodes("the audience of typing is determined at delivery", async (t, [, server]) => {
  const { ann, bob, cat, conversation, group } = await trio(server);
  const { core } = server.app;
  const streams = [await listen(t, server, ann), await listen(t, server, bob)] as const;
  const deliver = (...people: Person[]) =>
    deliverTyping(
      core,
      people.map(({ id }) => JSON.stringify({ conversation_id: conversation, user_id: id, expires_at: 1 })),
    );
  await deliver(ann, bob, cat);
  await done(send(server, bob, "PUT", `/v1/blocks/${ann.name}`));
  await deliver(ann, bob, cat);
  await deleteUser(core, null, bob.id);
  await streams[1].ended;
  await deliver(ann, bob, cat);
  await done(send(server, cat, "DELETE", group));
  await deliver(ann, bob, cat);
  await settle(server, ann, conversation, [streams[0]]);
  assert.deepEqual(
    streams.map(({ events }) => typists(events, ann, bob, cat).sort().join()),
    ["bob,bob,cat,cat,cat", "ann,cat,cat"],
  );
});

onNodes("typing is broadcast once in three seconds", async (t, places, time) => {
  const [here, there] = places;
  const { ann, bob, conversation } = await pair(here);
  const cat = await person(here, "cat");
  const { conversation_id: other } = await add(here, ann, cat.name);
  await add(here, cat, ann.name);
  const [anns, bobs, cats] = [
    await listen(t, there, ann),
    await listen(t, there, bob),
    await listen(t, there, cat),
  ];
  for (let i = 0; i < 3; i++) await type(here, ann, conversation);
  await type(here, ann, other);
  await type(here, bob, conversation);
  await settle(here, ann, conversation, [anns, bobs]);
  // The limit also applies on another node.
  await type(there, ann, conversation);
  time.now += PAUSE_MS - 1;
  for (const place of places) await type(place, ann, conversation);
  await settle(here, ann, conversation, [anns, bobs]);
  assert.deepEqual(typists(bobs.events, ann), ["ann"]);
  time.now += 2;
  for (const place of places) await type(place, ann, conversation);
  await settle(here, ann, conversation, [anns, bobs]);
  await settle(here, ann, other, [cats]);
  assert.deepEqual(typists(bobs.events, ann), ["ann", "ann"]);
  assert.deepEqual(typists(cats.events, ann), ["ann"]);
  assert.deepEqual(typists(anns.events, bob), ["bob"]);
});

onNodes("a stream shows typing by its scopes and types", async (t, places) => {
  const [here, there] = places;
  const { ann, bob, conversation } = await pair(here);
  const withScopes = async (...scopes: ("events:read" | "messages:read" | "contacts:read")[]) => {
    const { token } = await createToken(here.app.core, null, bob.id, { scopes });
    return { ...bob, headers: { authorization: `Bearer ${token}` } };
  };
  const blind = await withScopes("events:read", "contacts:read");
  const reader = await withScopes("events:read", "messages:read");
  const streams = [
    await listen(t, there, reader),
    await listen(t, there, reader, { query: "?types=typing" }),
    await listen(t, there, bob, { query: "?types=typing,message.created" }),
    await listen(t, there, bob, { query: "?types=message.created,contact.created" }),
    await listen(t, there, blind),
  ];
  await type(here, ann, conversation);
  await streams[2]!.wait(1);
  await settle(here, ann, conversation, [streams[0]!, streams[2]!, streams[3]!]);
  await add(here, bob, "somebody");
  await streams[3]!.wait(2);
  await streams[4]!.wait(1);
  assert.deepEqual(
    streams.map(({ events }) => events.map(({ type }) => type)),
    [
      ["typing", "message.created"],
      ["typing"],
      ["typing", "message.created"],
      ["message.created", "contact.created"],
      ["contact.created"],
    ],
  );
  const asked = (who: Person, types: string, accept: string) =>
    send(there, who, "GET", `/v1/events?types=${types}`, undefined, { accept });
  assert.equal(await code(asked(blind, "typing", "text/event-stream"), 403), "insufficient_scope");
  for (const types of ["typing", "message.created,typing"]) {
    const problem = await read<Json>(asked(bob, types, "application/json"), 400);
    assert.deepEqual([problem.code, problem.param], ["invalid_parameter", "types"]);
    assert.match(String(problem.detail), /^typing works with streams only/);
  }
  const webhook = { url: "https://example.com/", events: "typing" };
  const problem = await read<Json>(send(here, bob, "POST", "/v1/webhooks", webhook), 400);
  assert.deepEqual([problem.code, problem.param], ["invalid_parameter", "events"]);
  assert.match(String(problem.detail), /one or more of attachment\.created, .*, webhook\.disabled/);
  assert.doesNotMatch(String(problem.detail), /typing/);
});

test("a client that does not read loses typing frames, and nothing else", async (t) => {
  const server = await startApp(t);
  const { ann, bob, conversation } = await pair(server);
  const { core } = server.app;
  const socket = await openSocket(server.url);
  socket.write(
    `GET /v1/events HTTP/1.1\r\nhost: x\r\nauthorization: ${bob.headers.authorization}\r\naccept: text/event-stream\r\n\r\n`,
  );
  await once(socket, "readable");
  const frame = Buffer.from(`event: typing\ndata: ${"x".repeat(20_000)}\n\n`);
  const FRAMES = 3000;
  for (let i = 0; i < FRAMES; i++) {
    core.eventHub.sendTyping(core, bob.id, { sse: frame, json: frame });
    if (i % 3 === 0) await setImmediate();
  }
  const id = await say(server, ann, conversation, "hello");
  let text = "";
  socket.on("data", (chunk) => {
    text += chunk;
  });
  assert.ok(await eventually(async () => text.includes(id)), "the message comes");
  const frames = text.slice(text.indexOf(": listening")).split("\n\n");
  const typed = frames.filter((each) => each.startsWith("event: typing")).length;
  assert.ok(typed > 0 && typed < FRAMES / 2, `${typed} of ${FRAMES} came`);
  assert.equal(frames.length, typed + 3, "each of them is whole");
  const again = Buffer.from("event: typing\ndata: again\n\n");
  core.eventHub.sendTyping(core, bob.id, { sse: again, json: again });
  assert.ok(await eventually(async () => text.endsWith("data: again\n\n")), "it is shown again");
  socket.destroy();
  t.diagnostic(`${typed} of ${FRAMES} frames were on their way`);
});

test("a stream whose token has ended gets no typing", async (t) => {
  const server = await startApp(t);
  const { core } = server.app;
  const frame = { sse: Buffer.from("x"), json: Buffer.from("x") };
  for (const isValid of [true, false]) {
    const hub = new EventHub();
    const seen = { frames: 0, ended: 0 };
    await hub.add(core, {
      userId: "usr_x",
      transport: "sse",
      waitsAfter: () => undefined,
      send() {},
      wake() {},
      sendTyping: () => seen.frames++,
      findRefusal: async () => (isValid ? undefined : "invalid_token"),
      end: () => seen.ended++,
    });
    for (let i = 0; i < 2; i++) {
      hub.sendTyping(core, "usr_x", frame);
      hub.sendTyping(core, "usr_y", frame);
      await setImmediate();
    }
    assert.equal(seen.frames, isValid ? 2 : 0);
    assert.equal(seen.ended > 0, !isValid);
  }
});
