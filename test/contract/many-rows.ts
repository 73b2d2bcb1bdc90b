// A PostgreSQL with many rows, about which the planner has good, no or wrong statistics.
import { type TestContext, test } from "node:test";
import type { Client } from "pg";
import { noPostgres, type PostgresSource } from "../support/engines/postgres.ts";
import { openPlainPostgres } from "./databases.ts";

/** Rows in most tables. */
export const ROWS = 100_000;

/** A hard case for a planner: most rows belong to one owner, and one phone number in ten is the same. */
const FILL = [
  `INSERT INTO contacts (owner_id, id, username_key, phone_digits, search_key, conversation_id, blocked_at, version, body)
   SELECT CASE WHEN n % 6 = 0 THEN 'usr_y' ELSE 'usr_x' END, 'con_' || lpad(n::text, 8, '0'), 'name ' || n,
     CASE WHEN n % 10 = 0 THEN '555' ELSE n::text END, ' name ' || n, 'cnv_' || n, CASE WHEN n % 50 = 0 THEN 1 END, 1, '{}'
   FROM generate_series(1, ${ROWS}) n`,
  `INSERT INTO attachments (id, conversation_id, message_id, uploader_id, filename, file_type, file_size, sha256,
     blob_key, created_at, version)
   SELECT 'att_' || lpad(n::text, 8, '0'), 'cnv_' || n % 7, 'msg', 'usr_x', 'a', 'a/b', 1, '', 'att', 1, 1
   FROM generate_series(1, ${ROWS}) n`,
  `INSERT INTO grants (user_id, attachment_id, conversation_id)
   SELECT CASE WHEN right(id, 1) = '0' THEN 'usr_y' ELSE 'usr_x' END, id, conversation_id FROM attachments`,
  `INSERT INTO members (conversation_id, user_id, joined_at)
   SELECT 'cnv_' || n / 2, CASE WHEN n % 2 = 0 THEN 'usr_y' ELSE 'usr_x' END, 1 FROM generate_series(0, ${ROWS}) n`,
  `INSERT INTO withheld (user_id, conversation_id, from_id, to_id)
   SELECT user_id, conversation_id, 'msg', 'msg' FROM members`,
  `INSERT INTO places (user_id, conversation_id, position, maybe_unread, is_pinned, is_archived)
   SELECT user_id, conversation_id, lpad(row_number() OVER ()::text, 8, '0'), row_number() OVER () % 9 / 8,
     row_number() OVER () % 50 / 49, row_number() OVER () % 2 FROM members`,
  `INSERT INTO marks (user_id, conversation_id) SELECT user_id, conversation_id FROM members`,
  `INSERT INTO messages (conversation_id, id, sender_id, type, body_id, has_files, created_at, version)
   SELECT conversation_id, 'msg_' || row_number() OVER (), user_id, 'text', row_number() OVER (), 0, 1, 1 FROM members`,
  `INSERT INTO client_ids (user_id, client_id, fingerprint, conversation_id, message_id, until)
   SELECT sender_id, id, '', conversation_id, id, CASE WHEN right(id, 1) = '0' THEN 1 + body_id END FROM messages`,
  `INSERT INTO message_bodies (id, text) SELECT body_id, 'the' FROM messages`,
  "SELECT setval(pg_get_serial_sequence('message_bodies', 'id'), MAX(id)) FROM message_bodies",
  `INSERT INTO indexed_words (word, body_id) SELECT right(conversation_id, 10) || word, body_id
   FROM messages, unnest(ARRAY['the', 'they', 'fox', 'a']) word`,
  `INSERT INTO blocks (owner_id, username_key, username, created_at)
   SELECT CASE WHEN n % 6 = 0 THEN 'usr_y' ELSE 'usr_x' END, 'name ' || n, 'name ' || n, 1 FROM generate_series(1, ${ROWS}) n`,
  `INSERT INTO activity (user_id, seen_at) SELECT 'usr_' || n, 1 FROM generate_series(1, ${ROWS}) n`,
  `INSERT INTO users (id, username, username_key, folded_key, conversation_id, created_at)
   SELECT 'usr_' || lpad(n::text, 8, '0'), n, n, n, 'cnv', 1 FROM generate_series(1, ${ROWS}) n`,
  "INSERT INTO storage (user_id, used) SELECT id, 0 FROM users",
  `INSERT INTO tokens (hash, id, user_id, scopes, created_at)
   SELECT sha256(n::text::bytea), 'tok_' || lpad(n::text, 8, '0'), CASE WHEN n % 6 = 0 THEN 'usr_y' ELSE 'usr_x' END, 'admin', 1
   FROM generate_series(1, ${ROWS}) n`,
  `INSERT INTO audit (id, at, action, object_id)
   SELECT 'aud_' || lpad(n::text, 8, '0'), 1, 'token.created', 'tok' FROM generate_series(1, ${ROWS}) n`,
  `INSERT INTO webhooks (id, user_id, url, all_users, secret, since_position, created_at, version)
   SELECT 'whk_' || lpad(n::text, 8, '0'), CASE WHEN n % 6 = 0 THEN 'usr_y' ELSE 'usr_x' END, 'a', 0, 'a', 0, 1, 1
   FROM generate_series(1, ${ROWS}) n`,
  `INSERT INTO deliveries (webhook_id, id, event_id, position, recipient_id, conversation_id, type, told_at, payload, state,
     attempts, created_at, updated_at)
   SELECT CASE WHEN n % 6 = 0 THEN 'whk_y' ELSE 'whk_x' END, 'dlv_' || lpad(n::text, 8, '0'), 'evt', n, 'usr_x', 'cnv', 'a', 1,
     '{}', 'delivered', 1, 1, 1 FROM generate_series(1, ${ROWS}) n`,
  `INSERT INTO users (id, username, username_key, conversation_id, created_at) VALUES ('usr_x', 'x', 'x', 'cnv_own', 1)`,
  `INSERT INTO groups (id, conversation_id, name, history, created_at, version)
   SELECT 'grp_' || n, 'cnv_grp_' || n, 'a', 'joined', 1, 1 FROM generate_series(1, ${ROWS}) n`,
  `INSERT INTO members (conversation_id, user_id, joined_at, since_id, group_id, member_id, role, inviter_id)
   SELECT 'cnv_grp_' || g, CASE WHEN n = 1 THEN 'usr_x' ELSE 'usr_' || n END, 1, '', 'grp_' || g, 'mem_' || n, 'member',
     'usr_' || lpad(g::text, 8, '0')
   FROM generate_series(1, ${ROWS / 20}) g, generate_series(1, 20) n`,
  `INSERT INTO invitations (group_id, member_id, inviter_id, username_key, username, created_at)
   SELECT 'grp_' || g, 'mem_' || n, 'usr_1', CASE WHEN n = 21 THEN 'x' ELSE 'name ' || n END, 'x', 1
   FROM generate_series(1, ${ROWS / 20}) g, generate_series(21, 40) n`,
  `INSERT INTO reactions (message_id, place, nth, emoji, user_id)
   SELECT 'msg_' || n / 9, n % 9, 1, n % 9, 'usr_' || lpad(n::text, 8, '0') FROM generate_series(1, ${ROWS}) n`,
  `INSERT INTO uploads (id, user_id, received, blob_key, holder, attachment_id, created_at, expires_at)
   SELECT 'upl_' || lpad(n::text, 8, '0'), CASE WHEN n % 6 = 0 THEN 'usr_y' ELSE 'usr_x' END, 1, n, 'a',
     CASE WHEN n % 200 > 0 THEN 'att_' || lpad(n::text, 8, '0') END, 1, 1 + n FROM generate_series(1, ${ROWS}) n`,
];

/** The planner's statistics: none, those of empty tables, or those that the server soon collects. */
type Statistics = "no statistics" | "statistics of empty tables" | "statistics";
const CASES: readonly [PostgresSource, Statistics][] = [
  ["bundled", "statistics"],
  ["debian", "statistics of empty tables"],
];

/** Fills the tables. The server itself does not analyze them. */
export async function fill(
  client: Client,
  statistics: Statistics,
  statements: readonly string[] = FILL,
): Promise<void> {
  await client.query(`DO $$ DECLARE name regclass; BEGIN
    FOR name IN SELECT oid FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace LOOP
      EXECUTE format('ALTER TABLE %s SET (autovacuum_enabled = false)', name);
    END LOOP; END $$`);
  if (statistics === "statistics of empty tables") await client.query("VACUUM ANALYZE");
  for (const sql of statements) await client.query(sql);
  if (statistics === "statistics") await client.query("VACUUM ANALYZE");
}

/** Runs a test of plans on tables that `fillTables` fills. */
export function plansTest(
  name: string,
  run: (
    t: TestContext,
    client: Client,
    fillTables: (statements?: string[]) => Promise<void>,
  ) => Promise<void>,
): void {
  for (const [source, statistics] of CASES) {
    test(`postgres, ${source}, ${statistics}: ${name}`, { skip: noPostgres[source] }, async (t) => {
      const client = await openPlainPostgres(t, source);
      await run(t, client, (statements) => fill(client, statistics, statements));
    });
  }
}
