// Changes of profiles: which readers get an event, in slices, on both engines.
import assert from "node:assert/strict";
import type { Database } from "../../../src/db/database.ts";
import { findProfileChange, findProfilesFor } from "../../../src/db/queries/people/profile-readers.ts";
import { sql } from "../../../src/db/sql.ts";
import { checkOrphans } from "../../support/orphans.ts";
import { aDeletion, addUser, anEntry, aUser, contact } from "../../support/rows.ts";
import { onEachDatabase } from "../databases.ts";

const NAMES = ["a", "b", "c", "d"];
const ANN = "usr_ann";

const update = (db: Database, changes: object, id = ANN) =>
  db.write("updateUser", { id, changes, picturesUrl: "", expected: null, entry: anEntry() });

const publish = (db: Database, limit: number, userId = ANN) =>
  db.write("publishProfile", { userId, limit, now: 5 });

/** Returns the recipients of events since the last call, in order. */
function reader(db: Database): () => Promise<string> {
  let position = 0;
  return async () => {
    while ((await db.write("numberEvents", { limit: 100 })) > 0);
    const found = await db.allValues<[number, string]>(
      sql`SELECT position, recipient_id FROM events WHERE type = 'user.updated' AND position > ${position} ORDER BY position`,
    );
    position = found.at(-1)?.[0] ?? position;
    return found.map(([, id]) => id.replace("usr_", "")).join(" ");
  };
}

/** Ann and each of the others have each other as contacts. */
async function meet(db: Database): Promise<void> {
  await db.write("createUser", aUser(ANN, { username: "ann", usernameKey: "ann" }));
  for (const [i, name] of NAMES.entries()) {
    await db.write("createUser", aUser(`usr_${name}`, { username: name, usernameKey: name }));
    await db.write("createContact", { ...contact(ANN, i + 1), usernameKey: name });
    await db.write("createContact", { ...contact(`usr_${name}`, 1), usernameKey: "ann" });
  }
  await addUser(db, "usr_stranger");
}

onEachDatabase(
  "readers are informed in slices, and from the first again after a further change",
  async (db) => {
    await meet(db);
    const read = reader(db);
    await update(db, { display_name: "A" });
    await publish(db, 2);
    assert.equal(await read(), "a ann");
    await publish(db, 2);
    assert.equal(await read(), "b c");
    await update(db, { display_name: "B" });
    await publish(db, 2);
    assert.equal(await read(), "a ann");
    await publish(db, 4);
    assert.equal(await read(), "b c d");
    assert.equal(await findProfileChange(db, ""), undefined);
    await publish(db, 4);
    assert.equal(await read(), "");
  },
);

onEachDatabase("changes that were not published yet are one event", async (db) => {
  await meet(db);
  const read = reader(db);
  for (const display_name of ["A", "B", "C"]) await update(db, { display_name });
  await publish(db, 500);
  assert.equal(await read(), "a ann b c d");
});

onEachDatabase("an update of what others do not see, or to the same value, informs nobody", async (db) => {
  await meet(db);
  await update(db, { phone_number: "555", data: "{}", display_name: null, avatar_url: null });
  assert.equal(await findProfileChange(db, ""), undefined);
});

onEachDatabase("an erased user informs nobody, and is no reader", async (db) => {
  await meet(db);
  await update(db, { display_name: "A" });
  await update(db, { display_name: "B" }, "usr_b");
  await db.write("deleteUser", aDeletion(ANN, { limit: 1 }));
  assert.equal(await findProfileChange(db, ""), "usr_b");
  await publish(db, 500, "usr_b");
  assert.equal(await reader(db)(), "b");
  assert.deepEqual(
    await findProfilesFor(
      db,
      [ANN],
      NAMES.map((name) => `usr_${name}`),
    ),
    [],
  );
  await checkOrphans(db);
});

onEachDatabase("a profile is shown to its readers only", async (db) => {
  await meet(db);
  const ids = ["usr_a", "usr_b", "usr_stranger", ANN];
  const found = await findProfilesFor(db, [ANN, "usr_a"], ids);
  const pairs = found.map(({ id, reader_id }) => `${reader_id} ${id}`.replaceAll("usr_", "")).sort();
  assert.deepEqual(pairs, ["a a", "a ann", "ann a", "ann ann", "b ann"]);
});
