// Notifications when an edit adds mentions.

import assert from "node:assert/strict";
import { test } from "node:test";
import { startApp } from "../../support/app.ts";
import { asker, type Json } from "../../support/asker.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { fillGroups } from "../../support/groups.ts";
import { LIMITS } from "../../support/hooks.ts";
import { onEachEngineWith } from "../../support/on-engines.ts";
import { code, type Person, read, say, send } from "../../support/people.ts";
import { published } from "../../support/published.ts";
import { pushServer, settled, subscribe } from "../../support/push-server.ts";

type Message = { id: string; text: string; mentions: string[]; edited_at: number | null };

onEachEngineWith(LIMITS, "an edit alerts users it newly mentions who see the message", async (server, t) => {
  const admin = await server.user({ scopes: ["admin", "events:read", "messages:read"] });
  const { people, whole } = await fillGroups(server, admin);
  const { ann, bob, cat } = people;
  const conversation = String(whole.conversation_id);
  const until = Math.floor(Date.now() / 1000) + 3600;
  const mute = { muted_until: until };
  assert.equal((await send(server, bob, "PUT", `/v1/conversations/${conversation}`, mute)).status, 200);
  const id = await say(server, ann, conversation, "hello", { mentions: [cat.id] });
  const edit = (fields: object) => read<Message>(send(server, ann, "PUT", `/v1/messages/${id}`, fields), 200);
  const alerts = async (who: Person) =>
    ((await asker(server, who)("GET", "/v1/events?types=message.mentioned")).body.data as Json[]).map(
      ({ notify, payload }) => [notify, (payload as Json).text ?? null],
    );
  await send(server, bob, "PUT", `/v1/conversations/${conversation}/read`, { message_id: id });
  // PostgreSQL numbers events after their commit, and a subscription gets events numbered after it was created.
  await published(server);
  const to = await pushServer(t);
  await subscribe(server, bob, to.device("/bob"));
  await subscribe(server, cat, to.device("/cat"));
  await subscribe(server, ann, to.device("/ann"));

  const edited = await edit({ text: "hello Bob", mentions: [cat.id, bob.id, ann.id] });
  assert.deepEqual(edited.mentions, [cat.id, bob.id, ann.id]);
  assert.notEqual(edited.edited_at, null);
  assert.ok(await eventually(async () => (await alerts(bob)).length === 1));
  assert.deepEqual(await alerts(bob), [[true, "hello Bob"]]);
  await settled(server);
  assert.deepEqual(
    to.pushed.map(({ path, event }) => [path, event.type, event.notify]),
    [["/bob", "message.mentioned", true]],
    "muted and read before: the mention alerts all the same, and only those it names first",
  );
  assert.deepEqual(await alerts(cat), []);

  const same = await edit({ mentions: [cat.id, bob.id, ann.id] });
  assert.deepEqual(same, edited, "no change");
  await edit({ text: "hello again" });
  assert.deepEqual((await edit({ mentions: [bob.id] })).mentions, [bob.id]);
  await settled(server);
  assert.equal(to.pushed.length, 1);
  assert.deepEqual((await edit({ mentions: null })).mentions, []);

  await send(server, cat, "PUT", `/v1/blocks/${ann.name}`);
  await edit({ mentions: [cat.id] });
  await settled(server);
  assert.equal(to.pushed.length, 1, "who has blocked the sender is not alerted");
  assert.deepEqual(await alerts(cat), []);

  const stranger = await server.user();
  assert.equal(
    await code(send(server, ann, "PUT", `/v1/messages/${id}`, { mentions: [stranger.id] }), 400),
    "invalid_parameter",
  );
  const cleared = await asker(server, ann)("PUT", `/v1/messages/${id}`, "mentions=");
  assert.deepEqual([cleared.status, cleared.body.mentions], [200, []]);
});

test("edits with mentions count as messages", async (t) => {
  const now = Date.now();
  const limits = { requestsPerSecond: 1000, messagesPerMinute: 3 };
  const server = await startApp(t, limits, { clock: () => now });
  const user = await server.user();
  const { conversation_id } = (await asker(server, user)("GET", "/v1/me")).body;
  const id = await say(server, user, String(conversation_id), "a");
  const edit = (fields: object) => send(server, user, "PUT", `/v1/messages/${id}`, fields);
  for (let i = 0; i < 3; i++) await read(edit({ mentions: [user.id] }), 200);
  assert.equal(await code(edit({ mentions: [user.id] }), 429), "rate_limited");
  await read(edit({ text: "b", mentions: [] }), 200);
});
