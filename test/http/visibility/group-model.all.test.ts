// Five users do anything with groups, contacts and blocks in any order. The service answers like the model of
// docs/sharing.md, and stores nothing that the model does not know.
import { test } from "node:test";
import { operationsOf, WEIGHTS } from "./sharing-operations.ts";
import { runWorlds, TEST_MS } from "./sharing-run.ts";

const NAMES = "ann bob cyd dan eve".split(" ");
const GROUP_WEIGHTS = {
  ...WEIGHTS,
  addContact: 20,
  removeContact: 3,
  block: 3,
  unblock: 2,
  blockName: 12,
  unblockName: 3,
  send: 26,
  markRead: 3,
  eraseUser: 1,
  createGroup: 5,
  inviteMember: 24,
  joinGroup: 24,
  leaveGroup: 8,
  updateGroup: 4,
  setRole: 12,
  removeMember: 8,
  readGroup: 2,
  listGroups: 1,
  listMembers: 1,
};

const WORLDS = {
  names: NAMES,
  operations: operationsOf(NAMES.length, GROUP_WEIGHTS),
  length: 120,
  count: 8,
  checkEvery: 16,
};

for (const engine of ["sqlite", "postgres"]) {
  test(`${engine}: groups of five users match the model`, { timeout: TEST_MS }, (t) =>
    runWorlds(t, engine, WORLDS),
  );
}
