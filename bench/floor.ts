// What writes cost on SQLite, beside their floor: the rows that the rules demand, inserted in a loop and synced as often.
// usage: taskset -c 0 runtime/node bench/floor.ts
import { getRandomValues, randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import type { Database } from "../src/db/database.ts";
import { openSqlite } from "../src/db/engines/sqlite/sqlite.ts";
import type { SendMessage } from "../src/db/queries/messages/message-send.ts";
import type { CreateContact } from "../src/db/queries/people/contacts.ts";
import { createFuse } from "../src/util/fuse.ts";
import { createIds } from "../src/util/ids.ts";
import { inTurn } from "./cost.ts";
import { median } from "./load.ts";

/** As of so many callers. */
const WRITES_PER_COMMIT = 64;
/** As many writes as Parley does between checkpoints. */
const COMMITS = 16;
const ROUNDS = 21;
const WARM_UP = 3;
const TEXT = "Some words of a message from one person to another, as long as most of them are.";

const createId = createIds(() => Date.now(), getRandomValues);
const users = [createId("usr"), createId("usr")] as const;
const [owner, peer] = users;
const direct = createId("cnv");
const folder = mkdtempSync(join(tmpdir(), "parley-floor-"));

function newContact(): CreateContact {
  const id = createId("con");
  const key = `user ${randomBytes(6).toString("hex")}`;
  const phone = String(randomBytes(6).readUIntBE(0, 6)).padStart(15, "1");
  const createdAt = Date.now();
  const body = JSON.stringify({
    id,
    username: key,
    phone_number: `+${phone}`,
    display_name: "Some Name",
    avatar_url: "https://example.com/avatars/1.png",
    created_at: Math.floor(createdAt / 1000),
  });
  return {
    id,
    ownerId: owner,
    usernameKey: key,
    phoneDigits: phone,
    searchKey: ` ${key} some name`,
    conversationId: createId("cnv"),
    body,
    createdAt,
    blocked: false,
    maxContacts: 0,
    positionId: createId("cnv"),
    limit: 1000,
    actId: createId("aud"),
    tokenId: null,
    actedById: null,
  };
}

function newMessage(): SendMessage {
  const rest = {
    data: null,
    mentions: [],
    replyToId: null,
    clientId: null,
    files: [],
    now: Date.now(),
    entry: null,
  };
  return { newId: createId("msg"), conversationId: direct, senderId: owner, text: TEXT, ...rest };
}

/** Microseconds of CPU for each write, all threads together. */
async function costOf(round: () => void | Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await round();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / (COMMITS * WRITES_PER_COMMIT);
}

async function open(name: string): Promise<Database> {
  const db = openSqlite(join(folder, name), createFuse(console.error));
  for (const [i, id] of users.entries()) {
    await db.write("createUser", {
      id,
      username: `user ${i}`,
      usernameKey: `user ${i}`,
      phoneNumber: null,
      displayName: null,
      avatarUrl: null,
      data: null,
      kind: "person",
      acceptsEveryone: false,
      messageLimit: null,
      setFields: "",
      conversationId: createId("cnv"),
      createdAt: Date.now(),
      entry: { id: createId("aud"), at: Date.now(), actorId: null, tokenId: null, actedById: null },
    });
  }
  return db;
}

/** The rows that both contenders begin with: two people with a conversation. */
function connectPeople(db: DatabaseSync): void {
  const insert = db.prepare("INSERT INTO members (conversation_id, user_id, joined_at) VALUES (?, ?, 0)");
  for (const user of users) insert.run(direct, user);
}

async function parleyRounds(): Promise<[create: () => Promise<void>, send: () => Promise<void>]> {
  const db = await open("parley.db");
  const other = new DatabaseSync(join(folder, "parley.db"));
  connectPeople(other);
  other.close();
  const rounds = async (write: () => Promise<unknown>) => {
    for (let i = 0; i < COMMITS; i++) await Promise.all(Array.from({ length: WRITES_PER_COMMIT }, write));
  };
  return [
    () => rounds(() => db.write("createContact", newContact())),
    () => rounds(() => db.write("createMessage", newMessage())),
  ];
}

async function floorRounds(): Promise<[create: () => void, send: () => void]> {
  await (await open("floor.db")).close();
  const db = new DatabaseSync(join(folder, "floor.db"));
  db.exec("PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = -8192");
  db.exec("PRAGMA secure_delete = ON");
  connectPeople(db);
  const insert = (rest: string) => {
    const statement = db.prepare(`INSERT INTO ${rest}`);
    return (...values: SQLInputValue[]) => statement.run(...values);
  };
  const contacts =
    insert(`contacts (owner_id, id, username_key, phone_digits, search_key, conversation_id, version,
    body) VALUES (?, ?, ?, ?, ?, ?, 1, ?)`);
  const members = insert("members (conversation_id, user_id, joined_at, contact_id) VALUES (?, ?, ?, ?)");
  const events = insert(`events (recipient_id, number, type, conversation_id, created_at, payload)
    VALUES (?, ?, ?, ?, ?, ?)`);
  const audit = insert("audit (id, at, actor_id, action, object_id) VALUES (?, ?, ?, ?, ?)");
  const bodies = insert("message_bodies (text) VALUES (?)");
  const unindexed = insert("unindexed (body_id) VALUES (?)");
  const messages =
    insert(`messages (conversation_id, id, sender_id, type, body_id, has_files, created_at, version)
    VALUES (?, ?, ?, 'text', ?, 0, ?, 1)`);
  const conversations = insert(
    "conversations VALUES (?, ?) ON CONFLICT DO UPDATE SET last_id = excluded.last_id",
  );
  const places = insert(`places (user_id, conversation_id, position, maybe_unread) VALUES (?, ?, ?, ?)
    ON CONFLICT (user_id, conversation_id) DO UPDATE SET position = excluded.position, maybe_unread = excluded.maybe_unread`);
  const marks = insert(`marks (user_id, conversation_id, last_read_id) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET last_read_id = excluded.last_read_id`);
  let number = 1;
  const rounds = (write: () => void) => {
    for (let i = 0; i < COMMITS; i++) {
      db.exec("BEGIN IMMEDIATE");
      for (let j = 0; j < WRITES_PER_COMMIT; j++) write();
      db.exec("COMMIT");
    }
    db.exec("PRAGMA wal_checkpoint(PASSIVE)");
  };
  const create = () => {
    const { id, conversationId, createdAt, body, ...one } = newContact();
    contacts(owner, id, one.usernameKey, one.phoneDigits, one.searchKey, conversationId, body);
    members(conversationId, owner, createdAt, id);
    events(owner, ++number, "contact.created", conversationId, createdAt, body);
    audit(one.actId, createdAt, owner, "contact.created", id);
  };
  const send = () => {
    const { newId, text, now } = newMessage();
    const body = bodies(text).lastInsertRowid;
    unindexed(body);
    messages(direct, newId, owner, body, now);
    conversations(direct, newId);
    places(owner, direct, newId.slice(4), 0);
    places(peer, direct, newId.slice(4), 1);
    marks(owner, direct, newId);
    const payload = `{"id":"${newId}","conversation_id":"${direct}"}`;
    for (const user of users) events(user, ++number, "message.created", direct, now, payload);
  };
  return [() => rounds(create), () => rounds(send)];
}

try {
  const parley = await parleyRounds();
  const floor = await floorRounds();
  console.log("| work | Parley, us of CPU | floor, us of CPU | ratio |\n|---|---|---|---|");
  for (const [i, work] of ["create, names random", "send a message"].entries()) {
    const contenders = [parley[i]!, floor[i]!];
    const costs = new Map<() => unknown, number[]>(contenders.map((each) => [each, []]));
    for (let round = 0; round < ROUNDS; round++) {
      for (const each of inTurn(contenders, round)) {
        const cost = await costOf(each);
        if (round >= WARM_UP) costs.get(each)!.push(cost);
      }
    }
    const [ours, least] = contenders.map((each) => median(costs.get(each)!)) as [number, number];
    console.log(`| ${work} | ${ours.toFixed(0)} | ${least.toFixed(0)} | ${(ours / least).toFixed(2)} |`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exit();
