import type { Database } from "../../db/database.ts";
import { listUnfolded } from "../../db/queries/people/folded-keys.ts";
import { foldedKey } from "../../util/text.ts";

/** Users per write: other nodes' writes wait for it. */
const AT_ONCE = 500;

/** Computes the folded keys of users whom an earlier release has created. Of several with the same key, only one gets it. */
export async function fillFoldedKeys(db: Database): Promise<void> {
  for (let after = ""; ; ) {
    const users = await listUnfolded(db, after, AT_ONCE);
    if (users.length === 0) return;
    const keys = users.map(({ id, username }) => ({ id, foldedKey: foldedKey(username) }));
    await db.write("setFoldedKeys", { users: keys });
    after = users.at(-1)!.id;
  }
}
