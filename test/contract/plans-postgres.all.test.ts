import assert from "node:assert/strict";
import { bodiesQuery } from "../../src/db/engines/postgres/search.ts";
import { NEWEST } from "../../src/db/page.ts";
import { attachmentsQuery, grantedNamesQuery } from "../../src/db/queries/files/attachments.ts";
import { uploadsQuery } from "../../src/db/queries/files/upload-resumable.ts";
import { inboxQuery, maybeUnreadQuery } from "../../src/db/queries/messages/inbox.ts";
import { reactionsQuery } from "../../src/db/queries/messages/reactions.ts";
import { seatedQuery, typingAudienceQuery } from "../../src/db/queries/messages/typing.ts";
import { blocksQuery } from "../../src/db/queries/people/blocks.ts";
import { tokensQuery } from "../../src/db/queries/people/tokens.ts";
import { userNamesQuery, usersQuery } from "../../src/db/queries/people/users.ts";
import { entriesQuery } from "../../src/db/queries/record/audit-trail.ts";
import { bodiesBehind } from "../../src/db/queries/search/search.ts";
import { deliveriesQuery } from "../../src/db/queries/webhooks/deliveries.ts";
import { pushSubscriptionsQuery } from "../../src/db/queries/webhooks/push-subscriptions.ts";
import { webhooksQuery } from "../../src/db/queries/webhooks/webhooks.ts";
import type { Statement } from "../../src/db/sql.ts";
import { groupQueries } from "./groups/group-queries.ts";
import { memberQueries } from "./groups/member-queries.ts";
import { plansTest, ROWS } from "./many-rows.ts";
import { type ContactIndex, type ContactQuery, contactQueries } from "./people/contact-queries.ts";
import { plansOf } from "./postgres-plans.ts";
import { lookups, searchQueries } from "./search/search-queries.ts";

const CONTACT_INDEXES: Record<ContactIndex, string> = {
  primary: "contacts_pkey",
  username: "contacts_by_username",
  phone: "contacts_by_phone",
  blocked: "contacts_blocked",
};

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

plansTest(
  "every page is read by an index in its order: no sort, no scan of a table",
  async (t, client, fillTables) => {
    await fillTables();
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
      assert.doesNotMatch(plan, /Seq Scan/, told);
      // The sizes of a portion of texts are added up in the order of the page.
      if (!statement.sql.includes(" OVER ")) assert.doesNotMatch(plan, /Sort/, told);
      if (statement.sql.includes(" m.id < ?"))
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
    for await (const { plan, told } of plansOf(client, [bodiesBehind(ROWS / 2, 200)])) {
      assert.equal(plan.match(/Index Scan using/g)?.length, 2, told);
      assert.equal(plan.match(/Index Cond: /g)?.length, 2, told);
      assert.doesNotMatch(plan, /Seq Scan|Sort/, told);
    }
    await client.query("DEALLOCATE ALL");
    const typists = ["usr_x", "usr_y", "usr_z"].map((user_id) => ({ conversation_id: "cnv_7", user_id }));
    for await (const { plan, told } of plansOf(client, [
      seatedQuery(typists),
      typingAudienceQuery(typists),
    ])) {
      assert.match(plan, /Index (?:Only )?Scan using members_pkey on members t/, told);
      assert.doesNotMatch(plan, /Seq Scan|Merge/, told);
    }
    t.diagnostic(`${asked.length} statements, each a scan of an index`);
  },
);
