import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "pg";
import { OperatorError } from "../errors.ts";
import { isLost } from "./postgres-errors.ts";

/** How often a lost session is opened again, and one that stands is asked whether it does. */
const POLL_MS = 400;
/** For how long events are gathered before others are told of them. */
const TELL_AFTER_MS = 5;
/** For how long what the session last said holds. Tokens that are revoked elsewhere may be taken for so long. */
const TRUST_MS = 1000;
/** For how long a database is waited for that another process leaves, which takes a moment also where that was killed. */
const ENTER_TRIES = 30;
const ENTER_POLL_MS = 100;
/** After this silence PostgreSQL ends the session of a node that froze or was cut off, and so its locks. */
const SILENCE_MS = 10_000;

/**
 * One connection of a node's own beside the pool. It hears of revoked tokens, and holds the locks by which each kind of
 * background work is done by one node: they fall with the connection, so that another node takes over at once.
 */
export class PostgresSession {
  readonly #connect: () => Promise<Client>;
  readonly #alone: boolean;
  readonly #held = new Set<string>();
  readonly #timer: NodeJS.Timeout;
  #client: Client | undefined;
  #opening: Promise<Client> | undefined;
  /** The question that is on its way, and the one that goes out after it. */
  #asking: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;
  #revocations = 0;
  #confirmedAt = Number.NEGATIVE_INFINITY;
  #closed = false;
  #wasOpen = false;
  #telling: NodeJS.Timeout | undefined;
  onEvents: () => void = () => {};

  /** `alone`: nobody else may use the database meanwhile; a move wants that. */
  constructor(connect: () => Promise<Client>, alone: boolean) {
    this.#connect = connect;
    this.#alone = alone;
    this.#timer = setInterval(() => void this.poll().catch(() => {}), POLL_MS);
  }

  /** Null where it is not known: then nothing that depends on it may be kept. */
  revocations(): number | null {
    return performance.now() - this.#confirmedAt < TRUST_MS ? this.#revocations : null;
  }

  /** Takes the place of one who uses the database. Throws `OperatorError` where that cannot be beside others. */
  async enter(): Promise<void> {
    await this.#session();
  }

  /** Asks the database how often tokens went. Rejects where it does not answer. */
  poll(): Promise<void> {
    // Not the answer that is on its way: it may be older than what the caller has just done.
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
    const asked = performance.now();
    try {
      const { rows } = await client.query("SELECT count FROM revocations");
      if (client !== this.#client) return;
      this.#revocations = rows[0].count;
      this.#confirmedAt = asked;
    } catch (error) {
      // What the database refuses it has heard: the session stands, as while a migration makes the table.
      if (isLost(error)) this.#lose(client);
      throw error;
    }
  }

  /**
   * Lets all nodes know that there are events, this one too. Not in the transactions that leave them: those would then be
   * committed one after another. Where nobody hears it they look by themselves before long.
   */
  tell(): void {
    this.#telling ??= setTimeout(() => {
      this.#telling = undefined;
      this.#session()
        .then((client) => client.query("NOTIFY parley_events"))
        .catch(() => {});
    }, TELL_AFTER_MS);
  }

  /** Whether this node may do this kind of work. */
  async claim(work: string): Promise<boolean> {
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
    clearTimeout(this.#telling);
    await Promise.allSettled([this.#next, this.#asking, this.#opening]);
    await this.#client?.end().catch(() => {});
  }

  /** One at a time: a second connection that nobody knew of would keep its locks from every node. */
  async #session(): Promise<Client> {
    if (this.#client) return this.#client;
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #open(): Promise<Client> {
    if (this.#closed) throw new Error("The database is closed.");
    // Somebody else may have used the database meanwhile.
    if (this.#alone && this.#wasOpen)
      throw new OperatorError(
        "The database was lost for a moment, and others may have used it. Run the move again.",
      );
    const client = await this.#connect();
    try {
      await this.#enter(client);
      await client.query(
        `SET idle_session_timeout = ${SILENCE_MS}; LISTEN parley_revocations; LISTEN parley_events`,
      );
    } catch (error) {
      void client.end().catch(() => {});
      throw error;
    }
    this.#client = client;
    this.#wasOpen = true;
    client.on("error", () => this.#lose(client));
    client.on("end", () => this.#lose(client));
    client.on("notification", ({ channel }) => {
      if (channel === "parley_revocations") void this.poll().catch(() => {});
      this.onEvents();
    });
    return client;
  }

  /** All who use a database share a lock, which a move has to itself. */
  async #enter(client: Client): Promise<void> {
    const lock = this.#alone ? "pg_try_advisory_lock" : "pg_try_advisory_lock_shared";
    for (let tries = 0; tries < ENTER_TRIES; tries++) {
      const { rows } = await client.query(`SELECT ${lock}(hashtext('parley')) AS entered`);
      if (rows[0].entered) return;
      await sleep(ENTER_POLL_MS);
    }
    throw new OperatorError(
      this.#alone
        ? "Servers or commands work on this database. Stop them all first."
        : "A move of this database is under way. Wait for its end.",
    );
  }

  #lose(client: Client): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    this.#held.clear();
    this.#confirmedAt = Number.NEGATIVE_INFINITY;
    void client.end().catch(() => {});
  }
}
