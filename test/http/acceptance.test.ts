// The acceptance suite on each database. Each run is one process that starts one server, because a process for each
// file takes four times as long.
import { test } from "node:test";
import { onPostgres, runAcceptance, runAcceptanceOn } from "../support/acceptance.ts";

const timeout = 600_000;

test("the acceptance suite passes on SQLite and a disk", { timeout }, (t) => runAcceptance(t, {}));

test("the acceptance suite passes on PostgreSQL and a disk", { timeout }, async (t) =>
  runAcceptanceOn(t, await onPostgres(t)),
);
