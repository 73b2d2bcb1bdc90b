// How PostgreSQL is kept from plans that a server with many rows cannot afford.
import type { Mutant } from "./mutant.ts";

const POSTGRES = "src/db/engines/postgres/postgres.ts";

export const plans: readonly Mutant[] = [
  {
    name: "let PostgreSQL sort what it finds by a bitmap",
    file: POSTGRES,
    find: " SET enable_bitmapscan = off;",
    replace: "",
    tests: ["contract/plans-postgres.all"],
  },
  {
    name: "let PostgreSQL merge",
    file: POSTGRES,
    find: "\n  SET enable_mergejoin = off`",
    replace: "`",
    tests: ["contract/plans-postgres.all"],
  },
  {
    name: "let PostgreSQL scan webhooks after each event",
    file: "src/db/queries/webhooks/webhooks.ts",
    find: "WHERE disabled_at IS NULL AND backlog_from IS NULL)\n    OR",
    replace: "WHERE disabled_at IS NULL)\n    OR",
    tests: ["contract/plans-warm.all"],
  },
  {
    name: "let PostgreSQL look for a lost commit by a scan",
    file: "src/db/engines/postgres/outcome.ts",
    find: " WHERE one) AS incarnation`,\n",
    replace: ") AS incarnation`,\n",
    tests: ["contract/plans-warm.all"],
  },
];
