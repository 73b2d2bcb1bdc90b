import type { Database } from "../../src/db/database.ts";
import { TABLES } from "../../src/db/queries/upkeep/tables.ts";
import { raw, type Statement } from "../../src/db/sql.ts";

/** Returns all rows, with message bodies in place of their numbers, which differ after a failed attempt. */
export async function dump(db: Database): Promise<Record<string, unknown[]>> {
  while ((await db.write("numberEvents", { limit: 1000 })) > 0);
  const rows: Record<string, unknown[]> = {};
  for (const name of new Set([...TABLES.map((each) => each.name), "audit", "unindexed", "idempotency"])) {
    if (name === "message_bodies") continue;
    rows[name] = (await db.all<object>(raw(`SELECT * FROM ${name}`) as Statement<object>))
      .map((row) =>
        Object.entries(row)
          // The events of one change are in no fixed order.
          .filter(([column]) => column !== "body_id" && !(name === "events" && column === "position"))
          .map(([column, value]) => {
            const shown = value instanceof Uint8Array ? Buffer.from(value).toString("hex") : value;
            return `${column}=${shown}`;
          })
          .sort()
          .join(),
      )
      .sort();
  }
  const texts = "SELECT b.*, m.id AS id FROM messages m LEFT JOIN message_bodies b ON b.id = m.body_id";
  rows.bodies = (await db.all<object>(raw(`${texts} ORDER BY m.id`) as Statement<object>)).map((row) => ({
    ...row,
  }));
  return rows;
}
