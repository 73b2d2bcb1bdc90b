import { hash } from "node:crypto";
import type { WriteInput, WriteResult } from "../../db/database.ts";
import { type IdempotentRequest, isKeyUsed } from "../../db/queries/record/idempotency.ts";
import type { SingleName } from "../../db/writes.ts";
import { ParleyError } from "../../errors.ts";
import type { Caller } from "../node/caller.ts";
import type { Core, DataAccess } from "../node/core.ts";

/** How long a key is stored. */
const KEY_MS = 24 * 3600 * 1000;

/** Identifies a request: two requests with the same key must have the same content. */
export interface Identified {
  /** Null for the command line, which has no keys. */
  caller: Caller | null;
  key: string | undefined;
  /** The content of the request, which is fingerprinted as JSON. */
  asked: readonly unknown[];
  /** Set if `isReplay` was true, so that the request has not stored what a first one needs. */
  replayOnly?: boolean;
}

/**
 * Reports whether the key was used before. The write then returns the stored result, or throws
 * `idempotency_key_reused`.
 */
export function isReplay(core: DataAccess, caller: Caller, key: string): Promise<boolean> {
  return isKeyUsed(core.db, caller.userId, sha256(key), core.clock());
}

/** Runs the write, or returns the stored result of the key's first request. Without a key it always runs. */
export async function writeIdempotent<N extends SingleName>(
  core: DataAccess,
  { caller, key, asked, replayOnly = false }: Identified,
  name: N,
  input: WriteInput<N>,
): Promise<{ result: WriteResult<N>; replayed: boolean }> {
  if (caller === null || key === undefined) {
    return { result: await core.db.write(name, input), replayed: false };
  }
  const now = core.clock();
  const request: IdempotentRequest = {
    userId: caller.userId,
    keyHash: sha256(key),
    fingerprint: toFingerprint(asked),
    now,
    until: now + KEY_MS,
    replayOnly,
  };
  const done = await core.db.write("runIdempotent", { name, input, request } as WriteInput<"runIdempotent">);
  return done as { result: WriteResult<N>; replayed: boolean };
}

/**
 * Runs one request with this key at a time. Throws `idempotency_in_progress` if another one is running in this process. On
 * another node the second write waits for the first.
 */
export async function oneAtATime<T>(
  core: Core,
  caller: Caller,
  key: string,
  run: () => Promise<T>,
): Promise<T> {
  const name = `${caller.userId} ${key}`;
  if (core.runningKeys.has(name)) throw new ParleyError("idempotency_in_progress");
  core.runningKeys.add(name);
  try {
    return await run();
  } finally {
    core.runningKeys.delete(name);
  }
}

/** Returns the digest of a request's content. Two requests with the same content have the same. */
export function toFingerprint(asked: Identified["asked"]): Uint8Array {
  return sha256(JSON.stringify(asked));
}

function sha256(text: string): Uint8Array {
  return hash("sha256", text, "buffer");
}
