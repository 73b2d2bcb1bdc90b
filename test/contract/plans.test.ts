import assert from "node:assert/strict";
import { test } from "node:test";
import { attachmentsQuery } from "../../src/db/attachments.ts";
import { actsQuery } from "../../src/db/audit.ts";
import { type ContactFilter, contactsQuery } from "../../src/db/contacts.ts";
import { deliveriesQuery } from "../../src/db/deliveries.ts";
import { NEWEST } from "../../src/db/page.ts";
import type { Statement } from "../../src/db/sql.ts";
import { tokensQuery } from "../../src/db/tokens.ts";
import { usersQuery } from "../../src/db/users.ts";
import { webhooksQuery } from "../../src/db/webhooks.ts";
import { openPlainSqlite } from "./databases.ts";

const FILTERS: ContactFilter[] = [
  {},
  { usernameKey: "a" },
  { phoneDigits: "555" },
  { blocked: true },
  { blocked: false },
  { wordPrefix: "a" },
  { usernameKey: "a", phoneDigits: "555", wordPrefix: "a", blocked: false },
];

test("every page is one range of an index: no scan of a table, no sort, no offset", async (t) => {
  const db = await openPlainSqlite(t);
  const statements: Statement[] = [];
  for (const newer of [false, true]) {
    const page = { cursor: NEWEST, newer, limit: 10 };
    for (const filter of FILTERS) statements.push(contactsQuery("usr_x", filter, page));
    for (const conversation of [undefined, "cnv_x"])
      statements.push(attachmentsQuery("usr_x", conversation, page));
    for (const usernameKey of [undefined, "a"]) statements.push(usersQuery({ usernameKey }, page));
    for (const userId of [undefined, "usr_x"]) statements.push(tokensQuery({ userId }, page));
    statements.push(actsQuery(page), webhooksQuery("usr_x", page), deliveriesQuery("whk_x", page));
  }
  for (const { sql, params } of statements) {
    const plan = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...params) as { detail: string }[];
    const steps = plan.map((row) => row.detail);
    assert.ok(steps.length > 0);
    // The subquery that tells when a contact was last seen.
    for (const step of steps.filter((each) => !/^CORRELATED SCALAR SUBQUERY/.test(each)))
      assert.match(step, /^SEARCH \w+ USING (?:COVERING )?(?:INDEX|PRIMARY KEY)/, `${sql}: ${step}`);
    assert.ok(!/OFFSET/i.test(sql));
  }
  t.diagnostic(`${statements.length} statements, each a search by an index`);
});
