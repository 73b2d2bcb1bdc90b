// The metric of the bytes stored by all users.
import assert from "node:assert/strict";
import { SCOPES } from "../../../src/core/people/tokens.ts";
import { upload } from "../../support/app.ts";
import { onEachEngine } from "../../support/on-engines.ts";

const MANY = 12_000;

onEachEngine("parley_stored_bytes is the sum of all users", async (server) => {
  const admin = await server.user({ scopes: SCOPES });
  const read = async () => {
    const text = await (await fetch(`${server.url}/metrics`, { headers: admin.headers })).text();
    return Number(/^parley_stored_bytes (\S+)$/m.exec(text)?.[1]);
  };
  assert.equal(await read(), 0);
  for (const user of [admin, await server.user()])
    assert.equal((await upload(server.url, user, new File(["12345"], "a.txt"))).status, 201);
  assert.equal(await read(), 10);
  const rows = Array.from({ length: MANY }, (_, i) => [`usr_${i}`, 1]);
  const table = { name: "storage", key: [], columns: ["user_id", "used"] };
  for (let i = 0; i < MANY; i += 500)
    await server.app.core.db.write("importRows", { table, rows: rows.slice(i, i + 500) });
  assert.equal(await read(), 10 + MANY);
});
