import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "pg";
import { OperatorError } from "../../../errors.ts";
import type { Callbacks } from "../../database.ts";
import { isLost } from "./errors.ts";
import { VERSION } from "./migrate.ts";

/** How often to reopen a lost session, and to check an open one. */
const POLL_MS = 400;
/** How long to batch events before notifying other nodes. */
const NOTIFY_AFTER_MS = 5;
/** The limit for a notification: it must have fewer bytes. */
const PAYLOAD_BYTES = 8000;
/** The maximum number of broadcasts that are being sent. More are dropped. */
const MAX_BROADCASTS = 20;
/** How long the session's last answer is valid. Tokens revoked by another node may be accepted for this long. */
const TRUST_MS = 1000;
/** How often to try until another process has left the database, which takes a moment even after it was killed. */
const ENTER_TRIES = 30;
const ENTER_POLL_MS = 100;
/** After this silence PostgreSQL ends the session of a node that froze or was cut off, and releases its locks. */
const SILENCE_MS = 10_000;

/**
 * A node's connection besides the pool. It is notified of revoked tokens, and holds the locks that assign each kind of
 * background work to one node. The locks end with the connection, so that another node takes over at once.
 */
export class PostgresSession {
  readonly #connect: () => Promise<Client>;
  readonly #alone: boolean;
  readonly #callbacks: Callbacks;
  readonly #held = new Set<string>();
  readonly #timer: NodeJS.Timeout;
  #client: Client | undefined;
  #opening: Promise<Client> | undefined;
  /** The running query, and the one after it. */
  #asking: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;
  #revocations = 0;
  #confirmedAt = Number.NEGATIVE_INFINITY;
  /** The server's time when `performance.now()` was 0. */
  #serverStart: number | null = null;
  #lostCount = 0;
  #isOutdated = false;
  #closed = false;
  #wasOpen = false;
  #notifying: NodeJS.Timeout | undefined;
  #broadcasts = 0;

  /** `alone` means that nobody else may use the database meanwhile, as a move requires. */
  constructor(connect: () => Promise<Client>, alone: boolean, callbacks: Callbacks) {
    this.#connect = connect;
    this.#alone = alone;
    this.#callbacks = callbacks;
    this.#timer = setInterval(() => void this.poll().catch(() => {}), POLL_MS);
  }

  /** Returns the number of revocations; null if it is unknown. Then nothing that depends on it may be cached. */
  revocations(): number | null {
    return performance.now() - this.#confirmedAt < TRUST_MS ? this.#revocations : null;
  }

  /** Returns the server's time in Unix milliseconds; null if it is unknown. */
  serverTime(): number | null {
    return this.#serverStart === null ? null : this.#serverStart + performance.now();
  }

  /** Returns how often the connection was lost since the start. */
  lostCount(): number {
    return this.#lostCount;
  }

  /** Reports whether the database was migrated to a schema that this release does not support. */
  isOutdated(): boolean {
    return this.#isOutdated;
  }

  /** Registers as a user of the database. Throws `OperatorError` if another process excludes that. */
  async enter(): Promise<void> {
    await this.#session();
  }

  /** Reads the number of revocations, and checks that the schema still supports this release. Rejects without an answer. */
  poll(): Promise<void> {
    // Do not share the running query: its answer may be older than the caller's write.
    this.#next ??= this.#asking
      .catch(() => {})
      .then(() => {
        this.#next = undefined;
        this.#asking = this.#ask();
        return this.#asking;
      });
    return this.#next;
  }

  async #ask(): Promise<void> {
    const client = await this.#session();
    const startedAt = performance.now();
    try {
      const { rows } = await client.query(ASK);
      if (client !== this.#client) return;
      if (rows[0].oldest > VERSION) return this.#endService(client, rows[0].version);
      this.#isOutdated = false;
      this.#revocations = rows[0].count;
      this.#confirmedAt = startedAt;
      // The server read its clock about halfway, which is exact enough only if the answer was quick.
      const now = performance.now();
      if (now - startedAt < TRUST_MS) this.#serverStart = rows[0].time - (startedAt + now) / 2;
    } catch (error) {
      // A refusal is an answer: the session stays open, for example while a migration creates the table.
      if (isLost(error)) this.#lose(client);
      throw error;
    }
  }

  /** Leaves background work to nodes of newer releases, by ending the connection that holds its locks. */
  #endService(client: Client, version: number): void {
    this.#confirmedAt = Number.NEGATIVE_INFINITY;
    if (this.#isOutdated) return;
    this.#isOutdated = true;
    this.#lose(client);
    this.#callbacks.onOutdated(version);
  }

  /**
   * Notifies all nodes, including this one, of new events. The transactions that publish them do not do this, because they would
   * then commit one by one. If a notification is lost, nodes find the events when they poll.
   */
  notify(): void {
    this.#notifying ??= setTimeout(() => {
      this.#notifying = undefined;
      this.#session()
        .then((client) => client.query("NOTIFY parley_events"))
        .catch(() => {});
    }, NOTIFY_AFTER_MS);
  }

  /** Sends texts to all nodes, including this one. Drops them if too many are being sent: later they would be out of date. */
  broadcast(texts: readonly string[]): void {
    if (this.#broadcasts >= MAX_BROADCASTS) return;
    this.#broadcasts++;
    this.#send(toPayloads(texts))
      .catch(() => {})
      .finally(() => this.#broadcasts--);
  }

  async #send(payloads: readonly string[]): Promise<void> {
    const client = await this.#session();
    for (const payload of payloads)
      await client.query("SELECT pg_notify('parley_broadcasts', $1)", [payload]);
  }

  /** Reports whether this node may do this kind of work. */
  async claim(work: string): Promise<boolean> {
    if (this.#isOutdated) return false;
    if (this.#held.has(work)) return true;
    const client = await this.#session();
    const { rows } = await client.query("SELECT pg_try_advisory_lock(hashtext($1)) AS held", [
      `parley ${work}`,
    ]);
    if (rows[0].held && client === this.#client) this.#held.add(work);
    return this.#held.has(work);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#timer);
    clearTimeout(this.#notifying);
    await Promise.allSettled([this.#next, this.#asking, this.#opening]);
    await this.#client?.end().catch(() => {});
  }

  /** Opens at most one connection at a time: a second, forgotten one would keep its locks from every node. */
  async #session(): Promise<Client> {
    if (this.#client) return this.#client;
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #open(): Promise<Client> {
    if (this.#closed) throw new Error("The database is closed.");
    // Another process may have used the database meanwhile.
    if (this.#alone && this.#wasOpen)
      throw new OperatorError(
        "The database was lost for a moment, and others may have used it. Run the move again.",
      );
    const client = await this.#connect();
    try {
      await this.#enter(client);
      await client.query(
        `SET idle_session_timeout = ${SILENCE_MS}; LISTEN parley_revocations; LISTEN parley_events; LISTEN parley_broadcasts`,
      );
    } catch (error) {
      void client.end().catch(() => {});
      throw error;
    }
    this.#client = client;
    this.#wasOpen = true;
    client.on("error", () => this.#lose(client));
    client.on("end", () => this.#lose(client));
    client.on("notification", ({ channel, payload }) => {
      if (channel === "parley_broadcasts") return this.#callbacks.onBroadcast(payload!.split("\n"));
      if (channel === "parley_revocations") void this.poll().catch(() => {});
      this.#callbacks.onEvents();
    });
    return client;
  }

  /** Takes the shared lock of all users of a database, which a move holds exclusively, and one that states the schema version. */
  async #enter(client: Client): Promise<void> {
    const lock = this.#alone ? "pg_try_advisory_lock" : "pg_try_advisory_lock_shared";
    for (let tries = 0; tries < ENTER_TRIES; tries++) {
      const { rows } = await client.query(
        `SELECT pg_advisory_lock_shared(hashtext('parley'), ${VERSION}), ${lock}(hashtext('parley')) AS entered`,
      );
      if (rows[0].entered) return;
      await sleep(ENTER_POLL_MS);
    }
    throw new OperatorError(
      this.#alone
        ? "Servers or commands work on this database. Stop them all first."
        : "A move of this database is running. Wait for its end.",
    );
  }

  #lose(client: Client): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    if (!this.#closed) this.#lostCount++;
    this.#held.clear();
    this.#confirmedAt = Number.NEGATIVE_INFINITY;
    this.#serverStart = null;
    void client.end().catch(() => {});
  }
}

const ASK = `SELECT r.count, s.version, s.oldest, (EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::bigint AS time
  FROM revocations r CROSS JOIN schema_version s`;

/** Joins texts as lines, as many as fit in each notification. */
function toPayloads(texts: readonly string[]): string[] {
  const payloads: string[] = [];
  for (const text of texts) {
    const joined = `${payloads.at(-1)}\n${text}`;
    if (payloads.length > 0 && joined.length < PAYLOAD_BYTES) payloads[payloads.length - 1] = joined;
    else payloads.push(text);
  }
  return payloads;
}
