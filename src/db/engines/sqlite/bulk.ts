import type { Bulk, BulkRow } from "../../bulk.ts";
import { Statement } from "../../sql.ts";

/** SQL that selects from one row, with a parameter for each column that it names. */
interface Text {
  sql: string;
  columns: readonly string[];
}

interface Texts {
  find: Text;
  changes: readonly Text[];
}

const compiled = new WeakMap<Bulk, Texts>();

function toText(relation: string, sql: string): Text {
  const columns = [
    ...new Set(Array.from(sql.matchAll(/\b(?:input|other|found)\.(\w+)/g), ([, name]) => name!)),
  ];
  const values = columns.map(() => "?").join(", ");
  return { sql: `WITH ${relation} (${columns.join(", ")}) AS (SELECT ${values}) ${sql}`, columns };
}

function textsOf(bulk: Bulk): Texts {
  let texts = compiled.get(bulk);
  if (!texts) {
    const found = bulk.found.map(([name, expression]) => `${expression} AS ${name}`).join(", ") || "1";
    const find = `SELECT ${found} FROM input ${bulk.source}`.replaceAll(
      /\bnext_id\((\w+)\)/g,
      "(SELECT COALESCE(MAX(id), 0) + 1 FROM $1)",
    );
    texts = {
      find: toText("input", find),
      changes: bulk.changes.map((change) => toText("found", change)),
    };
    compiled.set(bulk, texts);
  }
  return texts;
}

type Values = BulkRow["input"];

function statement({ sql, columns }: Text, values: Values): Statement {
  return new Statement(
    sql,
    columns.map((column) => values[column]!),
  );
}

/** Finds the row; if it is found, changes what the bulk changes. `run` returns the rows of a statement. */
export function runRow({ bulk, input }: BulkRow, run: (statement: Statement) => unknown[]): unknown[] {
  const { find, changes } = textsOf(bulk);
  const rows = run(statement(find, input));
  if (rows.length === 0) return rows;
  const values = { ...input, ...(rows[0] as Values) };
  for (const change of changes) run(statement(change, values));
  return rows;
}
