// A start computes the folded keys of users that an earlier release has created.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createApp } from "../../../src/app.ts";
import { createUser, deleteUser } from "../../../src/core/people/users.ts";
import { sql } from "../../../src/db/sql.ts";
import { usernameKey } from "../../../src/util/text.ts";
import { type Engine, oldConfig, type Rows } from "../../support/old-databases.ts";

/** The schema versions of 0.1.0. */
const BEFORE = { sqlite: 21, postgres: 19 };
/** More than one write computes at once. */
const PEOPLE = 600;

const idOf = (number: number) => `usr_${String(number).padStart(26, "0")}`;

function rowsOf(): Rows {
  const names = Array.from({ length: PEOPLE }, (_, i) => `üser ${i}`);
  names.push("Maße", "Masse", "Nußstraße", "NUẞSTRASSE", "@old");
  return names.map((username, i) => {
    const row = { id: idOf(i), username, username_key: usernameKey(username) };
    return ["users", { ...row, conversation_id: `cnv_${i}`, created_at: 1 }];
  });
}

for (const [engine, version] of Object.entries(BEFORE) as [Engine, number][]) {
  test(`${engine}: old users with equal folded names keep them, and no third gets one`, async (t) => {
    const config = await oldConfig(t, engine, version, rowsOf());
    const app = await createApp(config);
    const { core } = app;
    const keys = () =>
      core.db.allValues(
        sql<
          [string, string | null]
        >`SELECT username, folded_key FROM users WHERE id >= ${idOf(PEOPLE - 1)} ORDER BY id`,
      );
    assert.deepEqual(await keys(), [
      [`üser ${PEOPLE - 1}`, `üser ${PEOPLE - 1}`],
      ["Maße", null],
      ["Masse", "masse"],
      ["Nußstraße", "nussstrasse"],
      ["NUẞSTRASSE", null],
      ["@old", "@old"],
    ]);
    const taken = { code: "username_taken" };
    for (const username of ["MAẞE", "maße", "maSSe", "NUSSSTRASSE", "@OLD"])
      await assert.rejects(createUser(core, null, { username }), taken, username);
    await deleteUser(core, null, idOf(PEOPLE + 2));
    await assert.rejects(
      createUser(core, null, { username: "nußstrasse" }),
      taken,
      "the other one has this name",
    );
    await app.stop();
    const again = await createApp(config);
    t.after(() => again.stop());
    const found = await again.core.db.get(sql`SELECT 1 AS one FROM users WHERE folded_key = 'nussstrasse'`);
    assert.ok(found, "the next start gives it the key");
  });
}
