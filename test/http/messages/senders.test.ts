// The sender of a file after that user is erased.
import assert from "node:assert/strict";
import { deleteUser } from "../../../src/core/people/users.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { onEachEngine } from "../../support/on-engines.ts";
import { give, pair, read, send } from "../../support/people.ts";

type Shown = { id: string; sender: { username: string } | null };

onEachEngine("the sender of a file is null once erased, and the ETag changes", async (server) => {
  const { ann, bob, conversation } = await pair(server);
  const [fromAnn, fromBob] = [
    await give(server, ann, conversation, "a"),
    await give(server, bob, conversation, "b"),
  ];
  const list = async () => {
    const page = read<{ data: Shown[] }>(send(server, bob, "GET", "/v1/attachments?include=sender"), 200);
    return (await page).data.map(({ id, sender }) => `${id} ${sender?.username}`);
  };
  assert.deepEqual(await list(), [`${fromBob} ${bob.name}`, `${fromAnn} ${ann.name}`]);
  const path = `/v1/attachments/${fromAnn}?include=sender`;
  const etag = (await send(server, bob, "GET", path)).headers.get("etag")!;
  const again = () => send(server, bob, "GET", path, undefined, { "if-none-match": etag });
  assert.equal((await again()).status, 304);
  await deleteUser(server.app.core, null, ann.id);
  assert.ok(await eventually(async () => (await again()).status === 200));
  assert.equal((await read<Shown>(again(), 200)).sender, null);
  assert.deepEqual(await list(), [`${fromBob} ${bob.name}`, `${fromAnn} undefined`]);
});
