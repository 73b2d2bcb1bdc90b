import { sumStorage } from "../../db/queries/storage/storage-used.ts";
import type { DataAccess } from "../node/core.ts";
import { nextTurn } from "../resource/turns.ts";

/** How many users to add up in one turn of the event loop. */
const USERS_PER_TURN = 5000;
/** The user of these turns: none. */
const NOBODY = "";

/** Returns the bytes that all users store, as their quotas count them. */
export async function measureStorage({ db }: DataAccess): Promise<number> {
  let total = 0;
  for (let cursor: string | null = ""; ; await nextTurn(NOBODY)) {
    const { bytes, last } = await sumStorage(db, cursor, USERS_PER_TURN);
    total += bytes;
    if (last === null) return total;
    cursor = last;
  }
}
