// Whatever five users do with groups, contacts and blocks in whatever order, the service answers as the model of docs/sharing.md
// does, and keeps nothing that the model does not know.
import { test } from "node:test";
import { operationsOf, WEIGHTS } from "./sharing-operations.ts";
import { runWorlds, TEST_MS } from "./sharing-run.ts";

const NAMES = ["ann", "bob", "cyd", "dan", "eve"];
const GROUP_WEIGHTS = {
  ...WEIGHTS,
  addContact: 8,
  block: 10,
  blockName: 6,
  send: 26,
  createGroup: 10,
  inviteMember: 20,
  joinGroup: 16,
  leaveGroup: 6,
  updateGroup: 4,
  setRole: 8,
  removeMember: 6,
  readGroup: 2,
  listGroups: 1,
  listMembers: 1,
};

const WORLDS = {
  names: NAMES,
  operations: operationsOf(NAMES.length, GROUP_WEIGHTS),
  count: 12,
  checkEvery: 16,
};

for (const engine of ["sqlite", "postgres"]) {
  test(`${engine}: what five users share in groups is what the rules say`, { timeout: TEST_MS }, (t) =>
    runWorlds(t, engine, WORLDS),
  );
}
