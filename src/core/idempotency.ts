import { hash } from "node:crypto";
import type { WriteInput, WriteResult } from "../db/database.ts";
import { isKeyUsed, type Once } from "../db/idempotency.ts";
import type { SingleName } from "../db/writes.ts";
import { ParleyError } from "../errors.ts";
import type { Caller } from "./caller.ts";
import type { Accounts, Core } from "./core.ts";

/** How long a key is kept. */
const KEY_MS = 24 * 3600 * 1000;

/**
 * A request as its key knows it; undefined: it has none, as the command line never has. `asked` is all that it asks for,
 * as JSON.
 */
export function onceOf(
  core: Accounts,
  caller: Caller | null,
  key: string | undefined,
  ...asked: unknown[]
): Once | undefined {
  if (caller === null || key === undefined) return undefined;
  const now = core.clock();
  return {
    userId: caller.userId,
    keyHash: sha256(key),
    fingerprint: sha256(JSON.stringify(asked)),
    now,
    until: now + KEY_MS,
  };
}

/** Whether the key was used before: then the write that asks for it will tell what it came to, or refuse. */
export async function isReplay(core: Core, caller: Caller, key: string | undefined): Promise<boolean> {
  return key !== undefined && (await isKeyUsed(core.db, caller.userId, sha256(key), core.clock()));
}

/** Writes, or tells what the first request of the key has come to. */
export async function writeOnce<N extends SingleName>(
  core: Accounts,
  once: Once | undefined,
  name: N,
  input: WriteInput<N>,
): Promise<{ result: WriteResult<N>; replayed: boolean }> {
  if (!once) return { result: await core.db.write(name, input), replayed: false };
  const done = await core.db.write("doOnce", { name, input, once } as WriteInput<"doOnce">);
  return done as { result: WriteResult<N>; replayed: boolean };
}

/**
 * Runs a request of this key, one at a time. Throws `idempotency_in_progress` where the first is still under way in this
 * process; on another node the second waits for the first by its write.
 */
export async function oneAtATime<T>(
  core: Core,
  caller: Caller,
  key: string,
  run: () => Promise<T>,
): Promise<T> {
  const name = `${caller.userId} ${key}`;
  if (core.keysUnderWay.has(name)) throw new ParleyError("idempotency_in_progress");
  core.keysUnderWay.add(name);
  try {
    return await run();
  } finally {
    core.keysUnderWay.delete(name);
  }
}

function sha256(text: string): Uint8Array {
  return hash("sha256", text, "buffer");
}
