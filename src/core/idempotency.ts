import { hash } from "node:crypto";
import type { WriteInput, WriteResult } from "../db/database.ts";
import { isKeyUsed, type Once } from "../db/queries/idempotency.ts";
import type { SingleName } from "../db/writes.ts";
import { ParleyError } from "../errors.ts";
import type { Caller } from "./access/caller.ts";
import type { Accounts, Core } from "./core.ts";

/** How long a key is stored. */
const KEY_MS = 24 * 3600 * 1000;

/**
 * Identifies a request with a key; undefined without one, as on the command line. `asked` is everything that the
 * request asks for, fingerprinted as JSON.
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

/**
 * Reports whether the key was used before. The write then returns the stored result, or throws
 * `idempotency_key_reused`.
 */
export async function isReplay(core: Core, caller: Caller, key: string | undefined): Promise<boolean> {
  return key !== undefined && (await isKeyUsed(core.db, caller.userId, sha256(key), core.clock()));
}

/** Runs the write, or returns the stored result of the key's first request. */
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
 * Runs one request of this key at a time. Throws `idempotency_in_progress` if another is under way in this process; on
 * another node the second write waits for the first.
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
