// Groups after a move to the other engine and back, and after a restore.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import type { TestUser } from "../../support/app.ts";
import { type CommandLine, commandLine, tokenOf } from "../../support/command.ts";
import { testDatabase } from "../../support/engines/postgres.ts";
import { assertGroupsGoOn, fillGroups, type Grouped, groupsOf } from "../../support/groups.ts";

const SECRET = "the secret of the new engines and it is long enough";

async function fill(command: CommandLine): Promise<{ grouped: Grouped; seen: unknown }> {
  const server = await command.serve();
  const token = tokenOf(server);
  const admin: TestUser = { id: "", token, headers: { authorization: `Bearer ${token}` } };
  const grouped = await fillGroups(command, admin);
  const seen = await groupsOf(command, grouped);
  assert.equal(await server.stop(), 0);
  return { grouped, seen };
}

async function succeed(command: CommandLine, ...args: string[]): Promise<void> {
  const { code, stdout, stderr } = await command.run(...args);
  assert.equal(code, 0, stdout + stderr);
}

test("groups move to PostgreSQL and back, and still work", async (t) => {
  const command = await commandLine(t, { PARLEY_SECRET: SECRET });
  const { grouped, seen } = await fill(command);
  const database = await testDatabase(t);
  await succeed(command, "move", "--to-database", database);
  command.env.PARLEY_DATABASE_URL = database;
  const there = await command.serve();
  assert.deepEqual(await groupsOf(command, grouped), seen);
  await assertGroupsGoOn(command, grouped);
  const changed = await groupsOf(command, grouped);
  assert.equal(await there.stop(), 0);
  const folder = join(command.env.HOME!, "back");
  await succeed(command, "move", "--to-database", folder, "--to-store", folder);
  delete command.env.PARLEY_DATABASE_URL;
  command.env.PARLEY_DATA = folder;
  await command.serve();
  assert.deepEqual(await groupsOf(command, grouped), changed);
});

test("groups are restored from a backup, and still work", async (t) => {
  const command = await commandLine(t);
  const { grouped, seen } = await fill(command);
  const backup = join(command.env.HOME!, "backup");
  await succeed(command, "backup", backup);
  command.env.PARLEY_DATA = join(command.env.HOME!, "restored");
  await succeed(command, "restore", backup);
  await succeed(command, "check");
  await command.serve();
  assert.deepEqual(await groupsOf(command, grouped), seen);
  await assertGroupsGoOn(command, grouped);
});
