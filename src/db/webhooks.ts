import { ParleyError } from "../errors.ts";
import { toSeconds } from "../util/clock.ts";
import { type Act, recordAct } from "./audit.ts";
import { tell } from "./events.ts";
import { type Page, walkOf } from "./page.ts";
import { get, type Reader, type Statement, statement, type Write } from "./sql.ts";
import { checkVersion, type Expected } from "./version.ts";

export interface WebhookRow {
  id: string;
  user_id: string;
  url: string;
  /** Separated by spaces; null: all. */
  types: string | null;
  /** 1: it sees everybody's events. */
  all_users: number;
  secret: string;
  old_secret: string | null;
  /** Until then (milliseconds) the old secret signs as well. */
  old_until: number | null;
  disabled_at: number | null;
  /** Since then (milliseconds) nothing was taken, and something was tried; null: the last was taken. */
  failing_since: number | null;
  /** Events up to this position were there before it. */
  since_position: number;
  created_at: number;
  version: number;
}

const COLUMNS =
  "id, user_id, url, types, all_users, secret, old_secret, old_until, disabled_at, failing_since, since_position, created_at, version";
const OWN = `SELECT ${COLUMNS} FROM webhooks WHERE user_id = ? AND id = ?`;

/** A webhook as it is shown: never with its secret. */
export function shownWebhook(row: Omit<WebhookRow, "secret" | "old_secret">) {
  return {
    id: row.id,
    url: row.url,
    events: row.types?.split(" ") ?? null,
    all_users: row.all_users === 1,
    enabled: row.disabled_at === null,
    created_at: toSeconds(row.created_at),
  };
}

export function findWebhook(db: Reader, userId: string, id: string): Promise<WebhookRow | undefined> {
  return db.get(OWN, userId, id);
}

/** To send to; undefined where it is gone or disabled. */
export function findEnabledWebhook(db: Reader, id: string): Promise<WebhookRow | undefined> {
  return db.get(`SELECT ${COLUMNS} FROM webhooks WHERE id = ? AND disabled_at IS NULL`, id);
}

/** One page in the order of the walk, and one more where there is one. */
export function listWebhookPage(db: Reader, userId: string, page: Page): Promise<WebhookRow[]> {
  const { sql, params } = webhooksQuery(userId, page);
  return db.all(sql, ...params);
}

export function webhooksQuery(userId: string, page: Page): Statement {
  return statement(
    `SELECT ${COLUMNS} FROM webhooks WHERE user_id = ? AND ${walkOf(page)}`,
    userId,
    page.cursor,
    page.limit + 1,
  );
}

/** Those that may want events of these users. */
export async function listListening(db: Reader, userIds: readonly string[]): Promise<WebhookRow[]> {
  const some = userIds.map(() => "?").join(", ");
  const own = `SELECT ${COLUMNS} FROM webhooks WHERE user_id IN (${some}) AND all_users = 0 AND disabled_at IS NULL`;
  const all = `SELECT ${COLUMNS} FROM webhooks WHERE all_users = 1 AND disabled_at IS NULL`;
  return [...(await db.all<WebhookRow>(own, ...userIds)), ...(await db.all<WebhookRow>(all))];
}

/** The position behind which the first webhook that is there wants events; undefined: there is none. */
export async function firstListening(db: Reader): Promise<number | undefined> {
  const row = await db.get<{ since: number | null }>(
    "SELECT MIN(since_position) AS since FROM webhooks WHERE disabled_at IS NULL",
  );
  return row?.since ?? undefined;
}

interface CreateWebhook {
  row: WebhookRow;
  /** How many the user may have, this one with them; 0: any number. */
  limit: number;
  act: Act;
  /** The secret for whoever asks for the same again, readable with the Idempotency-Key alone; null: there is no key. */
  sealed: string | null;
}

/** What a request that makes a secret has come to. */
interface MadeSecret {
  row: Omit<WebhookRow, "secret" | "old_secret">;
  sealed: string | null;
}

/** Throws `count_limit_reached` and `invalid_token`. */
export function* createWebhook(input: CreateWebhook): Write<MadeSecret> {
  const { row, limit } = input;
  const [user, [counted]] = (yield [
    statement("SELECT 1 AS one FROM users WHERE id = ?", row.user_id),
    statement("SELECT COUNT(*) AS count FROM webhooks WHERE user_id = ?", row.user_id),
  ]) as [unknown[], [{ count: number }]];
  // Erased after the token was checked.
  if (user.length === 0) throw new ParleyError("invalid_token");
  const had = counted.count;
  if (limit > 0 && had >= limit) {
    throw new ParleyError(
      "count_limit_reached",
      `You have ${had} webhooks, and may have ${limit}. Delete some that are not needed any more. The operator sets the limit as PARLEY_MAX_WEBHOOKS.`,
    );
  }
  yield [
    statement(
      `INSERT INTO webhooks (${COLUMNS}) VALUES (${COLUMNS.replace(/\w+/g, "?")})`,
      ...COLUMNS.split(", ").map((name) => row[name as keyof WebhookRow]),
    ),
    recordAct(input.act, "webhook.created", row.id, {
      origin: originOf(row),
      all_users: row.all_users === 1,
    }),
  ];
  return madeSecret(row, input.sealed);
}

/** What the audit trail knows of an address: the rest of it may be a secret. */
function originOf({ url }: Pick<WebhookRow, "url">): string {
  return new URL(url).origin;
}

/** Without the secrets: a result is kept beside the Idempotency-Key. */
function madeSecret({ secret: _, old_secret: __, ...row }: WebhookRow, sealed: string | null): MadeSecret {
  return { row, sealed };
}

/** Part of other writes. Throws `webhook_not_found` and `precondition_failed`. */
export function* requireWebhook(userId: string, id: string, expected: Expected = null): Write<WebhookRow> {
  const row = yield* get<WebhookRow>(OWN, userId, id);
  if (!row) throw new ParleyError("webhook_not_found");
  checkVersion(expected, row.version);
  return row;
}

interface UpdateWebhook {
  userId: string;
  id: string;
  /** Undefined: as it is. */
  url: string | undefined;
  types: string | null | undefined;
  enabled: boolean | undefined;
  /** The last position that there is: of what came before, while it was disabled, it gets nothing. */
  position: number;
  expected: Expected;
  act: Act;
}

/** Throws `webhook_not_found` and `precondition_failed`. One that is enabled again or sent elsewhere begins anew with what was pending. */
export function* updateWebhook(input: UpdateWebhook): Write<WebhookRow> {
  const { userId, id, enabled, act } = input;
  const was = yield* requireWebhook(userId, id, input.expected);
  const row = { ...was, url: input.url ?? was.url };
  if (input.types !== undefined) row.types = input.types;
  if (enabled !== undefined) row.disabled_at = enabled ? null : (was.disabled_at ?? act.at);
  const changed = (["url", "types", "disabled_at"] as const).filter((name) => row[name] !== was[name]);
  if (changed.length === 0) return was;
  row.version++;
  const resumed = was.disabled_at !== null && row.disabled_at === null;
  if (resumed) row.since_position = input.position;
  const begunAnew = resumed || row.url !== was.url;
  if (begunAnew) row.failing_since = null;
  yield [
    statement(
      `UPDATE webhooks SET url = ?, types = ?, disabled_at = ?, failing_since = ?, since_position = ?, version = ?
       WHERE id = ?`,
      row.url,
      row.types,
      row.disabled_at,
      row.failing_since,
      row.since_position,
      row.version,
      id,
    ),
    recordAct(act, "webhook.updated", id, { origin: originOf(row), enabled: row.disabled_at === null }),
    ...(begunAnew ? [beginAnew(id, act.at)] : []),
  ];
  return row;
}

/** The first of each conversation is due at once, with all its attempts before it. */
function beginAnew(id: string, now: number): Statement {
  return statement(
    `UPDATE deliveries SET next_at = ?, attempts = 0 WHERE webhook_id = ? AND state = 'pending' AND NOT EXISTS (
       SELECT 1 FROM deliveries first WHERE first.webhook_id = deliveries.webhook_id AND first.state = 'pending'
         AND first.conversation_id = deliveries.conversation_id
         AND (first.position, first.id) < (deliveries.position, deliveries.id))`,
    now,
    id,
  );
}

interface RotateSecret {
  userId: string;
  id: string;
  secret: string;
  /** Until then (milliseconds) the one before signs as well. */
  oldUntil: number;
  act: Act;
  sealed: string | null;
}

/** Throws `webhook_not_found`. */
export function* rotateSecret(input: RotateSecret): Write<MadeSecret> {
  const row = yield* requireWebhook(input.userId, input.id);
  yield [
    statement(
      "UPDATE webhooks SET secret = ?, old_secret = ?, old_until = ? WHERE id = ?",
      input.secret,
      row.secret,
      input.oldUntil,
      row.id,
    ),
    recordAct(input.act, "webhook.secret_rotated", row.id),
  ];
  return madeSecret(row, input.sealed);
}

/** With all that it has not got. Throws `webhook_not_found` and `precondition_failed`. */
export function* deleteWebhook(input: {
  userId: string;
  id: string;
  expected: Expected;
  act: Act;
}): Write<void> {
  const row = yield* requireWebhook(input.userId, input.id, input.expected);
  yield [
    statement("DELETE FROM deliveries WHERE webhook_id = ?", input.id),
    statement("DELETE FROM webhooks WHERE id = ?", input.id),
    recordAct(input.act, "webhook.deleted", input.id, { origin: originOf(row) }),
  ];
}

/** Part of other writes: since when nothing is taken; null: something was. */
export function noteFailing(id: string, at: number | null): Statement {
  return at === null
    ? statement("UPDATE webhooks SET failing_since = NULL WHERE id = ? AND failing_since IS NOT NULL", id)
    : statement("UPDATE webhooks SET failing_since = ? WHERE id = ? AND failing_since IS NULL", at, id);
}

/** Part of other writes: disables it and tells its owner, where it was enabled. */
export function* disableWebhook(id: string, act: Act): Write<void> {
  const row = yield* get<WebhookRow>(
    `UPDATE webhooks SET disabled_at = ?, version = version + 1 WHERE id = ? AND disabled_at IS NULL
     RETURNING ${COLUMNS}`,
    act.at,
    id,
  );
  if (!row) return;
  yield [
    tell("webhook.disabled", act.at, row.user_id, "", JSON.stringify(shownWebhook(row))),
    recordAct(act, "webhook.disabled", id, { origin: originOf(row) }),
  ];
}
