// Four users, one of them a bot, do anything in any order, and a back end does a part of it as them. The service answers like the
// model of docs/sharing.md, no matter who sends a request, and stores nothing that the model does not know.
import { test } from "node:test";
import { operationsOf, WEIGHTS } from "./sharing-operations.ts";
import { runWorlds, TEST_MS } from "./sharing-run.ts";

const NAMES = ["ann", "bob", "cyd", "bot"];
const ACTING_WEIGHTS = {
  ...WEIGHTS,
  addContact: 8,
  removeContact: 10,
  blockName: 5,
  connect: 14,
  createGroup: 4,
  inviteMember: 6,
  joinGroup: 4,
  leaveGroup: 5,
  removeMember: 4,
  readGroup: 1,
  addMembers: 14,
};

const WORLDS = {
  names: NAMES,
  operations: operationsOf(NAMES.length, ACTING_WEIGHTS),
  length: 90,
  count: 8,
  checkEvery: 8,
  hasBackEnd: true,
  // Few invitations wait here.
  metElsewhere: ["crowded", "filtered", "handedOver"],
} as const;

for (const engine of ["sqlite", "postgres"]) {
  test(`${engine}: what a back end does as users matches the model`, { timeout: TEST_MS }, (t) =>
    runWorlds(t, engine, WORLDS),
  );
}
