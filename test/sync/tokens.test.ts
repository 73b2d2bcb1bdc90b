// What tokens with few scopes show, what is read with `include`, and what is said about refusals and missed events.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Parley } from "../../packages/parley-client/src/index.ts";
import type { Operation } from "../../packages/parley-sync/src/index.ts";
import { createToken } from "../../src/core/people/tokens.ts";
import { sharedApp } from "../support/app.ts";
import { eventually } from "../support/files-on-disk.ts";
import { add, pair, person, read, say, send, trio } from "../support/people.ts";
import { proxy } from "../support/proxy.ts";
import { openDevice, settled, show } from "./device.ts";

const server = sharedApp();

type Scopes = NonNullable<Parameters<typeof createToken>[3]["scopes"]>;

async function withScopes(app: Awaited<ReturnType<typeof server>>, user: string, scopes: Scopes) {
  const { token } = await createToken(app.app.core, null, user, { scopes });
  return { url: app.url, token };
}

test("a token without messages:read shows contacts and passes on events", async (t) => {
  const app = await server();
  const { ann } = await pair(app);
  const device = await openDevice(t, await withScopes(app, ann.id, ["contacts:read", "events:read"]));
  const heard: string[] = [];
  device.sync.onEvent(({ type }) => heard.push(type));
  assert.ok(await settled(device));
  const contacts = () => device.sync.contacts().getSnapshot().items.length;
  assert.equal(contacts(), 1);
  await add(app, ann, "somebody");
  assert.ok(await eventually(async () => contacts() === 2));
  assert.deepEqual(heard, ["contact.created"]);
  assert.deepEqual(device.sync.inbox().getSnapshot(), { items: [], hasOlder: false });
});

test("a token without events:read shows what there is, and sends", async (t) => {
  const app = await server();
  const { ann, bob, conversation } = await pair(app);
  await say(app, bob, conversation, "hello");
  const at = await withScopes(app, ann.id, ["messages:read", "messages:write"]);
  const device = await openDevice(t, at);
  const view = show(t, device, conversation);
  const state = () => device.sync.connection().getSnapshot();
  assert.ok(await eventually(async () => state().state === "refused"));
  assert.equal(state().reason!.code, "insufficient_scope");
  device.sync.send(conversation, { text: "answer" });
  assert.ok(
    await eventually(
      async () =>
        String(view.getSnapshot().messages.map(({ text, state }) => `${text} ${state}`)) ===
        "hello sent,answer sent",
    ),
  );
});

test("a token without contacts:read and groups:read opens conversations far down", async (t) => {
  const app = await server();
  const { ann, bob, conversation } = await trio(app);
  await say(app, bob, conversation, "in the group");
  for (let i = 0; i < 21; i++) {
    const { conversation_id } = await add(app, ann, `friend ${i}`);
    await say(app, ann, conversation_id, "hello");
  }
  const device = await openDevice(t, await withScopes(app, ann.id, ["messages:read", "events:read"]));
  assert.ok(await settled(device));
  const view = show(t, device, conversation);
  assert.ok(await eventually(async () => view.getSnapshot().messages.at(-1)?.text === "in the group"));
});

test("pinned conversations are in the inbox, however old", async (t) => {
  const app = await server();
  const ann = await person(app, "ann-who-pins");
  const ids: string[] = [];
  for (let i = 0; i < 23; i++) {
    const { conversation_id } = await add(app, ann, `pinned friend ${i}`);
    await say(app, ann, conversation_id, "hello");
    ids.push(conversation_id);
  }
  const pin = (id: string, is_pinned: boolean) =>
    read(send(app, ann, "PUT", `/v1/conversations/${id}`, { is_pinned }), 200);
  await pin(ids[0]!, true);
  const device = await openDevice(t, { url: app.url, token: ann.token });
  assert.ok(await settled(device));
  const shown = () =>
    device.sync
      .inbox()
      .getSnapshot()
      .items.map(({ id }) => id);
  const newest = ids.slice(3).reverse();
  assert.deepEqual(shown(), [...newest, ids[0]]);
  await pin(ids[1]!, true);
  assert.ok(await eventually(async () => shown().length === 22));
  await pin(ids[0]!, false);
  assert.ok(await eventually(async () => String(shown()) === String([...newest, ids[1]])));
});

test("the members of files that are asked for are there", async (t) => {
  const app = await server();
  const { ann, bob, conversation } = await pair(app);
  const form = new FormData();
  form.append("conversation_id", conversation);
  form.append("file", new File(["text"], "a.txt"));
  await read(fetch(`${app.url}/v1/messages`, { method: "POST", headers: bob.headers, body: form }), 201);
  const device = await openDevice(t, { url: app.url, token: ann.token }, { include: "image" });
  const view = show(t, device, conversation);
  const images = () =>
    view.getSnapshot().messages.flatMap(({ attachments }) => attachments.map(({ image }) => image));
  assert.ok(await eventually(async () => images().length === 1));
  assert.deepEqual(images(), [null]);
});

test("the instance that reacted learns that the server refused it, and shows it no longer", async (t) => {
  const app = await server();
  const { ann, bob, conversation } = await pair(app);
  const id = await say(app, bob, conversation, "hello");
  const device = await openDevice(t, { url: app.url, token: ann.token });
  const view = show(t, device, conversation);
  const refused: Operation[] = [];
  device.sync.onRefused((operation) => refused.push(operation));
  assert.ok(await settled(device));
  device.sync.react(conversation, id, "two words");
  assert.ok(await eventually(async () => refused.length === 1));
  const [{ kind, message_id, reason }] = refused as [Operation];
  assert.deepEqual(
    [kind, message_id, reason?.code, reason?.param],
    ["react", id, "invalid_parameter", "emoji"],
  );
  assert.deepEqual(view.getSnapshot().messages[0]!.reactions, []);
});

test("an app hears that everything was read again", async (t) => {
  const app = await server();
  const { ann } = await pair(app);
  const client = new Parley({ url: app.url, token: ann.token });
  const { stream } = client.events;
  let isErased = false;
  client.events.stream = async function* (options) {
    if (isErased) yield* stream.call(client.events, options);
    isErased = true;
    throw Object.assign(new Error("erased"), { code: "events_erased", status: 410, detail: "" });
  };
  let missed = 0;
  const device = await openDevice(t, { url: app.url, token: ann.token }, { client });
  device.sync.onMissed(() => missed++);
  assert.ok(await settled(device));
  // The first time, there was nothing yet.
  assert.equal(missed, 2);
});

/** Returns an answer that refuses a request. */
function refusal(status: number, code: string) {
  const problem = { type: "about:blank", title: "Refused", status, code, detail: "Refused." };
  return { status, headers: { "content-type": "application/problem+json" }, body: JSON.stringify(problem) };
}

test("a message whose body arrived too slowly is sent again", async (t) => {
  const app = await server();
  const { ann, conversation } = await pair(app);
  let sends = 0;
  const between = await proxy(t, app.url, (path) =>
    path === "/v1/messages" && ++sends === 1 ? refusal(408, "request_timeout") : "pass",
  );
  const device = await openDevice(t, { url: between.url, token: ann.token });
  const { key } = device.sync.send(conversation, { text: "slow" });
  const view = show(t, device, conversation);
  const stateOf = () => view.getSnapshot().messages.find((each) => each.key === key)?.state;
  assert.ok(await eventually(async () => stateOf() === "sent"));
  assert.equal(sends, 2);
});

test("a message that finds the storage full fails visibly", async (t) => {
  const app = await server();
  const { ann, conversation } = await pair(app);
  const between = await proxy(t, app.url, (path) =>
    path === "/v1/messages" ? refusal(507, "quota_exceeded") : "pass",
  );
  const device = await openDevice(t, { url: between.url, token: ann.token });
  device.sync.send(conversation, { text: "too much" });
  assert.ok(await settled(device));
  const [failed] = device.sync.outbox().getSnapshot();
  assert.deepEqual([failed!.state, failed!.reason!.code], ["failed", "quota_exceeded"]);
});

test("a contact who writes has joined", async (t) => {
  const app = await server();
  const [ann, bob] = [await person(app, "ann-first"), await person(app, "bob-later")];
  const { conversation_id } = await add(app, ann, bob.name);
  const device = await openDevice(t, { url: app.url, token: ann.token });
  const view = show(t, device, conversation_id);
  const hasJoined = () => view.getSnapshot().conversation?.contact_joined;
  assert.ok(await eventually(async () => hasJoined() === false));
  const back = await add(app, bob, ann.name);
  await say(app, bob, back.conversation_id, "now I am");
  assert.ok(await eventually(async () => hasJoined() === true));
});
