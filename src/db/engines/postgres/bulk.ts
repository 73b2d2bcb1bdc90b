import type { Bulk, BulkRow } from "../../bulk.ts";
import { Statement, type Value } from "../../sql.ts";

const compiled = new WeakMap<Bulk, string>();

/** One statement for all rows: `input` has them, `found` those that are found, with their places in `n`. */
function textOf(bulk: Bulk): string {
  let text = compiled.get(bulk);
  if (text === undefined) {
    const columns = Object.entries(bulk.columns).map(
      ([name, type]) => `${name} ${type === "TEXT" ? 'TEXT COLLATE "C"' : type}`,
    );
    const found = bulk.found.map(([name, expression]) => `, ${expression} AS ${name}`).join("");
    const names = bulk.found.map(([name]) => `, ${name}`).join("");
    const tables = bulk.tables === "" ? "" : `CROSS JOIN ${bulk.tables}`;
    text = `WITH input AS (SELECT * FROM json_to_recordset(?) AS rows (n INTEGER, ${columns.join(", ")})),
      found AS MATERIALIZED (SELECT input.*${found} FROM input ${tables} WHERE ${bulk.condition})
      ${bulk.changes.map((change, i) => `, change_${i} AS (${change})`).join("")}
      SELECT n${names} FROM found`
      .replaceAll(/\bnext_id\((\w+)\)/g, "nextval('$1_id_seq')")
      .replaceAll(/\bin_order\(([\w., ]+)\)/g, "ORDER BY $1")
      .replaceAll(/\bfirst_of\(([\w., ]+)\)/g, "DISTINCT ON ($1)")
      .replaceAll(
        /\bnumbered_found\((\w+)\)/g,
        "(SELECT *, ROW_NUMBER() OVER (PARTITION BY $1 ORDER BY id) AS ordinal FROM found) found",
      );
    compiled.set(bulk, text);
  }
  return text;
}

function toJson(value: Value): string | number | null {
  return value instanceof Uint8Array ? `\\x${Buffer.from(value).toString("hex")}` : value;
}

/** The statement for these rows of one bulk. Each of its rows has the place of the row for which it was found as `n`. */
export function bulkStatement(rows: readonly BulkRow[]): Statement<{ n: number }> {
  const { bulk } = rows[0]!;
  const columns = Object.keys(bulk.columns);
  const input = rows.map((row, n) => {
    const values: Record<string, string | number | null> = { n };
    for (const column of columns) values[column] = toJson(row.input[column]!);
    return values;
  });
  return new Statement(textOf(bulk), [JSON.stringify(input)]);
}
