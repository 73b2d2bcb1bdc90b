import { EMPTY, list, type Reader, raw, sql, type Value } from "../../sql.ts";
import { batch, run, type Write } from "../../write.ts";
import { keepPosition } from "../events/events.ts";
import { rebuildIndex } from "../search/search.ts";

/**
 * A table to move to another database. Rows are moved in the order of the key, so that an interrupted move continues after
 * the last row.
 */
export interface Table {
  name: string;
  key: readonly string[];
  columns: readonly string[];
}

/** One row, with its values in the order of the columns. */
export type Row = Value[];

/** Every table with users' data. */
export const TABLES: readonly Table[] = [
  table(
    "users",
    ["id"],
    [
      "username",
      "username_key",
      "phone_number",
      "display_name",
      "avatar_url",
      "conversation_id",
      "created_at",
      "kind",
      "accepts_everyone",
      "message_limit",
      "data",
      "avatar_id",
      "set_fields",
      "version",
      "folded_key",
      "paused_at",
    ],
  ),
  table(
    "avatars",
    ["user_id"],
    ["id", "file_type", "file_size", "sha256", "crc32", "blob_key", "width", "height", "created_at"],
  ),
  table("profile_changes", ["user_id"], ["after_id"]),
  table("tokens", ["hash"], ["id", "user_id", "name", "scopes", "expires_at", "created_at", "last_used_at"]),
  table(
    "members",
    ["conversation_id", "user_id"],
    ["joined_at", "since_id", "contact_id", "contact_joined", "role", "group_id", "member_id", "inviter_id"],
  ),
  table(
    "groups",
    ["id"],
    ["conversation_id", "name", "description", "avatar_url", "history", "created_at", "version"],
  ),
  table(
    "invitations",
    ["group_id", "member_id", "inviter_id"],
    ["username_key", "username", "created_at", "declined_at"],
  ),
  table("preparing", ["conversation_id", "user_id"], ["blocks", "after_id"]),
  table("blocks", ["owner_id", "username_key"], ["username", "created_at"]),
  table(
    "contacts",
    ["owner_id", "id"],
    [
      "username_key",
      "phone_digits",
      "search_key",
      "conversation_id",
      "blocked_at",
      "version",
      "body",
      "peer_id",
      "peer_since",
    ],
  ),
  table("conversations", ["id"], ["last_id"]),
  table(
    "messages",
    ["conversation_id", "id"],
    [
      ...["sender_id", "type", "body_id", "has_files", "has_reactions", "mentions", "reply_to_id"],
      ...["created_at", "edited_at", "version", "client_id"],
    ],
  ),
  table("client_ids", ["user_id", "client_id"], ["fingerprint", "conversation_id", "message_id", "until"]),
  table("message_bodies", ["id"], ["text", "data"]),
  table("reactions", ["message_id", "place", "nth"], ["emoji", "user_id"]),
  table("withheld", ["user_id", "conversation_id", "from_id"], ["to_id"]),
  table("places", ["user_id", "conversation_id"], ["position", "maybe_unread", "is_pinned", "is_archived"]),
  table(
    "marks",
    ["user_id", "conversation_id"],
    ["last_read_id", "disclosed_read_id", "muted_until", "version"],
  ),
  table(
    "attachments",
    ["id"],
    [
      "conversation_id",
      "message_id",
      "uploader_id",
      "filename",
      "file_type",
      "file_size",
      "sha256",
      "blob_key",
      "created_at",
      "version",
      "crc32",
      "unscanned",
      "width",
      "height",
      "placeholder",
    ],
  ),
  table("small_files", ["attachment_id"], ["bytes"]),
  table("grants", ["user_id", "attachment_id"], ["conversation_id"]),
  table("departures", ["conversation_id", "user_id"], []),
  table("departing", ["conversation_id", "user_id"], ["until_id", "after_id"]),
  table("joining", ["conversation_id", "user_id"], ["before_message_id", "before_id"]),
  table("erasing", ["user_id"], ["username_key", "conversation_id"]),
  table("erased_names", ["name_hash"], ["at"]),
  table("activity", ["user_id"], ["seen_at"]),
  table("storage", ["user_id"], ["used", "day", "files"]),
  table("idempotency", ["user_id", "key_hash"], ["fingerprint", "result", "until"]),
  table("identities", ["issuer", "subject"], ["user_id"]),
  table(
    "events",
    ["position"],
    ["recipient_id", "number", "type", "conversation_id", "created_at", "payload"],
  ),
  table(
    "webhooks",
    ["id"],
    [
      ...["user_id", "url", "types", "all_users", "secret", "old_secret", "old_until", "disabled_at"],
      ...[
        "failing_since",
        "since_position",
        "backlog_from",
        "scopes",
        "public_key",
        "token_id",
        "expires_at",
      ],
      ...["created_at", "version"],
    ],
  ),
  table(
    "deliveries",
    ["webhook_id", "id"],
    [
      ...["event_id", "position", "last_position", "recipient_id", "conversation_id", "type", "told_at"],
      ...["payload", "state", "attempts", "next_at", "last_status", "last_error", "response_body"],
      ...["created_at", "updated_at"],
    ],
  ),
  table("webhook_cursor", ["id"], ["position"]),
  table("deleted_webhooks", ["id"], []),
  table("push_keys", ["id"], ["private_key"]),
  table("audit", ["id"], ["at", "actor_id", "token_id", "action", "object_id", "details", "acted_by_id"]),
];
/** Tables about bytes in the store that no attachment has. They are not moved if the files move to another store. */
export const OF_THE_STORE: readonly Table[] = [
  table("tombstones", ["blob_key"], ["created_at"]),
  table("intents", ["blob_key"], ["until"]),
  table(
    "uploads",
    ["id"],
    [
      ...["user_id", "filename", "declared_type", "conversation_id", "message_id", "length", "received"],
      ...["blob_key", "parts", "tail_key", "holder", "attachment_id", "created_at", "expires_at"],
    ],
  ),
];

function table(name: string, key: string[], others: string[]): Table {
  return { name, key, columns: [...key, ...others] };
}

export async function countRows(db: Reader, { name }: Table): Promise<number> {
  return (await db.get<{ count: number }>(sql`SELECT COUNT(*) AS count FROM ${raw(name)}`))!.count;
}

/** Returns the key of the last row; undefined if there is none. */
export async function lastKey(db: Reader, { name, key }: Table): Promise<Value[] | undefined> {
  const order = key.map((column) => `${column} DESC`).join(", ");
  const row = await db.get<Record<string, Value>>(
    sql`SELECT ${raw(key.join(", "))} FROM ${raw(name)} ORDER BY ${raw(order)} LIMIT 1`,
  );
  return row && key.map((column) => row[column]!);
}

/** Returns a batch of rows after a key, or from the first. */
export async function* rowsAfter(
  db: Reader,
  { name, key, columns }: Table,
  after: Value[] | undefined,
  pageSize: number,
): AsyncGenerator<Row[]> {
  const keys = raw(key.join(", "));
  for (let last = after; ; ) {
    const behind = last ? sql`WHERE (${keys}) > (${list(last)})` : EMPTY;
    const found = await db.all<Record<string, Value>>(
      sql`SELECT ${raw(columns.join(", "))} FROM ${raw(name)} ${behind} ORDER BY ${keys} LIMIT ${pageSize} + 0`,
    );
    const rows = found.map((row) => columns.map((column) => row[column]!));
    if (rows.length > 0) yield rows;
    if (rows.length < pageSize) return;
    last = rows.at(-1)!.slice(0, key.length);
  }
}

/** Adds rows unchanged. */
function* importRows(input: { table: Table; rows: Row[] }): Write<void> {
  const { name, columns } = input.table;
  const into = sql`INSERT INTO ${raw(name)} (${raw(columns.join(", "))})`;
  yield* batch(input.rows.map((row) => sql`${into} VALUES (${list(row)})`));
}

/** Marks a database that is being filled from another, named by `from`. */
function* beginMove(input: { from: string }): Write<void> {
  yield* run(sql`INSERT INTO moves (source) VALUES (${input.from})`);
}

/**
 * Ends a move: servers may start on the database. Links signed with these secrets stay valid until this time
 * (milliseconds).
 */
function* endMove(input: { secrets: readonly string[]; until: number }): Write<void> {
  yield* run(sql`DELETE FROM moves`);
  yield* run(keepPosition());
  yield* rebuildIndex();
  // The contacts have keys that the other database has computed, maybe by other rules.
  yield* run(sql`DELETE FROM name_rule`);
  yield* batch(
    input.secrets.map(
      (secret) => sql`INSERT INTO carried_secrets (secret, until) VALUES (${secret}, ${input.until})
        ON CONFLICT (secret) DO UPDATE SET until = excluded.until`,
    ),
  );
}

/** Reports whether a SQLite database, possibly with an older schema, has the table. */
export async function hasTable(db: Reader, name: string): Promise<boolean> {
  return (await db.get(sql`SELECT 1 AS one FROM sqlite_schema WHERE name = ${name}`)) !== undefined;
}

/** Finds the source from which the database is being filled; undefined if it is complete. */
export async function findMove(db: Reader): Promise<string | undefined> {
  return (await db.get<{ source: string }>(sql`SELECT source FROM moves`))?.source;
}

/** A secret that signed links before the database was moved. It is valid until `until` (milliseconds). */
export interface CarriedSecret {
  secret: string;
  until: number;
}

export function allCarriedSecrets(db: Reader): Promise<CarriedSecret[]> {
  return db.all(sql`SELECT secret, until FROM carried_secrets`);
}

/** Deletes secrets whose last link has expired. */
function* forgetSecrets(input: { now: number }): Write<void> {
  yield* run(sql`DELETE FROM carried_secrets WHERE until <= ${input.now}`);
}

export const tableWrites = { importRows, beginMove, endMove, forgetSecrets };
