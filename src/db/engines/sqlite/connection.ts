import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { QuickReader, Statement } from "../../sql.ts";

/** Reads on one connection, by prepared statements. */
export class ConnectionReader implements QuickReader {
  protected readonly db: DatabaseSync;
  readonly #rows = new Map<string, StatementSync>();
  readonly #arrays = new Map<string, StatementSync>();

  constructor(db: DatabaseSync) {
    this.db = db;
  }

  async all<R>({ sql, params }: Statement<R>): Promise<R[]> {
    this.beforeRead();
    return this.prepare(sql).all(...params) as R[];
  }

  async get<R>({ sql, params }: Statement<R>): Promise<R | undefined> {
    this.beforeRead();
    return this.prepare(sql).get(...params) as R | undefined;
  }

  async allValues<R extends unknown[]>({ sql, params }: Statement<R>): Promise<R[]> {
    this.beforeRead();
    return this.prepare(sql, this.#arrays).all(...params) as unknown as R[];
  }

  async getValues<R extends unknown[]>({ sql, params }: Statement<R>): Promise<R | undefined> {
    this.beforeRead();
    return this.prepare(sql, this.#arrays).get(...params) as unknown as R | undefined;
  }

  /** Begins a transaction in which all reads see one state: that at the first of them. */
  begin(): void {
    this.prepare("BEGIN").run();
  }

  /** Ends the transaction, unless an error has ended it. A failure loses nothing, because it only read. */
  end(): void {
    for (const end of ["COMMIT", "ROLLBACK"]) {
      try {
        if (this.db.isTransaction) this.prepare(end).run();
      } catch {}
    }
  }

  protected beforeRead(): void {}

  protected prepare(sql: string, statements = this.#rows): StatementSync {
    let statement = statements.get(sql);
    if (!statement) {
      statement = this.db.prepare(sql);
      statement.setReturnArrays(statements === this.#arrays);
      statements.set(sql, statement);
    }
    return statement;
  }
}
