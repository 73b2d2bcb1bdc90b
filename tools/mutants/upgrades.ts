// Old nodes on a newer schema.
import type { Mutant } from "./mutant.ts";

export const upgrades: readonly Mutant[] = [
  {
    name: "a migration keeps the table of a release that must stop",
    find: "if (release < oldest) await client.query(`DROP TABLE ${table}`);",
    replace: "void [table, release];",
    tests: ["contract/newer-schema"],
  },
  {
    name: "a migration does not wait for running writes",
    find: 'if (tables !== "") await client.query(`LOCK TABLE',
    replace: 'if (tables === "-") await client.query(`LOCK TABLE',
    tests: ["contract/newer-schema"],
  },
  {
    name: "a migration runs beside nodes that do not detect it",
    find: "if (before.some(({ release }) => release === UNGUARDED)) await awaitUnguarded(client, newest);",
    replace: "",
    tests: ["contract/newer-schema"],
  },
  {
    name: "a write reads the table of its release last",
    find: "const begin = identity ? [] : [client.query(BEGIN), client.query(IDENTIFY)]; const work = step.value.map((each) => client.query(this.#toQuery(each))); const results = await allOf([...begin, ...work]); identity ??= results[1]!",
    replace:
      "const begin = identity ? [] : [client.query(BEGIN)]; const work = step.value.map((each) => client.query(this.#toQuery(each))); const results = await allOf([...begin, ...work, ...(identity ? [] : [client.query(IDENTIFY)])]); identity ??= results.at(-1)!",
    tests: ["contract/newer-schema"],
  },
  {
    name: "a node serves a schema of a newer release",
    find: "if (rows[0].oldest > VERSION) return",
    replace: "if (rows[0].oldest > VERSION * 99) return",
    tests: ["contract/newer-schema", "http/newer-schema"],
  },
];
