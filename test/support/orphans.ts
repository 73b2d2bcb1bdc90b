import assert from "node:assert/strict";
import type { Database } from "../../src/db/database.ts";
import { findOrphans } from "../../src/db/queries/upkeep/orphans.ts";

/** Fails if a row refers to a missing one, by the rules of `parley check`. */
export async function checkOrphans(db: Database): Promise<void> {
  for await (const orphan of findOrphans(db)) assert.fail(JSON.stringify(orphan));
}
