import { type Reader, sql } from "../../sql.ts";
import { batch, type Write } from "../../write.ts";

/** Returns the next users without a folded key, oldest first. */
export function listUnfolded(
  db: Reader,
  after: string,
  limit: number,
): Promise<{ id: string; username: string }[]> {
  return db.all(
    sql`SELECT id, username FROM users WHERE folded_key IS NULL AND id > ${after} ORDER BY id LIMIT ${limit} + 0`,
  );
}

/** Sets folded keys. Skips users whose key another user has: both keep working under their names. */
function* setFoldedKeys({ users }: { users: readonly { id: string; foldedKey: string }[] }): Write<void> {
  yield* batch(
    users.map(
      ({ id, foldedKey }) => sql`UPDATE users SET folded_key = ${foldedKey}
        WHERE id = ${id} AND NOT EXISTS (SELECT 1 FROM users other WHERE other.folded_key = ${foldedKey})`,
    ),
  );
}

export const foldedKeyWrites = { setFoldedKeys };
