// What events change, without a server: each event can be applied again.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Conversation, Me, Message, StreamEvent } from "../../packages/parley-client/src/index.ts";
import { Copy } from "../../packages/parley-sync/src/copy.ts";
import { Draft } from "../../packages/parley-sync/src/draft.ts";
import { META, type Meta, talkKey } from "../../packages/parley-sync/src/entries.ts";
import { applyEvent, applyRead, putNewest } from "../../packages/parley-sync/src/reduce.ts";
import { memoryStore } from "../../packages/parley-sync/src/store.ts";

const CONVERSATION = "cnv_1";
const me = { id: "usr_me", username: "me" } as Me;
const meta: Meta = { me, inboxFloor: "", contactsFloor: "" };

function toMessage(number: number, sender = "usr_other", change: Partial<Message> = {}): Message {
  return {
    ...{ id: `msg_${number}`, conversation_id: CONVERSATION, type: "text", text: String(number), data: null },
    sender: { id: sender, username: sender, display_name: null, avatar_url: null, kind: "person" },
    ...{
      attachments: [],
      mentions: [],
      reply_to_id: null,
      client_id: null,
      reactions: [],
      created_at: number,
      edited_at: null,
    },
    ...change,
  } as Message;
}

const toEvent = (type: string, payload: object) =>
  ({ type, id: "evt_1", conversation_id: CONVERSATION, payload }) as unknown as StreamEvent;
const created = (number: number, sender?: string) => toEvent("message.created", toMessage(number, sender));

const ROW = {
  ...{ id: CONVERSATION, kind: "contact", contact_id: null, group_id: null, name: "other", avatar_url: null },
  ...{
    last_message: null,
    unread_count: 0,
    unread_mention_count: 0,
    last_read_id: null,
    contact_read_id: null,
    is_pinned: false,
  },
  ...{ is_archived: false, muted_until: null, position: null, created_at: 0, contact_joined: true },
} as Conversation;

/** Opens a copy with one conversation without messages. */
async function openCopy() {
  const hooks = { changed() {}, written() {}, broken() {}, damaged() {} };
  const copy = new Copy(memoryStore(), hooks);
  await copy.open();
  const talk = { row: ROW, tail: "", floor: "", count: 0, bytes: 0, members: null };
  await copy.commit(
    new Map<string, object>([
      [META, meta],
      [talkKey(CONVERSATION), talk],
    ]),
  );
  await copy.load(CONVERSATION);
  const apply = (...events: StreamEvent[]) => {
    for (const event of events) {
      const draft = new Draft(copy);
      applyEvent(draft, meta, event);
      void copy.commit(draft.batch);
    }
  };
  const row = () => copy.talks.get(CONVERSATION)!.row;
  return { copy, apply, row };
}

test("a new message counts as unread once, however often its event comes", async () => {
  const { apply, row, copy } = await openCopy();
  apply(created(1), created(2), created(1), created(2));
  assert.equal(row().unread_count, 2);
  assert.equal(row().last_message?.id, "msg_2");
  assert.equal(row().position, "2");
  assert.equal(copy.talks.get(CONVERSATION)!.count, 2);
});

test("an own message, also from another device, reads everything before it", async () => {
  const { apply, row } = await openCopy();
  apply(created(1), created(2, me.id), created(3));
  assert.deepEqual([row().unread_count, row().last_read_id], [1, "msg_2"]);
});

test("a message of the system is not unread, and not the last one", async () => {
  const { apply, row } = await openCopy();
  apply(created(1), toEvent("message.created", toMessage(2, "usr_other", { type: "joined", text: null })));
  assert.deepEqual([row().unread_count, row().last_message?.id], [1, "msg_1"]);
});

test("a row that is older than the copy is completed by the events that follow", async () => {
  const { apply, row } = await openCopy();
  apply(created(1), created(2, me.id));
  const older = { ...ROW, last_message: toMessage(1), unread_count: 1, position: "1" };
  apply(toEvent("conversation.updated", older), created(2, me.id), created(3));
  assert.deepEqual([row().unread_count, row().last_message?.id], [1, "msg_3"]);
});

test("messages are read again once one of them shows that its sender was erased", async () => {
  const { copy, apply } = await openCopy();
  apply(created(1), created(2));
  assert.equal(copy.stale.size, 0);
  apply(toEvent("message.updated", toMessage(2, "usr_other", { sender: null })));
  assert.deepEqual(copy.stale.get(CONVERSATION), { what: "window" });
});

test("events of reactions give the same list in any number of repetitions", async () => {
  const { apply, copy } = await openCopy();
  const reaction = (type: string, user_id: string) =>
    toEvent(type, { message_id: "msg_1", conversation_id: CONVERSATION, emoji: "👍", user_id });
  const all = [
    created(1),
    reaction("reaction.created", "a"),
    reaction("reaction.created", "b"),
    reaction("reaction.deleted", "a"),
  ];
  apply(...all, ...all.slice(1));
  const { reactions } = copy.messages.get(CONVERSATION)!.get("msg_1")!;
  assert.deepEqual(reactions, [{ emoji: "👍", count: 1, user_ids: ["b"] }]);
});

test("the newest page removes what it does not have, and keeps what is older than it", async () => {
  const { apply, copy } = await openCopy();
  apply(...[1, 2, 3, 4, 5].map((number) => created(number)));
  const page = { data: [toMessage(5), toMessage(3)], has_more: true };
  for (const [isWhole, wanted] of [
    [false, ["msg_1", "msg_2", "msg_3", "msg_5"]],
    [true, ["msg_3", "msg_5"]],
  ] as const) {
    const draft = new Draft(copy);
    putNewest(draft, CONVERSATION, page, isWhole);
    await copy.commit(draft.batch);
    assert.deepEqual([...copy.messages.get(CONVERSATION)!.keys()].sort(), wanted);
    assert.equal(copy.talks.get(CONVERSATION)!.count, wanted.length);
  }
  assert.equal(copy.talks.get(CONVERSATION)!.floor, "msg_3");
});

test("mentions count with the unread messages that have them, until they are read", async () => {
  const { apply, row, copy } = await openCopy();
  const mention = (number: number, mentions: string[], type = "message.created") =>
    toEvent(type, toMessage(number, "usr_other", { mentions }));
  const counts = () => [row().unread_count, row().unread_mention_count];
  apply(
    mention(1, [me.id]),
    created(2),
    mention(3, ["usr_x", me.id]),
    mention(4, ["usr_x"]),
    mention(3, [me.id]),
  );
  assert.deepEqual(counts(), [4, 2]);
  const draft = new Draft(copy);
  applyRead(draft, meta, CONVERSATION, "msg_2");
  await copy.commit(draft.batch);
  assert.deepEqual(counts(), [2, 1]);
  apply(created(5, me.id));
  assert.deepEqual(counts(), [0, 0]);
  apply(...Array.from({ length: 100 }, (_, i) => created(600 + i)), mention(700, [me.id]));
  assert.deepEqual(counts(), [100, 0], "as the server counts");
});

test("the row is read again after an edit that changes whether an unread message mentions the user", async () => {
  const { apply, copy } = await openCopy();
  const edited = (number: number, mentions: string[]) =>
    toEvent("message.updated", toMessage(number, "usr_other", { mentions }));
  apply(created(1), created(2), edited(1, ["usr_x"]));
  assert.equal(copy.stale.size, 0);
  apply(edited(2, [me.id]));
  assert.deepEqual(copy.stale.get(CONVERSATION), { what: "row" });
});
