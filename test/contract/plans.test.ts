import assert from "node:assert/strict";
import type { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { bodiesQuery } from "../../src/db/engines/sqlite/search.ts";
import { NEWEST, OLDEST } from "../../src/db/page.ts";
import { attachmentsQuery, grantedNamesQuery } from "../../src/db/queries/files/attachments.ts";
import { uploadsQuery } from "../../src/db/queries/files/upload-resumable.ts";
import { allMembersQuery } from "../../src/db/queries/groups/group-members.ts";
import { inboxQuery, maybeUnreadQuery } from "../../src/db/queries/messages/inbox.ts";
import { reactionsQuery } from "../../src/db/queries/messages/reactions.ts";
import { readersQuery } from "../../src/db/queries/messages/readers.ts";
import { seatedQuery, typingAudienceQuery } from "../../src/db/queries/messages/typing.ts";
import { blocksQuery } from "../../src/db/queries/people/blocks.ts";
import { profileReadersQuery, profilesQuery } from "../../src/db/queries/people/profile-readers.ts";
import { tokensQuery } from "../../src/db/queries/people/tokens.ts";
import { userNamesQuery, usersQuery } from "../../src/db/queries/people/users.ts";
import { entriesQuery } from "../../src/db/queries/record/audit-trail.ts";
import { idsQuery } from "../../src/db/queries/search/search.ts";
import { newestQuery } from "../../src/db/queries/visibility/visibility.ts";
import { deliveriesQuery } from "../../src/db/queries/webhooks/deliveries.ts";
import { pushSubscriptionsQuery } from "../../src/db/queries/webhooks/push-subscriptions.ts";
import { webhooksQuery } from "../../src/db/queries/webhooks/webhooks.ts";
import { type Statement, sql } from "../../src/db/sql.ts";
import { openPlainSqlite } from "./databases.ts";
import { groupQueries } from "./groups/group-queries.ts";
import { memberQueries } from "./groups/member-queries.ts";
import { type ContactIndex, contactQueries } from "./people/contact-queries.ts";
import { lookups, searchQueries } from "./search/search-queries.ts";

/** How SQLite reads one range of each index of contacts. */
const CONTACT_STEPS: Record<ContactIndex, RegExp> = {
  primary: /^SEARCH c USING PRIMARY KEY \(owner_id=\?(?: AND id[<>]\?)+\)$/,
  username: /^SEARCH c USING INDEX contacts_by_username \(owner_id=\? AND username_key=\?\)$/,
  phone:
    /^SEARCH c USING (?:COVERING )?INDEX contacts_by_phone \(owner_id=\? AND \(phone_digits,id\)>\(\?,\?\) AND \(phone_digits,id\)<\(\?,\?\)\)$/,
  blocked: /^SEARCH c USING INDEX contacts_blocked \(owner_id=\?(?: AND <expr>[<>]\?)+\)$/,
};
/** The subqueries that find when a contact was last seen, and its profile. */
const OF_PEER = [
  ...["CORRELATED SCALAR SUBQUERY 1", "SEARCH a USING PRIMARY KEY (user_id=?)"],
  ...["CORRELATED SCALAR SUBQUERY 2", "SEARCH u USING PRIMARY KEY (id=?)"],
];

function planOf(db: DatabaseSync, { sql, params }: Statement): string[] {
  const plan = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...params) as { detail: string }[];
  return plan.map(({ detail }) => detail);
}

test("every contact list reads one range of the index of its filter, with and without statistics, in both directions", async (t) => {
  const db = await openPlainSqlite(t);
  const insert = db.prepare(`INSERT INTO contacts
    (owner_id, id, username_key, phone_digits, search_key, conversation_id, blocked_at, version, body)
    VALUES ('usr_x', ?, ?, ?, '', '', ?, 1, '')`);
  let count = 0;
  for (const prepare of ["", "ANALYZE"]) {
    for (let i = 0; i < 1000; i++, count++)
      insert.run(`con_${count}`, `name ${count}`, i % 10 === 0 ? "555" : `${i}`, i % 50 === 0 ? 1 : null);
    db.exec(prepare);
    for (const newer of [false, true]) {
      const page = { cursor: newer ? OLDEST : NEWEST, newer, limit: 10 };
      for (const query of contactQueries("usr_x", page, "con_5")) {
        const [step, ...more] = planOf(db, query);
        assert.match(step!, CONTACT_STEPS[query.index], `${prepare} ${query.sql}`);
        assert.deepEqual(more, query.sql.includes("seen_at") ? OF_PEER : [], query.sql);
      }
    }
  }
});

test("every other page reads one range of an index: no table scan, no sort, no offset", async (t) => {
  const db = await openPlainSqlite(t);
  const statements: Statement[] = [];
  for (const newer of [false, true]) {
    const page = { cursor: NEWEST, newer, limit: 10 };
    for (const conversation of [undefined, "cnv_x"])
      statements.push(
        attachmentsQuery("usr_x", conversation, page),
        grantedNamesQuery("usr_x", conversation, page),
      );
    for (const usernameKey of [undefined, "a"])
      statements.push(usersQuery({ usernameKey }, page), userNamesQuery({ usernameKey }, page));
    for (const userId of [undefined, "usr_x"]) statements.push(tokensQuery({ userId }, page));
    statements.push(entriesQuery(page), deliveriesQuery("whk_x", page));
    for (const userId of ["usr_x", null])
      for (const isFailing of [false, true]) statements.push(webhooksQuery({ userId, isFailing }, page));
    statements.push(pushSubscriptionsQuery("usr_x", page, 0), uploadsQuery("usr_x", page, 0));
    statements.push(blocksQuery("usr_x", page), ...groupQueries(page));
    statements.push(
      readersQuery({ id: "msg_x", conversation_id: "cnv_x", sender_id: "usr_y" }, "usr_x", page),
    );
  }
  for (const statement of statements) {
    const steps = planOf(db, statement);
    assert.ok(steps.length > 0);
    for (const step of steps)
      assert.match(
        step,
        // Each grant's departure is found by its key.
        /^(?:SEARCH \w+ USING (?:COVERING )?(?:INDEX|PRIMARY KEY)|(?:CORRELATED )?SCALAR SUBQUERY)/,
        `${statement.sql}: ${step}`,
      );
    assert.ok(!/OFFSET/i.test(statement.sql));
  }
  for (const prepare of ["", "ANALYZE"]) {
    db.exec(prepare);
    const failing = webhooksQuery(
      { userId: null, isFailing: true },
      { cursor: NEWEST, newer: false, limit: 10 },
    );
    assert.match(planOf(db, failing).join(), /^SEARCH webhooks USING INDEX webhooks_failing/);
  }
  t.diagnostic(`${statements.length} statements, each a search by an index`);
});

test("the reactions of a page are found by the key of each message, in order", async (t) => {
  const db = await openPlainSqlite(t);
  for (const reader of [null, "usr_x"]) {
    const steps = planOf(db, reactionsQuery(["msg_x", "msg_y"], reader));
    assert.equal(steps[0], "SEARCH r USING PRIMARY KEY (message_id=?)");
    assert.doesNotMatch(steps.join(), /SCAN|TEMP B-TREE/);
  }
});

test("the messages and members of a snapshot are found by keys and one range of each, with and without statistics", async (t) => {
  const db = await openPlainSqlite(t);
  const conversations = ["cnv_x", "cnv_y"];
  for (const prepare of ["", "ANALYZE"]) {
    db.exec(prepare);
    for (const query of [
      newestQuery(sql`m.id, b.text`, "usr_x", conversations, 20),
      newestQuery(sql`m.id, b.text`, "usr_x", conversations, 1, true),
      allMembersQuery(["grp_x", "grp_y"], "usr_x"),
    ]) {
      const steps = planOf(db, query);
      // The rows of the recursion.
      assert.doesNotMatch(steps.join("\n"), /SCAN (?!s$)|TEMP B-TREE/m, query.sql);
    }
  }
});

test("a search reads one range of each conversation, with and without statistics", async (t) => {
  const db = await openPlainSqlite(t);
  const ids = ["cnv_x", "cnv_y"];
  for (const prepare of ["", "ANALYZE"]) {
    db.exec(prepare);
    assert.deepEqual(planOf(db, idsQuery("usr_x", ids, { from: "msg_x", to: NEWEST, limit: 10 })), [
      "SEARCH s USING PRIMARY KEY (conversation_id=? AND user_id=?)",
      "SEARCH m USING PRIMARY KEY (conversation_id=? AND id>? AND id<?)",
    ]);
  }
});

test("the readers of a profile, and what each may see, are found by keys", async (t) => {
  const db = await openPlainSqlite(t);
  for (const query of [
    profileReadersQuery("usr_x", "usr_a", 500),
    profilesQuery(["usr_x"], ["usr_y", "usr_z"]),
  ])
    assert.doesNotMatch(planOf(db, query).join("\n"), /SCAN (?!readers|CONSTANT)/);
});

test("typists, and who sees them, are found by the keys of members", async (t) => {
  const db = await openPlainSqlite(t);
  const typists = ["usr_x", "usr_y", "usr_z"].map((user_id) => ({ conversation_id: "cnv_x", user_id }));
  for (const query of [seatedQuery(typists), typingAudienceQuery(typists)]) {
    const steps = planOf(db, query).filter((step) => step !== "SCAN 4-ROW VALUES CLAUSE");
    assert.equal(steps[0], "SEARCH t USING PRIMARY KEY (conversation_id=? AND user_id=?)");
    assert.doesNotMatch(steps.join(), /SCAN|TEMP B-TREE/);
    const members = steps.filter((step) => step.startsWith("SEARCH s"));
    const isAudience = query.sql.includes("reader_id");
    assert.deepEqual(members, isAudience ? ["SEARCH s USING PRIMARY KEY (conversation_id=?)"] : []);
  }
});

test("an inbox reads one range of the index of its filter, with and without statistics, in both directions", async (t) => {
  const db = await openPlainSqlite(t);
  const insert = db.prepare(`INSERT INTO places
    (user_id, conversation_id, position, maybe_unread, is_pinned, is_archived) VALUES (?, ?, ?, ?, ?, ?)`);
  const join = db.prepare("INSERT INTO members (user_id, conversation_id, joined_at) VALUES (?, ?, 1)");
  for (const prepare of ["", "ANALYZE"]) {
    for (let i = 0; prepare === "" && i < 2000; i++) {
      const user = i % 4 === 0 ? "usr_y" : "usr_x";
      insert.run(
        user,
        `cnv_${i}`,
        i % 10 === 0 ? null : `${i}`,
        i % 9 ? 0 : 1,
        i % 50 ? 0 : 1,
        i % 30 ? 0 : 1,
      );
      join.run(user, `cnv_${i}`);
    }
    db.exec(prepare);
    for (const newer of [false, true]) {
      const page = { cursor: newer ? OLDEST : NEWEST, newer, limit: 10 };
      const range = `(user_id=? AND position${newer ? ">" : "<"}?)`;
      for (const [part, index] of INBOX_INDEXES)
        checkInbox(planOf(db, inboxQuery("usr_x", part, page)), `SEARCH p USING INDEX ${index} ${range}`);
    }
    const badge = planOf(db, maybeUnreadQuery("usr_x", 1, NEWEST));
    checkInbox(badge, "SEARCH p USING COVERING INDEX places_unread (user_id=? AND position<?)");
  }
});

test("the members that rendering an event needs are found by their keys", async (t) => {
  const db = await openPlainSqlite(t);
  for (const prepare of ["", "ANALYZE"]) {
    db.exec(prepare);
    for (const statement of await memberQueries()) {
      const [first, ...steps] = planOf(db, statement);
      assert.match(
        first!,
        /^SEARCH \w+ USING (?:COVERING )?(?:PRIMARY KEY|INDEX \w+) \(.*user_id=\? AND conversation_id=\?|conversation_id=\? AND user_id=\?/,
      );
      for (const step of steps)
        assert.match(
          step,
          /^(?:SEARCH \w+ USING PRIMARY KEY|CORRELATED SCALAR SUBQUERY|USING INDEX)/,
          statement.sql,
        );
    }
  }
});

test("a search reads only its conversations, by keys and ranges of ids, and its index by words", async (t) => {
  const db = await openPlainSqlite(t);
  const message =
    db.prepare(`INSERT INTO messages (conversation_id, id, sender_id, type, body_id, has_files, created_at, version)
    VALUES (?, ?, 'usr_x', 'text', ?, 0, 1, 1)`);
  for (let i = 0; i < 2000; i++) message.run(`cnv_${i % 5}`, `msg_${i}`, i + 1);
  for (const prepare of ["", "ANALYZE"]) {
    db.exec(prepare);
    for (const statement of await searchQueries()) {
      // A window function sums the sizes of a batch of texts in the order of the page.
      const isPortion = statement.sql.includes(" OVER ");
      const ofPortion = /^(?:CO-ROUTINE|SCAN s$|SCAN \(subquery-\d+\)|USE TEMP B-TREE FOR ORDER BY)/;
      const steps = planOf(db, statement).filter((step) => !(isPortion && ofPortion.test(step)));
      for (const step of steps)
        assert.match(
          step,
          /^(?:SEARCH \w+ USING (?:COVERING )?(?:INDEX \w+|PRIMARY KEY|INTEGER PRIMARY KEY) \(|CORRELATED SCALAR SUBQUERY)/,
          `${statement.sql}: ${step}`,
        );
      if (statement.sql.includes(" m.id < ?"))
        assert.deepEqual(steps, [
          "SEARCH s USING PRIMARY KEY (conversation_id=? AND user_id=?)",
          "SEARCH m USING PRIMARY KEY (conversation_id=? AND id>? AND id<?)",
        ]);
    }
    for (const statement of lookups(bodiesQuery))
      assert.deepEqual(planOf(db, statement), [
        "SCAN k VIRTUAL TABLE INDEX 1:",
        "SCAN i VIRTUAL TABLE INDEX 0:M1",
      ]);
  }
});

const INBOX_INDEXES = [
  [undefined, "places_by_position"],
  ["unread", "places_unread"],
  ["pinned", "places_pinned"],
  ["archived", "places_archived"],
] as const;

/** All other rows are found by keys. The counted messages, `u`, are a range of at most 100. */
function checkInbox([first, ...steps]: string[], range: string): void {
  assert.equal(first, range);
  for (const step of steps)
    assert.match(
      step,
      /^(?:SEARCH \w+ USING (?:PRIMARY KEY|INDEX)|CORRELATED SCALAR SUBQUERY|CO-ROUTINE u|SCAN u$)/,
    );
}
