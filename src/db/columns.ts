import { join, type QuickReader, raw, Statement, sql } from "./sql.ts";

type Expressions<R> = { [K in keyof R]: Statement<R[K]> };

/** The columns of a SELECT; `R` is the type of its rows. Their expressions have no parameters. */
export class Columns<R> extends Statement<R> {
  readonly #names: readonly (keyof R & string)[];

  constructor(expressions: Expressions<R>) {
    const names = Object.keys(expressions) as (keyof R & string)[];
    const { sql: text, params } = join(
      names.map((name) => sql`${expressions[name]} AS ${raw(name)}`),
      ", ",
    );
    super(text, params);
    this.#names = names;
  }

  /** Returns the row for an array whose first values are those of the columns. */
  toRow(values: readonly unknown[]): R {
    const row: Partial<R> = {};
    for (let i = 0; i < this.#names.length; i++) row[this.#names[i]!] = values[i] as R[keyof R & string];
    return row as R;
  }

  /** Reads the rows of a statement that selects these columns. Arrays of values are cheaper than objects of an engine. */
  async all(db: QuickReader, statement: Statement): Promise<R[]> {
    return (await db.allValues(statement as Statement<unknown[]>)).map((values) => this.toRow(values));
  }

  async get(db: QuickReader, statement: Statement): Promise<R | undefined> {
    const values = await db.getValues(statement as Statement<unknown[]>);
    return values && this.toRow(values);
  }
}

/**
 * Declares the columns of a SELECT and the type of its rows:
 *
 *     const USER = columns({ id: sql<string>`u.id`, name: sql<string | null>`u.display_name` });
 *     type UserRow = RowOf<typeof USER>;
 *     const user = await USER.get(db, sql`SELECT ${USER} FROM users u WHERE u.id = ${id}`);
 */
export function columns<R>(expressions: Expressions<R>): Columns<R> {
  return new Columns(expressions);
}

export type RowOf<C> = C extends Columns<infer R> ? R : never;
