// The columns of each statement are the keys of its row's type, on both engines.
import assert from "node:assert/strict";
import { test } from "node:test";
import { NEWEST } from "../../../src/db/page.ts";
import { eventsAfter, oldestEvents } from "../../../src/db/queries/events/events.ts";
import { attachmentsQuery } from "../../../src/db/queries/files/attachments.ts";
import { uploadsQuery } from "../../../src/db/queries/files/upload-resumable.ts";
import { invitedQuery, membersQuery } from "../../../src/db/queries/groups/group-members.ts";
import { findGroups, findJoined, groupSeat, joinedQuery } from "../../../src/db/queries/groups/groups.ts";
import { allIdentities, findIdentity } from "../../../src/db/queries/people/identities.ts";
import { invitationsQuery, seenInvitation } from "../../../src/db/queries/people/invitations.ts";
import { allTokens, findTokenById, tokensQuery } from "../../../src/db/queries/people/tokens.ts";
import {
  allUsers,
  findDetailedUser,
  findDetailedUsers,
  findUserById,
  findUserByName,
  userNamesQuery,
  usersQuery,
} from "../../../src/db/queries/people/users.ts";
import { entriesQuery } from "../../../src/db/queries/record/audit-trail.ts";
import { deliveriesQuery, listDue, webhooksWithDue } from "../../../src/db/queries/webhooks/deliveries.ts";
import { listWithBacklog } from "../../../src/db/queries/webhooks/hand-out.ts";
import { pushSubscriptionsQuery } from "../../../src/db/queries/webhooks/push-subscriptions.ts";
import { findAnyWebhook, findWebhook, webhooksQuery } from "../../../src/db/queries/webhooks/webhooks.ts";
import type { Reader, Statement } from "../../../src/db/sql.ts";
import { openPlainPostgres, openPlainSqlite } from "../databases.ts";
import { numbered } from "../postgres-plans.ts";

interface Expected {
  statement: Statement;
  keys: string[];
}

/** The type checker requires exactly these keys: a missing one is an error, and so is an extra one. */
type Keys<R> = Record<keyof R, true>;

const expect = <R>(statement: Statement<R>, keys: Keys<R>): Expected => ({
  statement,
  keys: Object.keys(keys),
});

/** Captures the statement of a query and returns no rows to it. */
async function expectRead<R>(ask: (db: Reader) => Promise<R[] | R | undefined>, keys: Keys<R>) {
  let asked: Statement | undefined;
  const db: Reader = {
    all: async (statement) => {
      asked = statement;
      return [];
    },
    get: async (statement) => {
      asked = statement;
      return undefined;
    },
  };
  await ask(db);
  return expect(asked as Statement<R>, keys);
}

const PAGE = { cursor: NEWEST, newer: false, limit: 5 };
const USER = {
  ...({ id: true, username: true, phone_number: true, display_name: true, avatar_url: true } as const),
  ...({ avatar_id: true, kind: true, data: true, message_limit: true } as const),
  ...({ conversation_id: true, created_at: true, version: true, paused_at: true } as const),
};
const DETAILED_USER = { ...USER, ...({ accepts_everyone: true, used: true, seen_at: true } as const) };
const TOKEN = {
  id: true,
  user_id: true,
  name: true,
  scopes: true,
  expires_at: true,
  created_at: true,
  last_used_at: true,
} as const;
const FILE = {
  ...({
    id: true,
    conversation_id: true,
    message_id: true,
    uploader_id: true,
    filename: true,
    file_type: true,
  } as const),
  ...({
    file_size: true,
    sha256: true,
    blob_key: true,
    crc32: true,
    created_at: true,
    version: true,
    unscanned: true,
  } as const),
};
const WEBHOOK = {
  ...({ id: true, user_id: true, url: true, types: true, scopes: true, all_users: true } as const),
  ...({ secret: true, old_secret: true, old_until: true, disabled_at: true, failing_since: true } as const),
  ...({ since_position: true, backlog_from: true, created_at: true, version: true } as const),
  ...({ public_key: true, token_id: true, expires_at: true } as const),
};
const UPLOAD = {
  ...({ id: true, user_id: true, filename: true, declared_type: true, conversation_id: true } as const),
  ...({ message_id: true, length: true, received: true, blob_key: true, parts: true } as const),
  ...({ tail_key: true, holder: true, attachment_id: true, created_at: true, expires_at: true } as const),
};
const DELIVERY = {
  ...({ id: true, event_id: true, type: true, state: true, attempts: true, next_at: true } as const),
  ...({ last_status: true, last_error: true, response_body: true } as const),
  ...({ created_at: true, updated_at: true } as const),
};
const DUE = {
  ...({ id: true, webhook_id: true, event_id: true, recipient_id: true, conversation_id: true } as const),
  ...({ position: true, last_position: true, type: true, told_at: true, payload: true } as const),
  ...({ attempts: true } as const),
};
const EVENT = {
  ...({ position: true, recipient_id: true, number: true, type: true } as const),
  ...({ conversation_id: true, created_at: true, payload: true } as const),
};
const ENTRY = {
  ...({ id: true, at: true, actor_id: true, token_id: true, action: true } as const),
  ...({ object_id: true, details: true, acted_by_id: true } as const),
};
const GROUP = {
  ...({ id: true, name: true, description: true, avatar_url: true, conversation_id: true } as const),
  ...({ history: true, created_at: true, version: true, member_count: true } as const),
};
const JOINED = {
  ...GROUP,
  ...({ role: true, inviter_id: true, inviter_username: true, inviter_display_name: true } as const),
  ...({ inviter_avatar_url: true, inviter_avatar_id: true, inviter_kind: true } as const),
};
const SEAT = { group_id: true, user_id: true, member_id: true, conversation_id: true, role: true } as const;
const MEMBER = {
  ...({ id: true, group_id: true, user_id: true, username: true } as const),
  ...({ display_name: true, avatar_url: true, avatar_id: true, kind: true } as const),
  ...({ role: true, created_at: true, read_id: true } as const),
};
const INVITATION = { group_id: true, member_id: true, inviter_id: true, created_at: true } as const;
const BEHIND = {
  ...({ id: true, user_id: true, types: true, scopes: true, all_users: true } as const),
  ...({ since_position: true, backlog_from: true, pending: true } as const),
};

async function allExpected(): Promise<Expected[]> {
  return [
    expect(usersQuery({ usernameKey: "a" }, PAGE), DETAILED_USER),
    expect(userNamesQuery({}, PAGE), { id: true, username: true, display_name: true }),
    expect(tokensQuery({ userId: "a" }, PAGE), TOKEN),
    expect(attachmentsQuery("a", "b", PAGE), FILE),
    expect(entriesQuery(PAGE), ENTRY),
    expect(webhooksQuery({ userId: "a", isFailing: false }, PAGE), WEBHOOK),
    expect(webhooksQuery({ userId: null, isFailing: true }, PAGE), WEBHOOK),
    expect(pushSubscriptionsQuery("a", PAGE, 0), WEBHOOK),
    expect(uploadsQuery("a", PAGE, 0), UPLOAD),
    expect(deliveriesQuery("a", PAGE), DELIVERY),
    expect(joinedQuery("a", PAGE), JOINED),
    expect(groupSeat("a", "b"), SEAT),
    expect(membersQuery("a", "b", PAGE), MEMBER),
    expect(invitedQuery("a", PAGE), MEMBER),
    expect(seenInvitation("a", "b"), INVITATION),
    expect(invitationsQuery("a", { groupId: "b", inviterId: "c" }, false, 5), {
      ...INVITATION,
      is_seen: true,
    }),
    await expectRead((db) => findGroups(db, ["a"]), GROUP),
    await expectRead((db) => findIdentity(db, "a", "b"), {
      ...{ user_id: true, display_name: true, avatar_url: true, phone_number: true, set_fields: true },
      ...{ paused_at: true },
    }),
    await expectRead((db) => allIdentities(db, "a"), { issuer: true, subject: true }),
    await expectRead((db) => findJoined(db, "a", ["b"]), JOINED),
    await expectRead((db) => findUserById(db, "a"), USER),
    await expectRead((db) => allUsers(db), DETAILED_USER),
    await expectRead((db) => findDetailedUser(db, "a"), DETAILED_USER),
    await expectRead((db) => findDetailedUsers(db, ["a"]), DETAILED_USER),
    await expectRead((db) => findUserByName(db, "a"), DETAILED_USER),
    await expectRead((db) => findTokenById(db, "a"), TOKEN),
    await expectRead((db) => allTokens(db), { ...TOKEN, username: true }),
    await expectRead((db) => findWebhook(db, "a", "b"), WEBHOOK),
    await expectRead((db) => findAnyWebhook(db, "b"), WEBHOOK),
    await expectRead((db) => webhooksWithDue(db, 1), { id: true, user_id: true }),
    await expectRead((db) => listDue(db, "a", 1, 5), DUE),
    await expectRead((db) => listWithBacklog(db, "", 5), BEHIND),
    await expectRead((db) => eventsAfter(db, 1, 5), EVENT),
    await expectRead((db) => oldestEvents(db, "", 5), { recipient_id: true, oldest: true }),
  ];
}

test("sqlite: the columns of each statement are the keys of its row's type", async (t) => {
  const db = await openPlainSqlite(t);
  for (const { statement, keys } of await allExpected()) {
    const columns = db.prepare(statement.sql).columns();
    assert.deepEqual(columns.map(({ name }) => name).sort(), keys.sort(), statement.sql);
  }
});

test("postgres: the columns of each statement are the keys of its row's type", async (t) => {
  const client = await openPlainPostgres(t);
  for (const { statement, keys } of await allExpected()) {
    const { fields } = await client.query(numbered(statement.sql), statement.params);
    assert.deepEqual(fields.map(({ name }) => name).sort(), keys.sort(), statement.sql);
  }
});
