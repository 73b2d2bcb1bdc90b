import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { type CommandLine, commandLine, tokenOf } from "../support/command.ts";
import { flipBit, type Stored, send } from "../support/command-writers.ts";

/** Longer than an unrenewed hold plus the interval of the eraser, in milliseconds. */
const PATIENCE_MS = 25_000;

async function until(condition: () => boolean, patience: number, pause: number): Promise<boolean> {
  for (const end = Date.now() + patience; Date.now() < end; ) {
    if (condition()) return true;
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
  return false;
}

/** Returns a function that counts the holds. */
function holdsOf(t: TestContext, command: CommandLine): () => number {
  const db = new DatabaseSync(join(command.env.PARLEY_DATA!, "parley.db"), { readOnly: true });
  t.after(() => db.close());
  const holds = db.prepare("SELECT COUNT(*) AS count FROM holds");
  return () => holds.get()!.count as number;
}

test("files deleted during a backup are whole in it or missing", async (t) => {
  const command = await commandLine(t);
  const server = await command.serve();
  const token = tokenOf(server);
  const remove = async ({ id }: { id: string }) => {
    const headers = { authorization: `Bearer ${token}` };
    const gone = await fetch(`${command.url}/v1/attachments/${id}`, { method: "DELETE", headers });
    assert.equal(gone.status, 204);
  };
  const folder = join(dirname(command.env.PARLEY_DATA!), "backup");
  const good: Stored[] = [];
  for (let i = 0; i < 60; i++) good.push(await send(command, token, `good ${i}`));
  // The second pass copies damaged files, oldest first.
  const damaged: Stored[] = [];
  for (let i = 0; i < 40; i++) damaged.push(await send(command, token, `damaged ${i}`));
  for (const { path } of damaged) await flipBit(path);
  const count = holdsOf(t, command);
  const backup = command.start("backup", folder);
  let stdout = "";
  backup.stdout!.on("data", (chunk) => {
    stdout += chunk;
  });
  const closed = once(backup, "close");
  const { key } = good[0]!;
  const copy = join(`${folder}.partial`, "blobs", key.slice(0, 2), key);
  assert.ok(await until(() => existsSync(copy), PATIENCE_MS, 0));
  await remove(good[0]!);
  assert.ok(await until(() => count() > 0 || backup.exitCode !== null, PATIENCE_MS, 0));
  let deleted = 0;
  for (; backup.exitCode === null && damaged.length > 0; deleted++) await remove(damaged.pop()!);
  await closed;
  assert.equal(backup.exitCode, 1);
  assert.match(stdout, /is damaged/);
  assert.doesNotMatch(stdout, /is missing/);
  const checked = await (await commandLine(t, { PARLEY_DATA: folder })).run("check");
  assert.doesNotMatch(checked.stdout, /no attachment|is missing/);
  assert.ok(await until(() => !existsSync(good[0]!.path), PATIENCE_MS, 100), "the eraser goes on after");
  t.diagnostic(`${deleted} deleted under the hold`);
});

/**
 * Ends a backup while it holds the eraser. Damaged files are read again under the hold, so it lasts long enough. If a
 * backup ends before that, the next one is tried. Returns the exit code.
 */
async function endUnderHold(
  t: TestContext,
  command: CommandLine,
  folder: string,
  signal: NodeJS.Signals,
  holdsAfter: number,
): Promise<number | null> {
  const count = holdsOf(t, command);
  for (let i = 0; i < 10; i++) {
    const backup = command.start("backup", folder);
    const closed = once(backup, "close");
    assert.ok(await until(() => count() > 0 || backup.exitCode !== null, PATIENCE_MS, 0));
    backup.kill(signal);
    await closed;
    if (count() === holdsAfter && !existsSync(folder)) return backup.exitCode;
    for (const path of [folder, `${folder}.partial`]) await rm(path, { recursive: true, force: true });
  }
  throw new Error("Each backup was over before it could be ended.");
}

test("kill -9 of a backup that holds the eraser leaves no backup, and deleted bytes are still erased soon", async (t) => {
  const command = await commandLine(t);
  const server = await command.serve();
  const token = tokenOf(server);
  const good = await send(command, token, "good");
  for (let i = 0; i < 40; i++) await flipBit((await send(command, token, `damaged ${i}`)).path);
  const folder = join(dirname(command.env.PARLEY_DATA!), "backup");
  await endUnderHold(t, command, folder, "SIGKILL", 1);
  assert.ok(!(await readdir(`${folder}.partial`)).includes("parley.db"));
  const headers = { authorization: `Bearer ${token}` };
  const gone = await fetch(`${command.url}/v1/attachments/${good.id}`, { method: "DELETE", headers });
  assert.equal(gone.status, 204);
  assert.ok(existsSync(good.path), "the hold of the dead keeps the bytes for a while");
  assert.ok(await until(() => !existsSync(good.path), PATIENCE_MS, 100), "the eraser waits for the dead");
});

test("a backup stopped by a signal removes its partial copy and its hold", async (t) => {
  const command = await commandLine(t);
  const server = await command.serve();
  for (let i = 0; i < 40; i++) await flipBit((await send(command, tokenOf(server), `damaged ${i}`)).path);
  const folder = join(dirname(command.env.PARLEY_DATA!), "backup");
  assert.equal(await endUnderHold(t, command, folder, "SIGTERM", 0), 2);
  assert.ok(!existsSync(`${folder}.partial`));
});
