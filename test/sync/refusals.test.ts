// What happens to an operation that the server refuses.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Operation } from "../../packages/parley-sync/src/index.ts";
import { sharedApp } from "../support/app.ts";
import { eventually } from "../support/files-on-disk.ts";
import { pair, say } from "../support/people.ts";
import { proxy } from "../support/proxy.ts";
import { openDevice, settled, show } from "./device.ts";

const server = sharedApp();

/** Returns an answer that refuses a request. */
function refusal(status: number, code: string) {
  const problem = { type: "about:blank", title: "Refused", status, code, detail: "Refused." };
  return { status, headers: { "content-type": "application/problem+json" }, body: JSON.stringify(problem) };
}

const PASSING = [
  [408, "request_timeout"],
  [429, "rate_limited"],
  [500, "internal_error"],
] as const;
for (const [status, code] of PASSING)
  test(`a message that is answered ${status} is sent again`, async (t) => {
    const app = await server();
    const { ann, conversation } = await pair(app);
    let sends = 0;
    const between = await proxy(t, app.url, (path) =>
      path === "/v1/messages" && ++sends === 1 ? refusal(status, code) : "pass",
    );
    const device = await openDevice(t, { url: between.url, token: ann.token });
    device.sync.send(conversation, { text: "again" });
    assert.ok(await settled(device));
    assert.deepEqual(device.sync.outbox().getSnapshot(), []);
    assert.equal(sends, 2);
  });

const REFUSED = [
  [401, "invalid_token"],
  [403, "user_paused"],
] as const;
for (const [status, code] of REFUSED)
  test(`a message that is refused with ${code} waits`, async (t) => {
    const app = await server();
    const { ann, conversation } = await pair(app);
    let isValid = false;
    const between = await proxy(t, app.url, (path) =>
      path === "/v1/messages" && !isValid ? refusal(status, code) : "pass",
    );
    const device = await openDevice(t, { url: between.url, token: ann.token });
    const pending = () => device.sync.outbox().getSnapshot()[0];
    device.sync.send(conversation, { text: "waits" });
    assert.ok(await eventually(async () => pending()?.reason?.code === code));
    assert.equal(pending()!.state, "waiting");
    isValid = true;
    device.sync.wake();
    assert.ok(await eventually(async () => pending() === undefined));
    const { data } = await device.client.messages.list({ conversation_id: conversation });
    assert.deepEqual(
      data.map(({ text }) => text),
      ["waits"],
    );
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
