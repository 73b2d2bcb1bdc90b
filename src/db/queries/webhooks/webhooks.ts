import { ParleyError } from "../../../errors.ts";
import { toSeconds } from "../../../util/clock.ts";
import { type Page, pageClause } from "../../page.ts";
import { EMPTY, list, type Reader, raw, type Statement, sql } from "../../sql.ts";
import { checkVersion, type Expected } from "../../version.ts";
import { batch, get, type Write, write } from "../../write.ts";
import { publishEvent } from "../events/events.ts";
import { type NewEntry, recordEntry } from "../record/audit-trail.ts";

export interface WebhookRow {
  id: string;
  user_id: string;
  url: string;
  /** Space-separated; null means all. */
  types: string | null;
  /** Space-separated: the scopes of the token that set it up, which limit the families of events that it gets. */
  scopes: string;
  /** 1 if it gets the events of all users. */
  all_users: number;
  secret: string;
  old_secret: string | null;
  /** Until this time (milliseconds) the old secret signs as well. */
  old_until: number | null;
  disabled_at: number | null;
  /** Since this time (milliseconds) all attempts have failed; null if the last one succeeded. */
  failing_since: number | null;
  /** Events up to this position are older than the webhook, so it does not get them. */
  since_position: number;
  /** The position of the first event of its backlog; null if it has none. */
  backlog_from: number | null;
  /** The device's key, for a push subscription, whose secret is also the device's; null for other webhooks. */
  public_key: string | null;
  /** The token that created a push subscription. */
  token_id: string | null;
  /** When that token expires (milliseconds). */
  expires_at: number | null;
  created_at: number;
  version: number;
}

const NAMES = [
  ...(["id", "user_id", "url", "types", "scopes", "all_users", "secret", "old_secret", "old_until"] as const),
  ...(["disabled_at", "failing_since", "since_position", "backlog_from", "public_key", "token_id"] as const),
  ...(["expires_at", "created_at", "version"] as const),
];
export const HOOK_COLUMNS = raw(NAMES.join(", "));

/** Part of other writes. */
export function insertHook(row: WebhookRow): Statement {
  return sql`INSERT INTO webhooks (${HOOK_COLUMNS}) VALUES (${list(NAMES.map((name) => row[name]))})`;
}

/** Selects the user's webhooks without push subscriptions, which are another resource. */
const ownHooks = (userId: string) => sql`FROM webhooks WHERE user_id = ${userId} AND public_key IS NULL`;

function findOwn(userId: string, id: string): Statement<WebhookRow> {
  return sql`SELECT ${HOOK_COLUMNS} ${ownHooks(userId)} AND id = ${id}`;
}

/** A webhook as the API returns it: without its secret. */
export function toWebhook(row: Omit<WebhookRow, "secret" | "old_secret">) {
  return {
    id: row.id,
    user_id: row.user_id,
    url: row.url,
    events: row.types?.split(" ") ?? null,
    all_users: row.all_users === 1,
    enabled: row.disabled_at === null,
    created_at: toSeconds(row.created_at),
  };
}

export function findWebhook(db: Reader, userId: string, id: string): Promise<WebhookRow | undefined> {
  return db.get(findOwn(userId, id));
}

/** Finds a webhook of any user. */
export function findAnyWebhook(db: Reader, id: string): Promise<WebhookRow | undefined> {
  return db.get(sql`SELECT ${HOOK_COLUMNS} FROM webhooks WHERE id = ${id} AND public_key IS NULL`);
}

/** Selects the webhooks to send to: enabled ones whose owner is not paused. */
export const IS_SENT_TO = sql`webhooks.disabled_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM users u WHERE u.id = webhooks.user_id AND u.paused_at IS NOT NULL)`;

/** Finds a webhook to send to; undefined if it is deleted or disabled, or its owner is paused. */
export function findWebhookToSend(db: Reader, id: string): Promise<WebhookRow | undefined> {
  return db.get(sql`SELECT ${HOOK_COLUMNS} FROM webhooks WHERE id = ${id} AND ${IS_SENT_TO}`);
}

/** Whether any webhook of any user is enabled. */
export async function hasEnabled(db: Reader): Promise<boolean> {
  // Each kind has a separate index.
  const found = await db.get(sql`SELECT 1 AS one
    WHERE EXISTS (SELECT 1 FROM webhooks WHERE disabled_at IS NULL AND backlog_from IS NULL)
    OR EXISTS (SELECT 1 FROM webhooks WHERE disabled_at IS NULL AND backlog_from IS NOT NULL)`);
  return found !== undefined;
}

/** Returns the ids of those webhooks that are enabled and whose owner is not paused. */
export async function listSentTo(db: Reader, ids: readonly string[]): Promise<string[]> {
  const rows = await db.all<{ id: string }>(
    sql`SELECT id FROM webhooks WHERE id IN (${list(ids)}) AND ${IS_SENT_TO}`,
  );
  return rows.map(({ id }) => id);
}

interface WebhookFilter {
  /** Null lists the webhooks of all users. */
  userId: string | null;
  /** Lists only those whose last attempt failed. */
  isFailing: boolean;
}

/** Returns the rows of a page, and one more if there is one. */
export function listWebhookRows(db: Reader, filter: WebhookFilter, page: Page): Promise<WebhookRow[]> {
  return db.all(webhooksQuery(filter, page));
}

/** The id as an expression that only the index without push subscriptions has, so that a planner uses that one. */
const HIDDEN_ID = sql`(id || '')`;

export function webhooksQuery({ userId, isFailing }: WebhookFilter, page: Page): Statement<WebhookRow> {
  const failing = isFailing ? sql`AND failing_since IS NOT NULL` : EMPTY;
  if (userId !== null)
    return sql`SELECT ${HOOK_COLUMNS} ${ownHooks(userId)} ${failing} AND ${pageClause(page)}`;
  // Failing webhooks have an index of the id itself.
  const id = isFailing ? sql`id` : HIDDEN_ID;
  return sql`SELECT ${HOOK_COLUMNS} FROM webhooks WHERE public_key IS NULL ${failing} AND ${pageClause(page, id)}`;
}

interface CreateWebhook {
  row: WebhookRow;
  /** The most webhooks that the user may have, including this one; 0 means no limit. */
  limit: number;
  entry: NewEntry;
  /** The secret for replays, sealed with the Idempotency-Key; null without a key. */
  sealed: string | null;
}

/** The result of a request that creates a secret. */
interface MadeSecret {
  row: Omit<WebhookRow, "secret" | "old_secret">;
  sealed: string | null;
}

/** Throws `count_limit_reached` and `invalid_token`. */
const createWebhook = write(
  { serializeBy: ({ row }) => row.user_id },
  function* (input: CreateWebhook): Write<MadeSecret> {
    const { row, limit } = input;
    const [user, [counted]] = yield* batch([
      sql`SELECT 1 AS one FROM users WHERE id = ${row.user_id}`,
      // No further condition: PostgreSQL might then read the webhooks of all users by another index.
      sql<{
        count: number;
      }>`SELECT COUNT(*) - COUNT(public_key) AS count FROM webhooks WHERE user_id = ${row.user_id}`,
    ]);
    // The user was deleted after the token was checked.
    if (user.length === 0) throw new ParleyError("invalid_token");
    const had = counted!.count;
    if (limit > 0 && had >= limit) {
      throw new ParleyError(
        "count_limit_reached",
        `You have ${had} webhooks, and may have ${limit}. Delete webhooks that are no longer needed. The operator sets the limit with PARLEY_MAX_WEBHOOKS.`,
      );
    }
    yield* batch([
      insertHook(row),
      recordEntry(input.entry, "webhook.created", row.id, {
        origin: originOf(row),
        all_users: row.all_users === 1,
      }),
    ]);
    return madeSecret(row, input.sealed);
  },
);

/** The audit trail stores only the origin of a URL: the rest of it may be a secret. */
export function originOf({ url }: Pick<WebhookRow, "url">): string {
  return new URL(url).origin;
}

/** Removes the secrets, because the result is stored with the Idempotency-Key. */
function madeSecret({ secret: _, old_secret: __, ...row }: WebhookRow, sealed: string | null): MadeSecret {
  return { row, sealed };
}

/** Part of other writes. Throws `webhook_not_found` and `precondition_failed`. */
export function* getWebhook(userId: string, id: string, expected: Expected = null): Write<WebhookRow> {
  const row = yield* get(findOwn(userId, id));
  if (!row) throw new ParleyError("webhook_not_found");
  checkVersion(expected, row.version);
  return row;
}

interface UpdateWebhook {
  userId: string;
  id: string;
  /** Undefined leaves it unchanged. */
  url: string | undefined;
  types: string | null | undefined;
  enabled: boolean | undefined;
  /** The scopes of the token of the update: a new URL or new types must not get more than that token may see. */
  scopes: string;
  /** The newest position. A webhook without a backlog does not get what happened while it was disabled. */
  position: number;
  expected: Expected;
  entry: NewEntry;
}

/**
 * Throws `webhook_not_found` and `precondition_failed`. Enabling a webhook or changing its URL restarts its pending
 * deliveries.
 */
const updateWebhook = write({ publishesEvents: true }, function* (input: UpdateWebhook): Write<WebhookRow> {
  const { userId, id, enabled, entry } = input;
  const was = yield* getWebhook(userId, id, input.expected);
  const row = { ...was, url: input.url ?? was.url };
  if (input.types !== undefined) row.types = input.types;
  if (enabled !== undefined) row.disabled_at = enabled ? null : (was.disabled_at ?? entry.at);
  const changed = (["url", "types", "disabled_at"] as const).filter((name) => row[name] !== was[name]);
  if (changed.length === 0) return was;
  row.version++;
  if (changed.some((name) => name !== "disabled_at")) row.scopes = input.scopes;
  const resumed = was.disabled_at !== null && row.disabled_at === null;
  // A webhook with a backlog continues from that position, so that it loses nothing.
  if (resumed && row.backlog_from === null) row.since_position = input.position;
  const begunAnew = resumed || row.url !== was.url;
  const isDisabled = was.disabled_at === null && row.disabled_at !== null;
  // An owner who disabled it knows.
  const isNews = isDisabled && entry.actorId !== row.user_id;
  if (begunAnew) row.failing_since = null;
  yield* batch([
    sql`UPDATE webhooks SET url = ${row.url}, types = ${row.types}, scopes = ${row.scopes},
        disabled_at = ${row.disabled_at}, failing_since = ${row.failing_since}, since_position = ${row.since_position}, version = ${row.version}
        WHERE id = ${id}`,
    recordEntry(entry, "webhook.updated", id, { origin: originOf(row), enabled: row.disabled_at === null }),
    ...(begunAnew ? [beginAnew(id, entry.at)] : []),
    ...(isNews ? [publishDisabled(row, entry.at)] : []),
  ]);
  return row;
});

/** Makes the first pending delivery of each conversation due at once, with all its attempts. */
function beginAnew(id: string, now: number): Statement {
  return sql`UPDATE deliveries SET next_at = ${now}, attempts = 0 WHERE webhook_id = ${id} AND state = 'pending'
    AND NOT EXISTS (
    SELECT 1 FROM deliveries first WHERE first.webhook_id = deliveries.webhook_id AND first.state = 'pending'
      AND first.conversation_id = deliveries.conversation_id
      AND (first.position, first.id) < (deliveries.position, deliveries.id))`;
}

interface RotateSecret {
  userId: string;
  id: string;
  secret: string;
  /** Until this time (milliseconds) the previous secret signs as well. */
  oldUntil: number;
  entry: NewEntry;
  sealed: string | null;
}

/** Throws `webhook_not_found`. */
function* rotateSecret(input: RotateSecret): Write<MadeSecret> {
  const row = yield* getWebhook(input.userId, input.id);
  yield* batch([
    sql`UPDATE webhooks
      SET secret = ${input.secret}, old_secret = ${row.secret}, old_until = ${input.oldUntil}
      WHERE id = ${row.id}`,
    recordEntry(input.entry, "webhook.secret_rotated", row.id),
  ]);
  return madeSecret(row, input.sealed);
}

/**
 * Deletes the webhook; the eraser removes its deliveries, which may be many. Throws `webhook_not_found` and
 * `precondition_failed`.
 */
const deleteWebhook = write(
  { publishesEvents: true },
  function* (input: { userId: string; id: string; expected: Expected; entry: NewEntry }): Write<void> {
    const row = yield* getWebhook(input.userId, input.id, input.expected);
    yield* batch([
      sql`DELETE FROM webhooks WHERE id = ${input.id}`,
      sql`INSERT INTO deleted_webhooks (id) VALUES (${input.id})`,
      recordEntry(input.entry, "webhook.deleted", input.id, { origin: originOf(row) }),
    ]);
  },
);

/** Part of other writes: sets since when all attempts have failed; null if one has succeeded. */
export function noteFailing(id: string, at: number | null): Statement {
  return at === null
    ? sql`UPDATE webhooks SET failing_since = NULL WHERE id = ${id} AND failing_since IS NOT NULL`
    : sql`UPDATE webhooks SET failing_since = ${at} WHERE id = ${id} AND failing_since IS NULL`;
}

/** Part of other writes: disables the webhook and publishes that to its owner, if it was enabled. */
export function* disableWebhook(id: string, entry: NewEntry): Write<void> {
  const row = yield* get<WebhookRow>(
    sql`UPDATE webhooks SET disabled_at = ${entry.at}, version = version + 1 WHERE id = ${id} AND disabled_at IS NULL
      RETURNING ${HOOK_COLUMNS}`,
  );
  if (!row) return;
  yield* batch([
    publishDisabled(row, entry.at),
    recordEntry(entry, "webhook.disabled", id, { origin: originOf(row) }),
  ]);
}

function publishDisabled(row: WebhookRow, at: number): Statement {
  return publishEvent("webhook.disabled", at, row.user_id, "", JSON.stringify(toWebhook(row)));
}

export const webhookWrites = { createWebhook, updateWebhook, rotateSecret, deleteWebhook };
