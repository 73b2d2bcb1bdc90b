import type { Client } from "pg";
import type { Statement, Value } from "../../src/db/sql.ts";

/** Replaces each `?` by `$1` and so on, the parameters of PostgreSQL. */
export function numbered(sql: string): string {
  let number = 0;
  return sql.replaceAll("?", () => `$${++number}`);
}

function literal(value: Value): string {
  if (value === null) return "NULL";
  if (typeof value === "number") return `${value}`;
  return value instanceof Uint8Array ? "''" : `'${value}'`;
}

/**
 * Yields the plans of each statement: the first plan, for its parameters, and the generic one that PostgreSQL may use
 * after five executions.
 */
export async function* plansOf<S extends Statement>(
  client: Client,
  statements: readonly S[],
): AsyncGenerator<{ statement: S; plan: string; told: string }> {
  for (const mode of ["force_custom_plan", "force_generic_plan"]) {
    await client.query(`SET plan_cache_mode = ${mode}`);
    for (const [i, statement] of statements.entries()) {
      const { sql, params } = statement;
      await client.query(`PREPARE ${mode}_${i} AS ${numbered(sql)}`);
      const values = params.length > 0 ? `(${params.map(literal)})` : "";
      const { rows } = await client.query({
        text: `EXPLAIN EXECUTE ${mode}_${i} ${values}`,
        rowMode: "array",
      });
      const plan = rows.flat().join("\n");
      yield { statement, plan, told: `${mode}: ${sql} ${values}\n${plan}` };
    }
  }
}
