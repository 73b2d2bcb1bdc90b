// A watched conversation delivers each change once and in order, whatever happens to its connection.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import {
  type Message,
  type MessageChange,
  Parley,
  type ParleyOptions,
  type StreamState,
} from "../../packages/parley-client/src/index.ts";
import { startApp, startOn, type TestApp } from "../support/app.ts";
import { eventually } from "../support/files-on-disk.ts";
import { add, person } from "../support/people.ts";
import { holds } from "../support/property.ts";
import { type Fate, proxy } from "../support/proxy.ts";
import { onCarriers, onEngines } from "./engines.ts";
import { failure } from "./failure.ts";

/** Creates two users who are contacts of each other, with a proxy before the second one. */
async function pair(
  t: TestContext,
  server: TestApp,
  fateOf: (path: string) => Fate = () => "pass",
  options: Partial<ParleyOptions> = {},
) {
  const [ann, bob] = [await person(server, "ann"), await person(server, "bob")];
  const { id: contact, conversation_id: conversation } = await add(server, bob, "ann");
  await add(server, ann, "bob");
  const between = await proxy(t, server.url, fateOf);
  const client = (token: string) => new Parley({ url: server.url, token });
  return {
    conversation,
    contact,
    between,
    ann: client(ann.token),
    bob: client(bob.token),
    watching: new Parley({ url: between.url, token: bob.token, ...options }),
  };
}

/** Watches until the test ends, and checks that the changes are consistent. */
function watch(t: TestContext, parley: Parley, conversation: string, limit?: number) {
  const stop = new AbortController();
  const changes: MessageChange[] = [];
  const shown = new Map<string, Message>();
  const faults: string[] = [];
  const created: string[] = [];
  const states: StreamState[] = [];
  const show = (change: MessageChange) => {
    changes.push(change);
    if (change.type === "message.deleted") {
      if (!shown.delete(change.id)) faults.push(`deleted, but not shown: ${change.id}`);
      return;
    }
    const { id } = change.message;
    if (change.type === "message.created") {
      if (created.includes(id)) faults.push(`created twice: ${id}`);
      if (id < (created.at(-1) ?? "")) faults.push(`created too late: ${id}`);
      created.push(id);
    } else if (!shown.has(id)) faults.push(`updated, but not shown: ${id}`);
    else if (plain([shown.get(id)!]) === plain([change.message]))
      faults.push(`updated without a change: ${id}`);
    shown.set(id, change.message);
  };
  const ended = (async () => {
    const onState = (state: StreamState) => states.push(state);
    const { signal } = stop;
    for await (const change of parley.messages.watch(conversation, { limit, signal, onState })) show(change);
  })();
  ended.catch(() => {});
  const close = async () => {
    stop.abort();
    await ended;
    assert.deepEqual(faults, []);
  };
  t.after(() => stop.abort());
  return { changes, shown, states, ended, close };
}

/**
 * Formats messages for comparison: without links, which each response signs anew, and with sorted reactions, because
 * events may arrive after what they report is shown.
 */
function plain(messages: Iterable<Message>): string {
  const toSet = (reactions: Message["reactions"]) =>
    reactions.flatMap(({ emoji, user_ids }) => user_ids.map((id) => `${emoji} ${id}`)).sort();
  const shown = [...messages].map((each) => ({ ...each, reactions: toSet(each.reactions) }));
  return JSON.stringify(shown, (key, value) => (key === "file_url" ? undefined : value));
}

const listed = (parley: Parley, conversation_id: string) =>
  Array.fromAsync(parley.messages.list({ conversation_id, ending_before: `msg_${"0".repeat(26)}` }));

onEngines("a watch starts with the newest messages and delivers every change once", async (t, config) => {
  const { ann, bob, watching, conversation } = await pair(t, await startOn(t, config));
  const send = (text: string) => ann.messages.create({ conversation_id: conversation, text });
  const [old, ...newer] = [await send("a"), await send("b"), await send("c")];
  const watched = watch(t, watching, conversation, 2);
  assert.ok(await eventually(async () => watched.changes.length === 2));
  assert.deepEqual([...watched.shown.values()], newer);
  const own = await bob.messages.create({ conversation_id: conversation, text: "own" });
  const file = await ann.messages.create(
    { conversation_id: conversation },
    { files: [new File(["x"], "x.txt")] },
  );
  await ann.attachments.update(file.attachments[0]!.id, { filename: "y.txt" });
  await ann.messages.update(newer[0]!.id, { text: "edited" });
  await ann.messages.delete(newer[1]!.id);
  const last = await send("last");
  assert.ok(await eventually(async () => watched.shown.has(last.id)));
  assert.equal(plain(watched.shown.values()), plain((await listed(bob, conversation)).slice(1)));
  assert.deepEqual([...watched.shown.keys()], [newer[0]!.id, own.id, file.id, last.id]);
  const before = watched.changes.length;
  const elsewhere = (await bob.me()).conversation_id;
  await bob.messages.create({ conversation_id: elsewhere, text: "a note" });
  await ann.messages.update(last.id, { text: "the end" });
  assert.ok(await eventually(async () => watched.shown.get(last.id)?.text === "the end"));
  assert.equal(watched.changes.length, before + 1);
  await ann.messages.addReaction(last.id, "👍");
  await bob.messages.addReaction(last.id, "❤️");
  await bob.messages.addReaction(last.id, "👍");
  await ann.messages.removeReaction(last.id, "👍");
  await bob.messages.removeReaction(last.id, "❤️");
  assert.ok(await eventually(async () => watched.changes.length === before + 6));
  assert.deepEqual(
    watched.changes
      .slice(before + 1)
      .map((change) => [
        ...[change.type, "emoji" in change && change.emoji],
        "message" in change && change.message.reactions.map(({ emoji, count }) => `${emoji} ${count}`).join(),
      ]),
    [
      ["reaction.created", "👍", "👍 1"],
      ["reaction.created", "❤️", "👍 1,❤️ 1"],
      ["reaction.created", "👍", "👍 2,❤️ 1"],
      ["reaction.deleted", "👍", "👍 1,❤️ 1"],
      ["reaction.deleted", "❤️", "👍 1"],
    ],
  );
  assert.deepEqual(watched.shown.get(last.id)!.reactions, (await bob.messages.retrieve(last.id)).reactions);
  await ann.messages.addReaction(old.id, "👍");
  await watched.close();
  const older = watch(t, watching, conversation, 1);
  assert.ok(await eventually(async () => older.changes.length === 1));
  await ann.messages.delete(old.id);
  assert.ok(await eventually(async () => older.changes.length === 2));
  assert.deepEqual(
    older.changes[1],
    { type: "message.deleted", id: old.id },
    "older than the first one shown",
  );
});

interface Operation {
  by: "ann" | "bob";
  what: "send" | "file" | "edit" | "delete" | "react" | "unreact" | "cut";
  which: number;
}

const operation: fc.Arbitrary<Operation> = fc.record({
  by: fc.constantFrom("ann", "bob"),
  what: fc.constantFrom("send", "send", "send", "file", "edit", "delete", "react", "unreact", "cut"),
  which: fc.nat(),
});
test("a watch starts with the newest messages at the time of its list", async (t) => {
  const delay = (path: string): Fate => (path.startsWith("/v1/messages") ? { waitMs: 500 } : "pass");
  const { ann, watching, conversation, between } = await pair(t, await startApp(t), delay);
  const watched = watch(t, watching, conversation, 1);
  assert.ok(await eventually(async () => between.seen.some(({ path }) => path.startsWith("/v1/messages"))));
  for (const text of ["1", "2"]) await ann.messages.create({ conversation_id: conversation, text });
  assert.ok(await eventually(async () => watched.shown.size > 0));
  const { id } = await ann.messages.create({ conversation_id: conversation, text: "3" });
  assert.ok(await eventually(async () => watched.shown.has(id)));
  assert.deepEqual(
    [...watched.shown.values()].map(({ text }) => text),
    ["2", "3"],
  );
  await watched.close();
});

const runs = fc.array(fc.array(operation, { minLength: 3, maxLength: 12 }), { minLength: 3, maxLength: 3 });

onCarriers(
  "concurrent messages during new watches and cut connections appear once and in order",
  async (t, carrier, config) => {
    const server = await startOn(t, config);
    const { ann, bob, watching, conversation, between } = await pair(t, server, () => "pass", carrier);
    const people = { ann, bob };
    const run = async (operations: Operation[]) => {
      const sent = { ann: [] as string[], bob: [] as string[] };
      for (const { by, what, which } of operations) {
        const { messages } = people[by];
        const own = sent[by];
        if (what === "cut") between.cut();
        else if (what === "edit" && own.length > 0)
          await messages.update(own[which % own.length]!, { text: `edited ${which}` });
        else if (what === "react" && own.length > 0)
          await messages.addReaction(own[which % own.length]!, String(which % 3));
        else if (what === "unreact" && own.length > 0)
          await messages.removeReaction(own[which % own.length]!, String(which % 3));
        else if (what === "delete" && own.length > 0)
          await messages.delete(own.splice(which % own.length, 1)[0]!);
        else {
          const files = what === "file" ? [new File(["x"], "x.txt")] : [];
          own.push(
            (await messages.create({ conversation_id: conversation, text: String(which) }, { files })).id,
          );
        }
      }
    };
    const property = fc.asyncProperty(runs, async (each) => {
      const early = watch(t, watching, conversation, 100);
      const running = each.map(run);
      const late = watch(t, watching, conversation, 100);
      await Promise.all(running);
      const last = await ann.messages.create({ conversation_id: conversation, text: "last" });
      const all = await listed(bob, conversation);
      for (const watched of [early, late]) {
        assert.ok(await eventually(async () => watched.shown.has(last.id)), "the last message is missing");
        // With more messages than the limit, earlier ones are not shown.
        const shown = [...watched.shown.keys()].sort();
        const expected = all.filter(({ id }) => id >= shown[0]!);
        assert.equal(plain(shown.map((id) => watched.shown.get(id)!)), plain(expected));
        await watched.close();
      }
      for (const { id, sender } of all) await people[sender!.username as "ann"].messages.delete(id);
    });
    await holds(property, 12);
  },
);

onCarriers("a watch whose events have expired reads the list again", async (t, carrier, config) => {
  let now = Date.UTC(2026, 0, 1);
  let isAway = false;
  const server = await startOn(t, config, { clock: () => now });
  const fateOf = (path: string): Fate => (isAway && path.startsWith("/v1/events") ? { status: 502 } : "pass");
  const { ann, bob, watching, conversation, between } = await pair(t, server, fateOf, carrier);
  const send = (text: string) => ann.messages.create({ conversation_id: conversation, text });
  const [first, second, third] = [await send("1"), await send("2"), await send("3")];
  const watched = watch(t, watching, conversation);
  assert.ok(await eventually(async () => watched.shown.size === 3 && watched.states.at(-1) === "ready"));
  isAway = true;
  between.cut();
  await ann.messages.delete(first.id);
  await ann.messages.update(second.id, { text: "two" });
  const more = [];
  for (let i = 0; i < 120; i++) more.push((await send(String(i))).id);
  now += 8 * 24 * 3600 * 1000;
  isAway = false;
  const last = await send("last");
  assert.ok(await eventually(async () => watched.shown.has(last.id)));
  assert.deepEqual(
    watched.changes.slice(3).map((change) => [change.type, "id" in change ? change.id : change.message.id]),
    [
      ["message.deleted", first.id],
      ["message.updated", second.id],
      ...[...more, last.id].map((id) => ["message.created", id]),
    ],
  );
  assert.equal(plain(watched.shown.values()), plain(await listed(bob, conversation)));
  assert.ok(watched.shown.has(third.id));
  assert.ok(await eventually(async () => watched.states.length === 4));
  assert.deepEqual(watched.states, ["connecting", "ready", "reconnecting", "ready"]);
  await watched.close();
});

test("a watch ends with its signal, its loop or its conversation", async (t) => {
  const { ann, bob, watching, conversation, contact, between } = await pair(t, await startApp(t));
  await ann.messages.create({ conversation_id: conversation, text: "hello" });
  for await (const change of watching.messages.watch(conversation)) {
    assert.equal(change.type, "message.created");
    break;
  }
  const aborted = watching.messages.watch(conversation, { signal: AbortSignal.abort() });
  assert.deepEqual(await Array.fromAsync(aborted), []);
  const unknown = watching.messages.watch(`cnv_${"0".repeat(26)}`);
  assert.equal((await failure(unknown.next())).code, "conversation_not_found");
  const left = watch(t, watching, conversation);
  assert.ok(await eventually(async () => left.changes.length === 1 && between.underWay() === 1));
  await bob.contacts.delete(contact);
  assert.equal((await failure(left.ended)).code, "conversation_not_found");
  const group = await bob.groups.create({ name: "Climbing" });
  const ended = watch(t, watching, group.conversation_id!);
  assert.ok(await eventually(async () => ended.changes.length === 1 && between.underWay() === 1));
  await bob.groups.leave(group.id);
  assert.equal((await failure(ended.ended)).code, "conversation_not_found");
  assert.ok(await eventually(async () => between.underWay() === 0));
});

test("a watch with include has what it adds, in the list and in changes", async (t) => {
  const { bob, conversation } = await pair(t, await startApp(t));
  const send = (text: string) =>
    bob.messages.create({ conversation_id: conversation, text }, { files: [new File(["x"], "x.txt")] });
  await send("1");
  const seen: [string, unknown][] = [];
  for await (const change of bob.messages.watch(conversation, { include: "unscanned" })) {
    if (change.type !== "message.created") continue;
    const [file] = change.message.attachments;
    seen.push([change.message.text!, file!.unscanned]);
    if (seen.length === 1) await send("2");
    else break;
  }
  const [[, unscanned]] = seen as [[string, unknown]];
  assert.equal(typeof unscanned, "boolean");
  assert.deepEqual(seen, [
    ["1", unscanned],
    ["2", unscanned],
  ]);
});
