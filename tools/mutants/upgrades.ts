// Old nodes beside a newer schema.
import type { Mutant } from "./mutant.ts";

const MIGRATE = "src/db/engines/postgres/migrate.ts";
const SESSION = "src/db/engines/postgres/session.ts";
const TRANSACTIONS = "src/db/engines/postgres/transactions.ts";

export const upgrades: readonly Mutant[] = [
  {
    name: "keep the table of a release that must stop",
    file: MIGRATE,
    find: "    if (isEnded(table)) await client.query(`DROP TABLE ${table}`);\n",
    replace: "",
    tests: ["contract/upkeep/newer-schema.all"],
  },
  {
    name: "migrate without waiting for writes under way",
    file: MIGRATE,
    find: "  if (before.length > 0) await client.query(`LOCK TABLE",
    replace: "  if (before.length < 0) await client.query(`LOCK TABLE",
    tests: ["contract/upkeep/newer-schema.all"],
  },
  {
    name: "migrate beside nodes that would not notice",
    file: MIGRATE,
    find: '  if (before.includes("incarnation") && isEnded("incarnation")) await awaitUnguarded(client, newest);\n',
    replace: "",
    tests: ["contract/upkeep/newer-schema.all"],
  },
  {
    name: "take a migration that states nothing for one that old nodes may run beside",
    file: MIGRATE,
    find: "?? i + 1))",
    replace: "?? 0))",
    tests: ["contract/upkeep/newer-schema.all"],
  },
  {
    name: "start on a newer schema, whatever it states",
    file: "src/db/migrations.ts",
    find: "  if (oldest <= newest) return;\n",
    replace: "  if (oldest <= newest || current > newest) return;\n",
    tests: ["contract/upkeep/newer-schema.all", "http/upkeep/nodes.all"],
  },
  {
    name: "read the table of the release last in a write",
    file: TRANSACTIONS,
    find: `        const begin = identity ? [] : [client.query(BEGIN), client.query(IDENTIFY)];
        const work = step.value.map((each) => this.#send(client, each));
        const results = await allOf([...begin, ...work]);
        identity ??= results[1]!`,
    replace: `        const begin = identity ? [] : [client.query(BEGIN)];
        const work = step.value.map((each) => this.#send(client, each));
        const results = await allOf([...begin, ...work, ...(identity ? [] : [client.query(IDENTIFY)])]);
        identity ??= results.at(-1)!`,
    tests: ["contract/upkeep/newer-schema.all"],
  },
  {
    name: "serve on a schema of a newer release",
    file: SESSION,
    find: "if (rows[0].oldest > VERSION) return",
    replace: "if (rows[0].oldest > VERSION * 99) return",
    tests: ["contract/upkeep/newer-schema.all", "http/upkeep/newer-schema.all"],
  },
  {
    name: "keep background work on a schema of a newer release",
    file: SESSION,
    find: "    this.#isOutdated = true;\n    this.#lose(client);\n",
    replace: "    this.#isOutdated = true;\n",
    tests: ["contract/upkeep/newer-schema.all"],
  },
  {
    name: "keep streams open that get no more events",
    file: "src/app.ts",
    find: '  wakeups.on("outdated", () => core.eventHub.endAll());\n',
    replace: "",
    tests: ["http/upkeep/newer-schema.all"],
  },
  {
    name: "show the owner of a repaired contact what others have sent before",
    file: "src/db/queries/upkeep/contact-repair.ts",
    find: "COALESCE((SELECT last_id FROM conversations WHERE id = ${conversationId}), '')",
    replace: "COALESCE((SELECT NULL FROM conversations WHERE id = ${conversationId}), '')",
    tests: ["http/upkeep/check-contacts"],
  },
];
