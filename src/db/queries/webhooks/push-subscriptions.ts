import { ParleyError } from "../../../errors.ts";
import { toSeconds } from "../../../util/clock.ts";
import { type Page, pageClause } from "../../page.ts";
import { type Reader, type Statement, sql } from "../../sql.ts";
import { checkVersion, type Expected } from "../../version.ts";
import { batch, get, run, type Write, write } from "../../write.ts";
import { type NewEntry, recordEntry } from "../record/audit-trail.ts";
import { HOOK_COLUMNS, insertHook, noteFailing, originOf, type WebhookRow } from "./webhooks.ts";

// A push subscription is a webhook with a public key. It gets events in the same way as all webhooks.

/** Selects the user's subscriptions whose token has not expired. Others stay until an event or the sweep deletes them. */
const ownPushes = (userId: string, now: number) => sql`FROM webhooks
  WHERE user_id = ${userId} AND public_key IS NOT NULL AND (expires_at IS NULL OR expires_at > ${now})`;

function findOwn(userId: string, id: string, now: number): Statement<WebhookRow> {
  return sql`SELECT ${HOOK_COLUMNS} ${ownPushes(userId, now)} AND id = ${id}`;
}

/** A push subscription as the API returns it: without its keys. */
export function toPushSubscription(row: Pick<WebhookRow, "id" | "url" | "expires_at" | "created_at">) {
  return {
    id: row.id,
    endpoint: row.url,
    expires_at: row.expires_at === null ? null : toSeconds(row.expires_at),
    created_at: toSeconds(row.created_at),
  };
}

export function findPushSubscription(
  db: Reader,
  userId: string,
  id: string,
  now: number,
): Promise<WebhookRow | undefined> {
  return db.get(findOwn(userId, id, now));
}

/** Returns the rows of a page, and one more if there is one. */
export function listPushSubscriptionRows(
  db: Reader,
  userId: string,
  page: Page,
  now: number,
): Promise<WebhookRow[]> {
  return db.all(pushSubscriptionsQuery(userId, page, now));
}

export function pushSubscriptionsQuery(userId: string, page: Page, now: number): Statement<WebhookRow> {
  return sql`SELECT ${HOOK_COLUMNS} ${ownPushes(userId, now)} AND ${pageClause(page)}`;
}

interface CreatePushSubscription {
  row: WebhookRow;
  /** The most subscriptions that the user may have, including this one. */
  limit: number;
  entry: NewEntry;
}

/** A subscription without its secret: the result is stored with the Idempotency-Key. */
interface Subscribed {
  row: Pick<WebhookRow, "id" | "url" | "expires_at" | "created_at">;
  isNew: boolean;
}

/**
 * Creates a subscription. If the user has one with the same endpoint, that one gets the new keys and token instead. Throws
 * `count_limit_reached` and `invalid_token`.
 */
const createPushSubscription = write(
  { serializeBy: ({ row }) => row.user_id },
  function* ({ row, limit, entry }: CreatePushSubscription): Write<Subscribed> {
    const [user, [token], [was], [counted]] = yield* batch([
      sql`SELECT 1 AS one FROM users WHERE id = ${row.user_id}`,
      sql<{ expires_at: number | null }>`SELECT expires_at FROM tokens WHERE id = ${row.token_id}`,
      sql<WebhookRow>`SELECT ${HOOK_COLUMNS} ${ownPushes(row.user_id, entry.at)} AND url = ${row.url}`,
      sql<{ count: number }>`SELECT COUNT(*) AS count ${ownPushes(row.user_id, entry.at)}`,
    ]);
    // The user was deleted, or the token revoked, after the token was checked.
    if (user.length === 0 || (row.token_id !== null && !token)) throw new ParleyError("invalid_token");
    const made = { ...row, expires_at: token?.expires_at ?? null };
    if (was) return { row: yield* renew(was, made, entry), isNew: false };
    if (counted!.count >= limit) {
      throw new ParleyError(
        "count_limit_reached",
        `You have ${counted!.count} push subscriptions, and may have ${limit}. Delete those of devices that you no longer use.`,
      );
    }
    yield* batch([
      insertHook(made),
      recordEntry(entry, "push_subscription.created", made.id, { origin: originOf(made) }),
    ]);
    return { row: shown(made), isNew: true };
  },
);

const CHANGING = ["public_key", "secret", "scopes", "token_id", "expires_at"] as const;

/** Gives an existing subscription the keys and the token of a new one. */
function* renew(was: WebhookRow, made: WebhookRow, entry: NewEntry): Write<Subscribed["row"]> {
  const row = { ...was };
  if (CHANGING.every((name) => was[name] === made[name])) return shown(row);
  row.expires_at = made.expires_at;
  yield* batch([
    sql`UPDATE webhooks SET public_key = ${made.public_key}, secret = ${made.secret}, scopes = ${made.scopes},
      token_id = ${made.token_id}, expires_at = ${made.expires_at}, failing_since = NULL, version = version + 1
      WHERE id = ${row.id}`,
    recordEntry(entry, "push_subscription.updated", row.id, { origin: originOf(row) }),
  ]);
  return shown(row);
}

function shown({ id, url, expires_at, created_at }: WebhookRow): Subscribed["row"] {
  return { id, url, expires_at, created_at };
}

/** Throws `push_subscription_not_found` and `precondition_failed`. */
function* deletePushSubscription(input: {
  userId: string;
  id: string;
  expected: Expected;
  entry: NewEntry;
}): Write<void> {
  const row = yield* get(findOwn(input.userId, input.id, input.entry.at));
  if (!row) throw new ParleyError("push_subscription_not_found");
  checkVersion(input.expected, row.version);
  yield* endPushSubscription({ ...row, entry: input.entry });
}

interface EndPushSubscription extends Pick<WebhookRow, "id" | "version"> {
  /** Null if the subscription ends with its token. */
  entry: NewEntry | null;
}

/** Ends a subscription, unless it has ended or changed since it was read. The eraser removes its deliveries. */
function* endPushSubscription({ id, version, entry }: EndPushSubscription): Write<void> {
  const row = yield* get<Pick<WebhookRow, "url">>(
    sql`DELETE FROM webhooks WHERE id = ${id} AND version = ${version} RETURNING url`,
  );
  if (!row) return;
  yield* batch([
    sql`INSERT INTO deleted_webhooks (id) VALUES (${id})`,
    ...(entry ? [recordEntry(entry, "push_subscription.deleted", id, { origin: originOf(row) })] : []),
  ]);
}

/** Part of writes that delete tokens: ends the subscriptions made with them. `tokens` lists ids. */
export function endPushSubscriptionsOf(tokens: Statement): Statement[] {
  return [
    sql`INSERT INTO deleted_webhooks (id) SELECT id FROM webhooks WHERE token_id IN (${tokens})`,
    sql`DELETE FROM webhooks WHERE token_id IN (${tokens})`,
  ];
}

interface SettlePush {
  webhookId: string;
  id: string;
  conversationId: string;
  position: number;
  attempts: number;
  /** Whether the push server accepted it. */
  isDelivered: boolean;
  /** Set if it is retried. */
  nextAt: number | null;
  now: number;
}

/**
 * Records the outcome of an attempt. Deletes a push that is done. An accepted push also ends earlier ones of its
 * conversation, which it replaces.
 */
function* settlePush(input: SettlePush): Write<void> {
  const { webhookId, id, isDelivered, nextAt, now } = input;
  const replaced = sql`state = 'pending' AND conversation_id = ${input.conversationId} AND position <= ${input.position}`;
  yield* batch([
    nextAt === null
      ? sql`DELETE FROM deliveries WHERE webhook_id = ${webhookId} AND ${isDelivered ? replaced : sql`id = ${id}`}`
      : sql`UPDATE deliveries SET attempts = ${input.attempts}, next_at = ${nextAt}, updated_at = ${now}
        WHERE webhook_id = ${webhookId} AND id = ${id}`,
    noteFailing(webhookId, isDelivered ? null : now),
  ]);
}

/** Ends a push without an attempt. */
function* skipPush(input: { webhookId: string; id: string }): Write<void> {
  yield* run(sql`DELETE FROM deliveries WHERE webhook_id = ${input.webhookId} AND id = ${input.id}`);
}

/** Returns the private key that identifies the service to push servers; undefined if there is none yet. */
export async function findPushKey(db: Reader): Promise<string | undefined> {
  return (await db.get<{ private_key: string }>(sql`SELECT private_key FROM push_keys WHERE id = 1`))
    ?.private_key;
}

/** Stores the key unless another node has stored one, and returns the stored key. */
function* createPushKey(input: { key: string }): Write<string> {
  yield* run(
    sql`INSERT INTO push_keys (id, private_key) VALUES (1, ${input.key}) ON CONFLICT (id) DO NOTHING`,
  );
  return (yield* get<{ private_key: string }>(sql`SELECT private_key FROM push_keys WHERE id = 1`))!
    .private_key;
}

export const pushWrites = {
  createPushSubscription,
  deletePushSubscription,
  endPushSubscription,
  settlePush,
  skipPush,
  createPushKey,
};
