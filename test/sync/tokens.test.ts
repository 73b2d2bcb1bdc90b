// What tokens with few scopes show.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createToken } from "../../src/core/people/tokens.ts";
import { sharedApp } from "../support/app.ts";
import { eventually } from "../support/files-on-disk.ts";
import { add, pair, say, trio } from "../support/people.ts";
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
