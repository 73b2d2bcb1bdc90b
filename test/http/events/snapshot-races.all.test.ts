// Snapshots while others write: each, with the events after its cursor, becomes what the lists show at last.

import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { TestApp } from "../../support/app.ts";
import { allEvents, type TestEvent } from "../../support/event-stream.ts";
import { onEachEngine } from "../../support/on-engines.ts";
import { add, type Person, read, send, trio } from "../../support/people.ts";
import { published } from "../../support/published.ts";
import { scaled } from "../../support/scale.ts";
import { compareSnapshot } from "../visibility/sharing-snapshot.ts";

interface Message {
  id: string;
  text: string | null;
  edited_at: number | null;
  reactions: { emoji: string; user_ids: string[] }[];
}

interface Entry {
  id: string;
  contact: { id: string; display_name: string | null } | null;
  messages: Message[];
  members: { id: string; role: string }[] | null;
}

interface Snapshot {
  conversations: Entry[];
  last_event_id: string;
}

/** Few, so that no conversation ever has more messages than a snapshot shows. */
const OPERATIONS = 40;
const ROUNDS = scaled(2, 40);
const PATH = "/v1/snapshot?conversations=100&messages=50";

/** What a client keeps of a conversation. */
interface Copy {
  name: string | null;
  /** Text, whether it was edited, and the reactions, by the id of the message. */
  messages: Map<string, { text: string | null; reactions: Set<string> }>;
  /** Roles by the id of the member. */
  members: Map<string, string>;
}

function toCopy({ contact, messages, members }: Entry): Copy {
  return {
    name: contact?.display_name ?? null,
    messages: new Map(messages.map((message) => [message.id, toKept(message)])),
    members: new Map(members?.filter(({ role }) => role !== "invited").map(({ id, role }) => [id, role])),
  };
}

function toKept({ text, reactions }: Message) {
  const each = reactions.flatMap(({ emoji, user_ids }) => user_ids.map((id) => `${emoji} ${id}`));
  return { text, reactions: new Set(each) };
}

/** Applies events as a client does, in their order. Applying one whose change is known changes nothing. */
function applyTo(copies: Map<string, Copy>, events: readonly TestEvent[]): void {
  for (const { type, conversation_id, payload } of events) {
    const copy = copies.get(conversation_id ?? "");
    if (!copy) continue;
    const id = payload.id as string;
    if (type === "contact.updated") copy.name = payload.display_name as string | null;
    else if (type.startsWith("message.")) {
      if ("text" in payload) copy.messages.set(id, toKept(payload as unknown as Message));
      else copy.messages.delete(id);
    } else if (type.startsWith("member.")) {
      if ("role" in payload) copy.members.set(id, payload.role as string);
      else copy.members.delete(id);
    } else if (type.startsWith("reaction.") && "emoji" in payload) {
      const reactions = copy.messages.get(payload.message_id as string)?.reactions;
      const reaction = `${payload.emoji} ${payload.user_id}`;
      if (type === "reaction.created") reactions?.add(reaction);
      else reactions?.delete(reaction);
    }
  }
}

/** One writer: sends, edits, deletes, reacts, and as an admin changes contacts and roles. */
class Writer {
  readonly #server: TestApp;
  readonly #who: Person;
  /** Where the writer sends. */
  readonly #conversations: readonly string[];
  /** All messages of the group so far. */
  readonly #sent: string[];
  readonly #own: string[] = [];

  constructor(server: TestApp, who: Person, conversations: readonly string[], sent: string[]) {
    this.#server = server;
    this.#who = who;
    this.#conversations = conversations;
    this.#sent = sent;
  }

  async #ask(method: string, path: string, body?: object): Promise<{ id?: string }> {
    const answer = await send(this.#server, this.#who, method, path, body);
    const text = await answer.text();
    // A message that another writer has deleted is not found.
    assert.ok(answer.ok || answer.status === 404, `${method} ${path}: ${answer.status} ${text}`);
    return answer.ok && text ? JSON.parse(text) : {};
  }

  async step(count: number, more: readonly [method: string, path: string, body?: object][]): Promise<void> {
    const any = this.#sent.at(-1 - randomInt(3)) ?? "msg_01h455vb4pex5vsknk084sn02q";
    const kind = randomInt(8);
    if (kind < 3) {
      const conversation_id = this.#conversations[count % this.#conversations.length];
      const { id } = await this.#ask("POST", "/v1/messages", { conversation_id, text: `${count}` });
      this.#own.push(id!);
      if (conversation_id === this.#conversations[0]) this.#sent.push(id!);
    } else if (kind === 3 && this.#own.length > 0)
      await this.#ask("PUT", `/v1/messages/${this.#own.at(-1)}`, { text: `edited ${count}` });
    else if (kind === 4 && this.#own.length > 0) await this.#ask("DELETE", `/v1/messages/${this.#own.pop()}`);
    else if (kind === 5) await this.#ask("PUT", `/v1/messages/${any}/reactions/${count % 2}`);
    else if (kind === 6) await this.#ask("DELETE", `/v1/messages/${any}/reactions/${count % 2}`);
    else if (more.length > 0) await this.#ask(...more[count % more.length]!);
  }
}

async function round(server: TestApp): Promise<number> {
  const { ann, bob, cat, conversation, group } = await trio(server);
  const contacts = [await add(server, ann, bob.name), await add(server, ann, cat.name)];
  const direct = contacts.map(({ conversation_id }) => conversation_id);
  const get = <T>(path: string) => read<T>(send(server, ann, "GET", path), 200);
  const { data } = await get<{ data: { id: string; username: string }[] }>(`${group}/members`);
  const seatOf = ({ name }: Person) => data.find(({ username }) => username === name)!.id;
  const changes = [0, 1].flatMap((n): [string, string, object][] => [
    ["PUT", `/v1/contacts/${contacts[n]!.id}`, { display_name: `Name ${randomInt(9)}` }],
    ["PUT", `${group}/members/${seatOf([bob, cat][n]!)}`, { role: "admin" }],
    ["PUT", `${group}/members/${seatOf([bob, cat][n]!)}`, { role: "member" }],
  ]);
  const sent: string[] = [];
  const hide = (): [string, string][] => sent.slice(-2).map((id) => ["DELETE", `/v1/messages/${id}?for=me`]);
  const writers = [
    { writer: new Writer(server, ann, [conversation, ...direct], sent), more: () => [...changes, ...hide()] },
    { writer: new Writer(server, bob, [conversation, direct[0]!], sent), more: () => [] },
    { writer: new Writer(server, cat, [conversation, direct[1]!], sent), more: () => [] },
  ];
  let isOver = false;
  const work = Promise.all(
    writers.map(async ({ writer, more }) => {
      for (let i = 0; i < OPERATIONS; i++) await writer.step(i, more());
    }),
  ).finally(() => (isOver = true));
  const snapshots: Snapshot[] = [];
  while (!isOver) snapshots.push(await get<Snapshot>(PATH));
  await work;
  await published(server);
  const last = (await compareSnapshot(get)) as unknown as Snapshot;
  const expected = new Map(last.conversations.map((each) => [each.id, toCopy(each)]));
  const events = await allEvents(server, ann);
  for (const snapshot of snapshots) {
    // A direct conversation is listed from its first message on.
    const empty: Copy = { name: null, messages: new Map(), members: new Map() };
    const copies = new Map(last.conversations.map(({ id }) => [id, structuredClone(empty)]));
    for (const each of snapshot.conversations) copies.set(each.id, toCopy(each));
    applyTo(copies, events.slice(events.findIndex(({ id }) => id === snapshot.last_event_id) + 1));
    for (const [id, copy] of copies) {
      const wanted = expected.get(id)!;
      // Of a conversation that was not listed only the events since then are known.
      if (!snapshot.conversations.some((each) => each.id === id)) copy.name = wanted.name;
      assert.deepEqual(copy, wanted);
    }
  }
  return snapshots.length;
}

onEachEngine(
  "a snapshot with the events after its cursor becomes the lists, while others write",
  async (server, t) => {
    let snapshots = 0;
    for (let i = 0; i < ROUNDS; i++) {
      snapshots += await round(server);
      await sleep(1);
    }
    assert.ok(snapshots > ROUNDS * 3);
    t.diagnostic(`${snapshots} snapshots in ${ROUNDS} rounds`);
  },
);
