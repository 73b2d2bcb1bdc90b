import { crc32 } from "node:zlib";
import { ParleyError } from "../../errors.ts";
import { JsonObject } from "../../util/json-object.ts";

export { checkVersion, type Expected } from "../../db/version.ts";

/** A resource as it is served, with the version for its ETag. */
export interface Versioned {
  /** Its JSON text. */
  json: string;
  /**
   * The row's version, a number. If something else changes, "-" and that follow: the window of its links for an attachment, the
   * CRC-32 of the JSON text for a result of `versioned`.
   */
  version: string;
  /** True if this is the result of an earlier request with the same Idempotency-Key or `client_id`. */
  replayed?: boolean;
}

/** Makes a resource that shows things that change without its row: names of users, reactions, links of files. */
export function versioned(json: string, version: number): Versioned {
  return { json, version: `${version}-${crc32(json)}` };
}

/** Returns the id of a resource from its JSON text. */
export function idOf(json: string): string {
  return new JsonObject(json).id;
}

/** Waits for a read of the result of a write. If the read fails, the error must not suggest that the write failed. */
export async function readBack<T>(read: Promise<T>): Promise<T> {
  try {
    return await read;
  } catch (error) {
    const isUnavailable = error instanceof ParleyError && error.code === "unavailable";
    throw isUnavailable ? new ParleyError("outcome_unknown") : error;
  }
}
