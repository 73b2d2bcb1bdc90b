// A store whose entries were changed or lost: they are dropped, and read again.
import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryStore, type Value } from "../../packages/parley-sync/src/index.ts";
import { sharedApp } from "../support/app.ts";
import { eventually } from "../support/files-on-disk.ts";
import { pair, say } from "../support/people.ts";
import { openDevice, plain, settled, show } from "./device.ts";

const server = sharedApp();

/** Tests that a process shows what the server has after damage to any one entry of the store. */
function damageEach(kind: string, toDamaged: (value: Value) => Value | null): void {
  test(`${kind}: every damaged entry is read again`, async (t) => {
    const app = await server();
    const { ann, bob, conversation } = await pair(app);
    for (let i = 0; i < 3; i++) await say(app, bob, conversation, String(i));
    const store = memoryStore();
    const at = { url: app.url, token: ann.token };
    const first = await openDevice(t, at, { store });
    assert.ok(await settled(first));
    const wanted = plain(
      (await first.client.messages.list({ conversation_id: conversation })).data.toReversed(),
    );
    const row = plain(await first.client.conversations.retrieve(conversation));
    assert.ok(await eventually(async () => (await store.scan("message/")).length === 3));
    await first.sync.close();
    for (const [key, value] of await store.scan("")) {
      const damaged = toDamaged(value as Value);
      await store.write(new Map([[key, damaged]]));
      const next = await openDevice(t, at, { store });
      const view = show(t, next, conversation);
      assert.ok(
        await eventually(async () => {
          const { conversation: entry } = view.getSnapshot();
          return plain(view.getSnapshot().messages) === wanted && plain(entry) === row;
        }),
        key,
      );
      await next.sync.close();
    }
  });
}

damageEach("junk", () => ({ id: 7, row: "junk" }));
damageEach("loss", () => null);
damageEach("wrong types", (value) => Object.fromEntries(Object.keys(value).map((name) => [name, 7])));

test("a pending message whose entry is damaged keeps its text as a failed one", async (t) => {
  const app = await server();
  const { ann, conversation } = await pair(app);
  const store = memoryStore();
  const first = await openDevice(t, { url: "http://127.0.0.1:1", token: ann.token }, { store });
  first.sync.send(conversation, { text: "kept" });
  assert.ok(await eventually(async () => (await store.scan("out/")).length === 1));
  await first.sync.close();
  const [[key, value]] = (await store.scan("out/")) as [[string, Value]];
  await store.write(new Map([[key, { ...value, files: "junk" }]]));
  const second = await openDevice(t, { url: app.url, token: ann.token }, { store });
  assert.ok(await settled(second));
  const [{ state, reason, ...kept }] = second.sync.outbox().getSnapshot() as never as [
    Record<string, unknown>,
  ];
  assert.deepEqual([state, (reason as { code: string }).code, kept.text], ["failed", "damaged", "kept"]);
});

test("a missing message that the snapshot does not have is noticed, and read again", async (t) => {
  const app = await server();
  const { ann, bob, conversation } = await pair(app);
  for (let i = 0; i < 30; i++) await say(app, bob, conversation, String(i));
  const store = memoryStore();
  const at = { url: app.url, token: ann.token };
  const first = await openDevice(t, at, { store });
  const view = show(t, first, conversation);
  assert.ok(await eventually(async () => view.getSnapshot().messages.length === 20));
  await view.loadOlder();
  await first.sync.close();
  const keys = (await store.scan("message/")).map(([key]) => key).sort();
  assert.equal(keys.length, 30);
  await store.write(new Map([[keys[3]!, null]]));
  const next = await openDevice(t, at, { store });
  const shown = show(t, next, conversation);
  assert.ok(await eventually(async () => shown.getSnapshot().messages.length === 30));
});
