// Snapshots: one state of the database, the scopes of their parts, and their size.
import type { Mutant } from "./mutant.ts";

export const snapshot: readonly Mutant[] = [
  {
    name: "snapshot: SQLite reads several states",
    find: "this.#reader.begin();",
    replace: "",
    tests: ["contract/snapshots"],
  },
  {
    name: "snapshot: PostgreSQL reads several states",
    find: '"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"',
    replace: '"BEGIN READ ONLY"',
    tests: ["contract/snapshots"],
  },
  {
    name: "snapshot: a late read uses the connection of another transaction",
    find: 'if (this.#isOver) throw new ParleyError("unavailable");',
    replace: "",
    tests: ["contract/snapshots"],
  },
  {
    name: "snapshot: the cursor is newer than the lists",
    find: "return versioned(await turns.read(() => core.db.snapshot(read)), 1);",
    replace:
      'const text = await turns.read(() => core.db.snapshot(read)); await new Promise((resolve) => setTimeout(resolve, 20)); return versioned(text.replace(/"last_event_id":"\\w+"/, `"last_event_id":"${await newestEventId(core, caller)}"`), 1);',
    tests: ["http/snapshot-races"],
  },
  {
    name: "snapshot: contacts are shown without their scope",
    find: 'scopes.has("contacts:read") ? rows.flatMap((row) => row.contact_id ?? []) : []',
    replace: "rows.flatMap((row) => row.contact_id ?? [])",
    tests: ["http/snapshot"],
  },
  {
    name: "snapshot: members are shown without their scope",
    find: 'scopes.has("groups:read") ? rows.flatMap((row) => row.group_id ?? []) : []',
    replace: "rows.flatMap((row) => row.group_id ?? [])",
    tests: ["http/snapshot"],
  },
  {
    name: "snapshot: the cursor is shown without its scope",
    find: 'caller.scopes.has("events:read") ? newestEventId(core, caller) : null,',
    replace: "newestEventId(core, caller),",
    tests: ["http/snapshot"],
  },
  {
    name: "snapshot: invited names are shown to all members",
    find: "AND me.group_id = i.group_id AND me.role = 'admin'",
    replace: "AND me.group_id = i.group_id",
    tests: ["http/snapshot"],
  },
  {
    name: "snapshot: withheld messages are shown",
    find: "LEFT JOIN message_bodies b ON b.id = m.body_id WHERE ${sees(sql`m.id`)}`;",
    replace: "LEFT JOIN message_bodies b ON b.id = m.body_id`;",
    tests: ["http/snapshot"],
  },
  {
    name: "snapshot: withheld messages count as messages of it",
    find: "const seen = sql`s.seen + CASE WHEN ${sees(sql`s.id`)} THEN 1 ELSE 0 END`;",
    replace: "const seen = sql`s.seen + 1`;",
    tests: ["http/snapshot"],
  },
  {
    name: "snapshot: its size has no bound",
    find: "if (characters > MAX_CHARACTERS) break;",
    replace: "",
    tests: ["http/snapshot"],
  },
];
