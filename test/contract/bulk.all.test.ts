// A bulk of PostgreSQL leaves the same rows as the steps of the single writes, on both engines.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Database } from "../../src/db/database.ts";
import type { Write } from "../../src/db/write.ts";
import { getWrite, type SingleName, writes } from "../../src/db/writes.ts";
import { holds } from "../support/property.ts";
import { anEntry, attachment, aUser, contact, message, messageId } from "../support/rows.ts";
import { openOnPostgres, openOnSqlite } from "./databases.ts";
import { dump } from "./dump.ts";

/** Runs a write by its name. Returns its result, or the code of its error. */
type Do = (name: SingleName | "runIdempotent", input: unknown) => Promise<unknown>;

/** Runs the steps of a write instead of its bulk. */
function inSteps({ name, input }: { name: SingleName; input: unknown }): Write<unknown> {
  return getWrite(name)(input);
}

const byEngine =
  (db: Database): Do =>
  (name, input) =>
    db.write(name, input as never).catch(({ code }) => code);
const bySteps =
  (db: Database): Do =>
  (name, input) =>
    db.write("inSteps" as never, { name, input } as never).catch(({ code }) => code);

const PEOPLE = ["a", "b", "c"] as const;
const person = fc.constantFrom("a", "b", "a", "b", "c");
/** An action. Each run turns its numbers into names and ids. */
const act = fc.oneof(
  fc.record({
    kind: fc.constant("add" as const),
    who: person,
    name: fc.constantFrom(...PEOPLE, "n", "m"),
    blocked: fc.nat(5),
    key: fc.option(fc.nat(2)),
  }),
  fc.record({
    kind: fc.constant("send" as const),
    who: person,
    to: fc.constantFrom("shared", "notes", "of c"),
    text: fc.option(fc.constantFrom("x", "\u00e9 😀")),
    data: fc.option(fc.constant('{"a":"\\u0000\\""}'), { freq: 3 }),
    reply: fc.option(fc.nat(9), { freq: 1 }),
    mentions: fc.constantFrom([], [], ["b"]),
    behind: fc.nat(4),
    client: fc.option(fc.nat(2), { freq: 1 }),
    key: fc.option(fc.nat(2)),
  }),
  fc.record({ kind: fc.constant("upload" as const), who: person, to: fc.constantFrom("shared", "notes") }),
  fc.record({
    kind: fc.constant("read" as const),
    who: person,
    back: fc.nat(3),
    isPrivate: fc.boolean(),
  }),
  fc.record({
    kind: fc.constant("react" as const),
    who: person,
    back: fc.nat(3),
    emoji: fc.constantFrom("x", '"'),
  }),
  fc.record({
    kind: fc.constant("unreact" as const),
    who: person,
    back: fc.nat(3),
    emoji: fc.constantFrom("x", '"'),
  }),
  fc.record({
    kind: fc.constant("block" as const),
    who: person,
    name: fc.constantFrom(...PEOPLE, "a", "b", "m"),
    on: fc.boolean(),
  }),
  fc.record({ kind: fc.constant("edit" as const), who: person, back: fc.nat(3) }),
  fc.record({ kind: fc.constant("hide" as const), who: person, back: fc.nat(5) }),
);
type Act = typeof act extends fc.Arbitrary<infer A> ? A : never;

/** Number 1 is the contact that each user starts with. */
let numbers = 1;

/** Returns the write of an action in a run; `last` is the last message sent. */
function toWrite(
  each: Act,
  run: number,
  sent: string[],
): [name: SingleName, input: unknown, key?: number | null] {
  const nameOf = (name: string) => `${name}${run}`;
  const who = nameOf(each.who);
  const shared = `cnv_${nameOf("a")}_1`;
  const number = ++numbers;
  // No two messages have the same id, even if the clock is set back.
  const idAt = (at: number) => messageId(at).replace(/.$/, String(number % 10));
  const back = (count: number) => sent.at(-1 - count) ?? messageId(number);
  switch (each.kind) {
    case "add": {
      const input = contact(who, number);
      return [
        "createContact",
        { ...input, usernameKey: nameOf(each.name), blocked: each.blocked === 0 },
        each.key,
      ];
    }
    case "send": {
      const conversation = { shared, notes: null, "of c": `cnv_${nameOf("c")}_1` }[each.to]!;
      const at = each.behind === 0 ? number - 3 : number;
      const newId = idAt(at);
      if (each.to === "shared") sent.push(newId);
      const fields = {
        newId,
        text: each.text ?? (each.data ? null : "y"),
        data: each.data,
        mentions: each.mentions.map(nameOf),
        replyToId: each.reply === null ? null : back(each.reply),
        clientId:
          each.client === null
            ? null
            : { id: String(each.client), fingerprint: new Uint8Array(32).fill(number) },
      };
      return ["createMessage", message(who, number, conversation as string, fields), each.key];
    }
    case "upload": {
      const target = each.to === "shared" ? { conversationId: shared } : {};
      const id = `att_${String(number).padStart(4, "0")}`;
      const bytes = new Uint8Array([0, 255, number % 256]);
      if (each.to === "shared") sent.push(idAt(number));
      const pictureSize = number % 2 === 0 ? { width: number, height: 9 } : null;
      const input = attachment(who, number, target, { bytes, blobKey: id, fileSize: 3, pictureSize });
      return ["createAttachment", { ...input, newMessageId: idAt(number) }];
    }
    case "read":
      return [
        "markRead",
        {
          userId: who,
          conversationId: shared,
          messageId: back(each.back),
          isPrivate: each.isPrivate,
          now: number,
        },
      ];
    case "react":
    case "unreact": {
      const name = each.kind === "react" ? "addReaction" : "removeReaction";
      return [name, { userId: who, messageId: back(each.back), emoji: each.emoji, now: number }];
    }
    case "edit": {
      const fields = { text: `edited ${number}`, data: undefined, expected: null, now: number };
      return ["updateMessage", { userId: who, id: back(each.back), ...fields }];
    }
    case "hide":
      return [
        "hideMessage",
        { userId: who, id: back(each.back), expected: null, now: number, entry: anEntry() },
      ];
    case "block": {
      const usernameKey = nameOf(each.name);
      const blockedAt = each.on ? 1_800_000_000_000 + number : null;
      return ["setBlock", { ownerId: who, usernameKey, username: usernameKey, blockedAt, now: number }];
    }
  }
}

test("the bulks of PostgreSQL leave the rows that the steps of their writes leave on SQLite and PostgreSQL", async (t) => {
  Object.assign(writes, { inSteps });
  const [sqlite, postgres, stepwise] = [
    await openOnSqlite(t),
    await openOnPostgres(t),
    await openOnPostgres(t),
  ];
  const ways = [byEngine(sqlite), byEngine(postgres), bySteps(stepwise)];
  let runs = 0;
  await holds(
    fc.asyncProperty(fc.array(act, { minLength: 20, maxLength: 60, size: "max" }), async (acts) => {
      const run = runs++;
      const everywhere = async (name: SingleName | "runIdempotent", input: unknown) => {
        const [first, ...others] = await Promise.all(ways.map((write) => write(name, input)));
        for (const other of others) assert.deepEqual(other, first, `${name} ${JSON.stringify(input)}`);
        return first;
      };
      for (const name of PEOPLE) {
        await everywhere("createUser", aUser(`${name}${run}`));
      }
      const meeting = [
        ["a", "b"],
        ["b", "a"],
        ["c", "n"],
      ];
      for (const [owner, name] of meeting) {
        await everywhere("createContact", { ...contact(`${owner}${run}`, 1), usernameKey: `${name}${run}` });
      }
      const sent: string[] = [];
      for (const each of acts) {
        const [name, input, key] = toWrite(each, run, sent);
        if (key === undefined || key === null) await everywhere(name, input);
        else {
          const keyHash = new Uint8Array(32).fill(key);
          const fingerprint = new Uint8Array(32).fill(name.length);
          const userId = `${each.who}${run}`;
          const request = { userId, keyHash, fingerprint, now: 1, until: 2, replayOnly: false };
          await everywhere("runIdempotent", { name, input, request });
        }
      }
      const [first, ...others] = await Promise.all([sqlite, postgres, stepwise].map(dump));
      for (const other of others) {
        for (const [name, rows] of Object.entries(other)) assert.deepEqual(rows, first![name], name);
      }
    }),
    40,
  );
});
