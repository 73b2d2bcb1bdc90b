import type { Client } from "pg";
import { OperatorError } from "../errors.ts";

/** How often a lost session is opened again, and one that stands is asked whether it does. */
const POLL_MS = 400;
/** For how long what the session last said holds. Tokens that are revoked elsewhere may be taken for so long. */
const TRUST_MS = 1000;

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
  #busy: Promise<void> | undefined;
  #revocations = 0;
  #confirmedAt = Number.NEGATIVE_INFINITY;
  #closed = false;

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

  /** Asks the database how often tokens went. Rejects where it does not answer. */
  async poll(): Promise<void> {
    // Not the answer that is on its way: it may be older than what the caller has just done.
    while (this.#busy) await this.#busy.catch(() => {});
    this.#busy = this.#ask().finally(() => {
      this.#busy = undefined;
    });
    await this.#busy;
  }

  async #ask(): Promise<void> {
    const client = await this.#session();
    const asked = performance.now();
    try {
      const { rows } = await client.query("SELECT count FROM revocations");
      this.#revocations = rows[0].count;
      this.#confirmedAt = asked;
    } catch (error) {
      this.#lose(client);
      throw error;
    }
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
    await this.#busy?.catch(() => {});
    await this.#client?.end().catch(() => {});
  }

  async #session(): Promise<Client> {
    if (this.#client) return this.#client;
    if (this.#closed) throw new Error("The database is closed.");
    const client = await this.#connect();
    await this.#enter(client);
    this.#client = client;
    client.on("error", () => this.#lose(client));
    client.on("end", () => this.#lose(client));
    client.on("notification", () => void this.poll().catch(() => {}));
    await client.query("LISTEN parley_revocations");
    return client;
  }

  /** All who use a database share a lock, which a move has to itself. */
  async #enter(client: Client): Promise<void> {
    const lock = this.#alone ? "pg_try_advisory_lock" : "pg_try_advisory_lock_shared";
    const { rows } = await client.query(`SELECT ${lock}(hashtext('parley')) AS entered`);
    if (rows[0].entered) return;
    void client.end().catch(() => {});
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
