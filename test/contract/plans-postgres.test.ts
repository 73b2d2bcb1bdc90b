import assert from "node:assert/strict";
import { test } from "node:test";
import { bodiesQuery } from "../../src/db/engines/postgres/search.ts";
import { NEWEST } from "../../src/db/page.ts";
import { attachmentsQuery, grantedNamesQuery } from "../../src/db/queries/attachments.ts";
import { entriesQuery } from "../../src/db/queries/audit.ts";
import { blocksQuery } from "../../src/db/queries/blocks.ts";
import { deliveriesQuery } from "../../src/db/queries/deliveries.ts";
import { inboxQuery, maybeUnreadQuery } from "../../src/db/queries/inbox.ts";
import { pushSubscriptionsQuery } from "../../src/db/queries/push-subscriptions.ts";
import { reactionsQuery } from "../../src/db/queries/reactions.ts";
import { bodiesBehind } from "../../src/db/queries/search.ts";
import { tokensQuery } from "../../src/db/queries/tokens.ts";
import { seatedQuery, typingAudienceQuery } from "../../src/db/queries/typing.ts";
import { uploadsQuery } from "../../src/db/queries/uploads.ts";
import { userNamesQuery, usersQuery } from "../../src/db/queries/users.ts";
import { webhooksQuery } from "../../src/db/queries/webhooks.ts";
import type { Statement } from "../../src/db/sql.ts";
import { type ContactIndex, type ContactQuery, contactQueries } from "./contact-queries.ts";
import { openPlainPostgres } from "./databases.ts";
import { groupQueries } from "./group-queries.ts";
import { memberQueries } from "./member-queries.ts";
import { plansOf } from "./postgres-plans.ts";
import { lookups, searchQueries } from "./search-queries.ts";

const CONTACT_INDEXES: Record<ContactIndex, string> = {
  primary: "contacts_pkey",
  username: "contacts_by_username",
  phone: "contacts_by_phone",
  blocked: "contacts_blocked",
};

const CONTACTS = 24_000;

/** Most rows are one owner's, as a planner would rather not have it; one phone number in ten is the same. */
const FILL = [
  `INSERT INTO contacts (owner_id, id, username_key, phone_digits, search_key, conversation_id, blocked_at, version, body)
   SELECT CASE WHEN n % 6 = 0 THEN 'usr_y' ELSE 'usr_x' END, 'con_' || lpad(n::text, 8, '0'), 'name ' || n,
     CASE WHEN n % 10 = 0 THEN '555' ELSE n::text END, ' name ' || n, 'cnv_' || n, CASE WHEN n % 50 = 0 THEN 1 END, 1, '{}'
   FROM generate_series(1, ${CONTACTS}) n`,
  `INSERT INTO attachments (id, conversation_id, message_id, uploader_id, filename, file_type, file_size, sha256,
     blob_key, created_at, version)
   SELECT 'att_' || lpad(n::text, 8, '0'), 'cnv_' || n % 7, 'msg', 'usr_x', 'a', 'a/b', 1, '', 'att', 1, 1
   FROM generate_series(1, ${CONTACTS}) n`,
  `INSERT INTO grants (user_id, attachment_id, conversation_id)
   SELECT CASE WHEN right(id, 1) = '0' THEN 'usr_y' ELSE 'usr_x' END, id, conversation_id FROM attachments`,
  `INSERT INTO members (conversation_id, user_id, joined_at)
   SELECT 'cnv_' || n / 2, CASE WHEN n % 2 = 0 THEN 'usr_y' ELSE 'usr_x' END, 1 FROM generate_series(0, ${CONTACTS}) n`,
  `INSERT INTO withheld (user_id, conversation_id, from_id, to_id)
   SELECT user_id, conversation_id, 'msg', 'msg' FROM members`,
  `INSERT INTO places (user_id, conversation_id, position, maybe_unread, is_pinned, is_archived)
   SELECT user_id, conversation_id, lpad(row_number() OVER ()::text, 8, '0'), row_number() OVER () % 9 / 8,
     row_number() OVER () % 50 / 49, row_number() OVER () % 2 FROM members`,
  `INSERT INTO marks (user_id, conversation_id) SELECT user_id, conversation_id FROM members`,
  `INSERT INTO messages (conversation_id, id, sender_id, type, body_id, has_files, created_at, version)
   SELECT conversation_id, 'msg_' || row_number() OVER (), user_id, 'text', row_number() OVER (), 0, 1, 1 FROM members`,
  `INSERT INTO message_bodies (id, text) SELECT body_id, 'the' FROM messages`,
  `INSERT INTO indexed_words (word, body_id) SELECT right(conversation_id, 10) || word, body_id
   FROM messages, unnest(ARRAY['the', 'they', 'fox', 'a']) word`,
  `INSERT INTO blocks (owner_id, username_key, username, created_at)
   SELECT CASE WHEN n % 6 = 0 THEN 'usr_y' ELSE 'usr_x' END, 'name ' || n, 'name ' || n, 1 FROM generate_series(1, ${CONTACTS}) n`,
  `INSERT INTO activity (user_id, seen_at) SELECT 'usr_' || n, 1 FROM generate_series(1, ${CONTACTS}) n`,
  `INSERT INTO users (id, username, username_key, conversation_id, created_at)
   SELECT 'usr_' || lpad(n::text, 8, '0'), n, n, 'cnv', 1 FROM generate_series(1, ${CONTACTS}) n`,
  "INSERT INTO storage (user_id, used) SELECT id, 0 FROM users",
  `INSERT INTO tokens (hash, id, user_id, scopes, created_at)
   SELECT sha256(n::text::bytea), 'tok_' || lpad(n::text, 8, '0'), CASE WHEN n % 6 = 0 THEN 'usr_y' ELSE 'usr_x' END, 'admin', 1
   FROM generate_series(1, ${CONTACTS}) n`,
  `INSERT INTO audit (id, at, action, object_id)
   SELECT 'aud_' || lpad(n::text, 8, '0'), 1, 'token.created', 'tok' FROM generate_series(1, ${CONTACTS}) n`,
  `INSERT INTO webhooks (id, user_id, url, all_users, secret, since_position, created_at, version)
   SELECT 'whk_' || lpad(n::text, 8, '0'), CASE WHEN n % 6 = 0 THEN 'usr_y' ELSE 'usr_x' END, 'a', 0, 'a', 0, 1, 1
   FROM generate_series(1, ${CONTACTS}) n`,
  `INSERT INTO deliveries (webhook_id, id, event_id, position, recipient_id, conversation_id, type, told_at, payload, state,
     attempts, created_at, updated_at)
   SELECT CASE WHEN n % 6 = 0 THEN 'whk_y' ELSE 'whk_x' END, 'dlv_' || lpad(n::text, 8, '0'), 'evt', n, 'usr_x', 'cnv', 'a', 1,
     '{}', 'delivered', 1, 1, 1 FROM generate_series(1, ${CONTACTS}) n`,
  `INSERT INTO users (id, username, username_key, conversation_id, created_at) VALUES ('usr_x', 'x', 'x', 'cnv_own', 1)`,
  `INSERT INTO groups (id, conversation_id, name, history, created_at, version)
   SELECT 'grp_' || n, 'cnv_grp_' || n, 'a', 'joined', 1, 1 FROM generate_series(1, ${CONTACTS}) n`,
  `INSERT INTO members (conversation_id, user_id, joined_at, since_id, group_id, member_id, role)
   SELECT 'cnv_grp_' || g, CASE WHEN n = 1 THEN 'usr_x' ELSE 'usr_' || n END, 1, '', 'grp_' || g, 'mem_' || n, 'member'
   FROM generate_series(1, ${CONTACTS / 20}) g, generate_series(1, 20) n`,
  `INSERT INTO invitations (group_id, member_id, inviter_id, username_key, username, created_at)
   SELECT 'grp_' || g, 'mem_' || n, 'usr_1', CASE WHEN n = 21 THEN 'x' ELSE 'name ' || n END, 'x', 1
   FROM generate_series(1, ${CONTACTS / 20}) g, generate_series(21, 40) n`,
  `INSERT INTO reactions (message_id, place, nth, emoji, user_id)
   SELECT 'msg_' || n / 9, n % 9, 1, n % 9, 'usr_' || lpad(n::text, 8, '0') FROM generate_series(1, ${CONTACTS}) n`,
  `INSERT INTO uploads (id, user_id, received, blob_key, holder, attachment_id, created_at, expires_at)
   SELECT 'upl_' || lpad(n::text, 8, '0'), CASE WHEN n % 6 = 0 THEN 'usr_y' ELSE 'usr_x' END, 1, n, 'a',
     CASE WHEN n % 200 > 0 THEN 'att_' || lpad(n::text, 8, '0') END, 1, 1 + n FROM generate_series(1, ${CONTACTS}) n`,
  // As the server does by itself before long.
  "VACUUM ANALYZE",
];

function statements(): (Statement | ContactQuery)[] {
  const found: (Statement | ContactQuery)[] = [];
  for (const newer of [false, true]) {
    for (const cursor of [NEWEST, "con_00012000", "att_00012000", "tok_00012000"]) {
      const page = { cursor, newer, limit: 10 };
      found.push(...contactQueries("usr_x", page, "con_00012500"));
      for (const conversation of [undefined, "cnv_3"])
        found.push(
          attachmentsQuery("usr_x", conversation, page),
          grantedNamesQuery("usr_x", conversation, page),
        );
      for (const usernameKey of [undefined, "77"])
        found.push(usersQuery({ usernameKey }, page), userNamesQuery({ usernameKey }, page));
      for (const userId of [undefined, "usr_x"]) found.push(tokensQuery({ userId }, page));
      found.push(entriesQuery(page), webhooksQuery("usr_x", page), deliveriesQuery("whk_x", page));
      found.push(webhooksQuery(null, page));
      found.push(pushSubscriptionsQuery("usr_x", page, 0), uploadsQuery("usr_x", page, 0));
      found.push(blocksQuery("usr_x", page), ...groupQueries(page));
    }
    for (const cursor of [NEWEST, "00012000"]) {
      for (const part of [undefined, "unread", "pinned", "archived"] as const)
        found.push(inboxQuery("usr_x", part, { cursor, newer, limit: 10 }));
      found.push(maybeUnreadQuery("usr_x", 1, cursor));
    }
  }
  return found;
}

test(`postgres: among ${CONTACTS} rows every page is read by an index in its order: no sort, no scan of a table`, async (t) => {
  const client = await openPlainPostgres(t);
  for (const sql of FILL) await client.query(sql);
  const asked = statements();
  for await (const { statement, plan, told } of plansOf(client, asked)) {
    assert.match(plan, /Index (Only )?Scan/, told);
    assert.doesNotMatch(plan, /Seq Scan/, told);
    if ("index" in statement) {
      const index = CONTACT_INDEXES[statement.index];
      const scan = new RegExp(
        `Scan (?:Backward )?using ${index} on contacts|Bitmap Index Scan on ${index}  `,
      );
      assert.match(plan, scan, told);
      if (statement.isPart) continue;
    }
    // A group has 1,000 members at most.
    if (statement.sql.includes("ORDER BY s.member_id") || statement.sql.includes("ORDER BY i.member_id"))
      continue;
    assert.doesNotMatch(plan, /Bitmap/, told);
    // Of one username there is one contact at most: it may be sorted. Invitations of one name may be many.
    const isOne =
      statement.sql.includes("username_key") &&
      !statement.sql.includes("FROM invitations i WHERE i.username_key");
    if (!isOne) assert.doesNotMatch(plan, /Sort/, told);
  }
  await client.query("DEALLOCATE ALL");
  // A few keys, which a bitmap may put in the order of the pages.
  for await (const { plan, told } of plansOf(client, await memberQueries())) {
    assert.match(plan, /Index (?:Only )?Scan (?:using|on) (?:members|marks)_pkey/, told);
    assert.doesNotMatch(plan, /Seq Scan|Sort/, told);
  }
  await client.query("DEALLOCATE ALL");
  const reactions = [null, "usr_x"].map((reader) => reactionsQuery(["msg_7", "msg_8", "msg_9"], reader));
  // A page has a few of them, so they may be sorted.
  for await (const { plan, told } of plansOf(client, reactions)) {
    assert.match(plan, /Scan (?:using|on) reactions_pkey/, told);
    assert.match(plan, /Scan using users_pkey/, told);
    assert.doesNotMatch(plan, /Seq Scan|Hash|Merge/, told);
  }
  await client.query("DEALLOCATE ALL");
  for await (const { statement, plan, told } of plansOf(client, await searchQueries())) {
    assert.doesNotMatch(plan, /Seq Scan|Sort/, told);
    if (statement.sql.includes("id > ?"))
      assert.match(
        plan,
        /messages_pkey[^\n]*\n *(?:->[^\n]*\n *)*Index Cond: \(+conversation_id = .* AND \(id > .* AND \(id < /,
        told,
      );
    // Each other one begins with keys.
    else assert.match(plan, /Index Cond: \(+(?:p\.)?(?:user_id|(?:m\.)?id|body_id) = /, told);
  }
  await client.query("DEALLOCATE ALL");
  for await (const { plan, told } of plansOf(client, lookups(bodiesQuery))) {
    assert.match(
      plan,
      /Index Only Scan using indexed_words_pkey[^\n]*\n *Index Cond: \(+(?:w\.)?word (?:=|>=) /,
      told,
    );
    assert.doesNotMatch(plan, /Seq Scan|Sort|Hash|Merge/, told);
  }
  await client.query("DEALLOCATE ALL");
  for await (const { plan, told } of plansOf(client, [bodiesBehind(CONTACTS / 2, 200)])) {
    assert.equal(plan.match(/Index Scan using/g)?.length, 2, told);
    assert.equal(plan.match(/Index Cond: /g)?.length, 2, told);
    assert.doesNotMatch(plan, /Seq Scan|Sort/, told);
  }
  await client.query("DEALLOCATE ALL");
  const typists = ["usr_x", "usr_y", "usr_z"].map((user_id) => ({ conversation_id: "cnv_7", user_id }));
  for await (const { plan, told } of plansOf(client, [seatedQuery(typists), typingAudienceQuery(typists)])) {
    assert.match(plan, /Index (?:Only )?Scan using members_pkey on members t/, told);
    assert.doesNotMatch(plan, /Seq Scan|Merge/, told);
  }
  t.diagnostic(`${asked.length} statements, each a scan of an index`);
});
