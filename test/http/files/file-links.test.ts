// Links to files: each is one user's, and valid as long as that user sees the file.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { type TestContext, test } from "node:test";
import { renderMessages } from "../../../src/core/messages/messages.ts";
import { findMessages } from "../../../src/db/queries/messages/message-read.ts";
import { startOn, type TestApp, testConfig } from "../../support/app.ts";
import { testDatabase } from "../../support/engines/postgres.ts";
import { add, give, type Person, person, read, send } from "../../support/people.ts";

const SECRET = "s".repeat(32);

interface File {
  id: string;
  message_id: string;
  file_url: string;
}

const fileOf = (server: TestApp, who: Person, id: string) =>
  read<File>(send(server, who, "GET", `/v1/attachments/${id}`), 200);
const status = async (url: string) => (await fetch(url)).status;

/** Ann and Bob have each other, and Bob has sent a file. */
async function scene(t: TestContext, engine: string) {
  const config = await testConfig(t);
  const databaseUrl = engine === "postgres" ? await testDatabase(t) : null;
  const server = await startOn(t, { ...config, databaseUrl, secrets: [SECRET] });
  const [ann, bob] = [await person(server, "ann"), await person(server, "bob")];
  const { conversation_id } = await add(server, bob, "ann");
  await add(server, ann, "bob");
  const id = await give(server, bob, conversation_id, "file");
  const links = { anns: await fileOf(server, ann, id), bobs: await fileOf(server, bob, id) };
  const hide = async (who: Person) =>
    assert.equal(
      (await send(server, who, "DELETE", `/v1/messages/${links.bobs.message_id}?for=me`)).status,
      204,
    );
  return { server, ann, bob, id, ...links, hide };
}

for (const engine of ["sqlite", "postgres"]) {
  test(`${engine}: a link ends when its user does not see the file, and those of others go on`, async (t) => {
    const { ann, anns, bobs, hide, bob } = await scene(t, engine);
    const preview = `${bobs.file_url}&width=320`;
    assert.deepEqual([await status(anns.file_url), await status(bobs.file_url)], [200, 200]);
    await hide(bob);
    assert.deepEqual(
      [await status(anns.file_url), await status(bobs.file_url), await status(preview)],
      [200, 404, 404],
    );
    const swapped = bobs.file_url.replace(/user=[^&]+/, `user=${ann.id}`);
    assert.equal(await status(swapped), 403, "the user is signed");
    assert.equal(await status(anns.file_url.replace(/user=[^&]+&/, "")), 403);
    await hide(ann);
    assert.equal(await status(anns.file_url), 404);
  });

  test(`${engine}: a link of an older version, without a user, is valid as long as any member sees the file`, async (t) => {
    const { ann, bob, id, bobs, hide } = await scene(t, engine);
    const url = new URL(bobs.file_url);
    const expires = url.searchParams.get("expires");
    const signature = createHmac("sha256", SECRET).update(`${id}.${expires}`).digest("base64url");
    const old = `${url.origin}${url.pathname}?expires=${expires}&signature=${signature}`;
    assert.equal(await status(old), 200);
    await hide(bob);
    assert.equal(await status(old), 200);
    assert.equal(await status(`${old}&user=${ann.id}`), 403, "it is nobody's");
    await hide(ann);
    assert.equal(await status(old), 404);
  });

  test(`${engine}: files are not read of a message that was withdrawn since it was read`, async (t) => {
    const { server, ann, bob, bobs } = await scene(t, engine);
    const { core } = server.app;
    const rows = await findMessages(core.db, ann.id, [bobs.message_id]);
    assert.equal((await send(server, ann, "PUT", "/v1/blocks/bob")).status, 204);
    const form = new FormData();
    form.set("message_id", bobs.message_id);
    form.set("file", new globalThis.File(["later"], "later.txt"));
    const { headers } = bob;
    const sent = await fetch(`${server.url}/v1/attachments`, { method: "POST", headers, body: form });
    assert.equal(sent.status, 201);
    const [shown] = await renderMessages(core, rows, ann.id);
    assert.deepEqual(JSON.parse(shown!).attachments, []);
    const [own] = await renderMessages(core, rows, bob.id);
    assert.equal(JSON.parse(own!).attachments.length, 2);
  });
}
