import assert from "node:assert/strict";
import { test } from "node:test";
import pg from "pg";
import { attachmentsQuery } from "../../src/db/attachments.ts";
import { actsQuery } from "../../src/db/audit.ts";
import { type ContactFilter, contactsQuery } from "../../src/db/contacts.ts";
import { deliveriesQuery } from "../../src/db/deliveries.ts";
import { NEWEST } from "../../src/db/page.ts";
import { openPostgres } from "../../src/db/postgres.ts";
import type { Statement } from "../../src/db/sql.ts";
import { tokensQuery } from "../../src/db/tokens.ts";
import { usersQuery } from "../../src/db/users.ts";
import { webhooksQuery } from "../../src/db/webhooks.ts";
import { administer, testDatabase } from "../engines/postgres.ts";

const FILTERS: ContactFilter[] = [
  {},
  { usernameKey: "name 77" },
  { phoneDigits: "555" },
  { blocked: true },
  { blocked: false },
  { wordPrefix: "name" },
  { usernameKey: "name 77", phoneDigits: "555", wordPrefix: "name", blocked: false },
];

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
  `INSERT INTO activity (user_id, seen_at) SELECT 'usr_' || n, 1 FROM generate_series(1, ${CONTACTS}) n`,
  `INSERT INTO users (id, username, username_key, conversation_id, created_at)
   SELECT 'usr_' || lpad(n::text, 8, '0'), n, n, 'cnv', 1 FROM generate_series(1, ${CONTACTS}) n`,
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
  "ANALYZE",
];

function statements(): Statement[] {
  const found: Statement[] = [];
  for (const newer of [false, true]) {
    for (const cursor of [NEWEST, "con_00012000", "att_00012000", "tok_00012000"]) {
      const page = { cursor, newer, limit: 10 };
      for (const filter of FILTERS) found.push(contactsQuery("usr_x", filter, page));
      for (const conversation of [undefined, "cnv_3"])
        found.push(attachmentsQuery("usr_x", conversation, page));
      for (const usernameKey of [undefined, "77"]) found.push(usersQuery({ usernameKey }, page));
      for (const userId of [undefined, "usr_x"]) found.push(tokensQuery({ userId }, page));
      found.push(actsQuery(page), webhooksQuery("usr_x", page), deliveriesQuery("whk_x", page));
    }
  }
  return found;
}

test(`postgres: among ${CONTACTS} rows every page is read by an index in its order: no sort, no scan of a table`, async (t) => {
  const url = await testDatabase(t);
  await (await openPostgres(url)).close();
  for (const sql of FILL) await administer(url, sql);
  const client = new pg.Client({ connectionString: url });
  // Its database goes before it does.
  client.on("error", () => {});
  await client.connect();
  t.after(() => client.end());
  const asked = statements();
  // As a prepared statement is planned first, for its parameters, and after five times maybe, for any.
  for (const mode of ["force_custom_plan", "force_generic_plan"]) {
    await client.query(`SET plan_cache_mode = ${mode}`);
    for (const [i, { sql, params }] of asked.entries()) {
      let number = 0;
      const name = `${mode}_${i}`;
      await client.query(`PREPARE ${name} AS ${sql.replaceAll("?", () => `$${++number}`)}`);
      const values = params.map((value) => (typeof value === "number" ? value : `'${value}'`));
      const { rows } = await client.query({
        text: `EXPLAIN EXECUTE ${name} (${values})`,
        rowMode: "array",
      });
      const plan = rows.flat().join("\n");
      assert.match(plan, /Index (Only )?Scan/, `${mode}: ${sql}\n${plan}`);
      assert.doesNotMatch(plan, /Seq Scan|Bitmap/, `${mode}: ${sql} (${values})\n${plan}`);
      // Of one username there is one contact at most: it may be sorted.
      if (!sql.includes("username_key")) assert.doesNotMatch(plan, /Sort/, `${mode}: ${sql}\n${plan}`);
    }
  }
  t.diagnostic(`${asked.length} statements, each a scan of an index`);
});
