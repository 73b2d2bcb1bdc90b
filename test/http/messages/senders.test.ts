// The sender of a file after that user is erased, on both engines.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { deleteUser } from "../../../src/core/people/users.ts";
import { startApp, startOn, type TestApp, testConfig } from "../../support/app.ts";
import { testDatabase } from "../../support/engines/postgres.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { add, give, person, read, send } from "../../support/people.ts";

interface Shown {
  id: string;
  sender: { username: string } | null;
}

async function onPostgres(t: TestContext): Promise<TestApp> {
  const databaseUrl = await testDatabase(t);
  return startOn(t, { ...(await testConfig(t)), databaseUrl, secrets: ["s".repeat(32)] });
}

for (const [engine, start] of Object.entries({ SQLite: startApp, PostgreSQL: onPostgres })) {
  test(`the sender is null once that user is erased, and the ETag changes with it (${engine})`, async (t) => {
    const server = await start(t);
    const [ann, bob] = [await person(server, "ann"), await person(server, "bob")];
    const { conversation_id } = await add(server, ann, "bob");
    await add(server, bob, "ann");
    const fromAnn = await give(server, ann, conversation_id, "a");
    const fromBob = await give(server, bob, conversation_id, "b");
    const list = async () => {
      const path = "/v1/attachments?include=sender";
      const { data } = await read<{ data: Shown[] }>(send(server, bob, "GET", path), 200);
      return data.map(({ id, sender }) => [id, sender?.username ?? null]);
    };
    assert.deepEqual(await list(), [
      [fromBob, "bob"],
      [fromAnn, "ann"],
    ]);
    const path = `/v1/attachments/${fromAnn}?include=sender`;
    const etag = (await send(server, bob, "GET", path)).headers.get("etag")!;
    const again = () => send(server, bob, "GET", path, undefined, { "if-none-match": etag });
    assert.equal((await again()).status, 304);
    await deleteUser(server.app.core, null, ann.id);
    assert.ok(await eventually(async () => (await again()).status === 200));
    assert.equal((await read<Shown>(again(), 200)).sender, null);
    assert.deepEqual(await list(), [
      [fromBob, "bob"],
      [fromAnn, null],
    ]);
  });
}
