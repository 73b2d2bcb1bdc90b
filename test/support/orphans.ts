import assert from "node:assert/strict";
import type { Database } from "../../src/db/database.ts";
import { findOrphans } from "../../src/db/queries/upkeep/orphans.ts";

/** Fails if a row refers to one that is not there: the rules between tables that `parley check` knows. */
export async function checkOrphans(db: Database): Promise<void> {
  for await (const orphan of findOrphans(db)) assert.fail(JSON.stringify(orphan));
}
