import { keepPosition } from "./events.ts";
import { type Reader, run, type Statement, type Value, type Write } from "./sql.ts";

/** A table as it is moved to another database: in the order of its key, so that a move that was cut off goes on behind the last. */
export interface Table {
  name: string;
  key: readonly string[];
  columns: readonly string[];
}

/** One row, with its values in the order of the columns. */
export type Row = Value[];

/** Every table whose rows are somebody's. */
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
    ],
  ),
  table("tokens", ["hash"], ["id", "user_id", "name", "scopes", "expires_at", "created_at"]),
  table("members", ["conversation_id", "user_id"], ["joined_at"]),
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
  table("messages", ["id"], ["conversation_id", "sender_id", "created_at"]),
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
    ],
  ),
  table("small_files", ["attachment_id"], ["bytes"]),
  table("grants", ["user_id", "attachment_id"], ["conversation_id"]),
  table("departures", ["conversation_id", "user_id"], []),
  table("erased_names", ["name_hash"], ["at"]),
  table("activity", ["user_id"], ["seen_at"]),
  table("storage", ["user_id"], ["used"]),
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
      ...["failing_since", "since_position", "created_at", "version"],
    ],
  ),
  table(
    "deliveries",
    ["webhook_id", "id"],
    [
      ...["event_id", "position", "recipient_id", "conversation_id", "type", "told_at", "payload", "state"],
      ...["attempts", "next_at", "last_status", "last_error", "created_at", "updated_at"],
    ],
  ),
  table("webhook_cursor", ["id"], ["position"]),
  table("audit", ["id"], ["at", "actor_id", "token_id", "action", "object_id", "details"]),
];
/** What is still to be erased from the store; it stays behind where the files go to another. */
export const OF_THE_STORE: readonly Table[] = [
  table("tombstones", ["blob_key"], ["created_at"]),
  table("intents", ["blob_key"], ["until"]),
];

function table(name: string, key: string[], others: string[]): Table {
  return { name, key, columns: [...key, ...others] };
}

export async function countRows(db: Reader, { name }: Table): Promise<number> {
  return (await db.get<{ count: number }>(`SELECT COUNT(*) AS count FROM ${name}`))!.count;
}

/** The key of the last row; undefined: there is none. */
export async function lastKey(db: Reader, { name, key }: Table): Promise<Value[] | undefined> {
  const order = key.map((column) => `${column} DESC`).join(", ");
  const row = await db.get<Record<string, Value>>(
    `SELECT ${key.join(", ")} FROM ${name} ORDER BY ${order} LIMIT 1`,
  );
  return row && key.map((column) => row[column]!);
}

/** The rows behind a key, or from the first on, some at a time. */
export async function* rowsBehind(
  db: Reader,
  { name, key, columns }: Table,
  after: Value[] | undefined,
  pageSize: number,
): AsyncGenerator<Row[]> {
  const order = `ORDER BY ${key.join(", ")} LIMIT ? + 0`;
  const behind = `WHERE (${key.join(", ")}) > (${key.map(() => "?").join(", ")})`;
  for (let last = after; ; ) {
    const found = await db.all<Record<string, Value>>(
      `SELECT ${columns.join(", ")} FROM ${name} ${last ? behind : ""} ${order}`,
      ...(last ?? []),
      pageSize,
    );
    const rows = found.map((row) => columns.map((column) => row[column]!));
    if (rows.length > 0) yield rows;
    if (rows.length < pageSize) return;
    last = rows.at(-1)!.slice(0, key.length);
  }
}

/** Adds rows as they are. */
export function* importRows(input: { table: Table; rows: Row[] }): Write<void> {
  const { name, columns } = input.table;
  const sql = `INSERT INTO ${name} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`;
  yield input.rows.map((params): Statement => ({ sql, params }));
}

/** Marks a database that is being filled from another, which `from` names. */
export function* beginMove(input: { from: string }): Write<void> {
  yield* run("INSERT INTO moves (source) VALUES (?)", input.from);
}

/** The database is whole: servers may start on it. Links that were signed with these secrets hold until then (milliseconds). */
export function* endMove(input: { secrets: readonly string[]; until: number }): Write<void> {
  yield* run("DELETE FROM moves");
  yield [keepPosition()];
  yield input.secrets.map((secret) => ({
    sql: "INSERT INTO carried_secrets (secret, until) VALUES (?, ?) ON CONFLICT (secret) DO UPDATE SET until = excluded.until",
    params: [secret, input.until],
  }));
}

/** Whether a SQLite database, which may be of an older schema, has the table. */
export async function hasTable(db: Reader, name: string): Promise<boolean> {
  return (await db.get("SELECT 1 AS one FROM sqlite_schema WHERE name = ?", name)) !== undefined;
}

/** From where the database is being filled; undefined: it is whole. */
export async function findMove(db: Reader): Promise<string | undefined> {
  return (await db.get<{ source: string }>("SELECT source FROM moves"))?.source;
}

/** A secret of links that were out when the database was moved; they hold until then (milliseconds). */
export interface CarriedSecret {
  secret: string;
  until: number;
}

export function carriedSecrets(db: Reader): Promise<CarriedSecret[]> {
  return db.all("SELECT secret, until FROM carried_secrets");
}

/** Those that no link can have been signed by that still holds. */
export function* forgetSecrets(input: { now: number }): Write<void> {
  yield* run("DELETE FROM carried_secrets WHERE until <= ?", input.now);
}
