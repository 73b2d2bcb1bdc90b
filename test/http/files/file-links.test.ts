// File links: each belongs to one user, and works while that user sees the file.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { type TestContext, test } from "node:test";
import { renderMessages } from "../../../src/core/messages/messages.ts";
import { findMessages } from "../../../src/db/queries/messages/messages.ts";
import { type TestApp, upload } from "../../support/app.ts";
import { ENGINES, type Engine, startOnEngine } from "../../support/on-engines.ts";
import { done, give, type Person, pair, read, send } from "../../support/people.ts";

const SECRET = "s".repeat(32);

interface File {
  id: string;
  message_id: string;
  file_url: string;
}

const fileOf = (server: TestApp, who: Person, id: string) =>
  read<File>(send(server, who, "GET", `/v1/attachments/${id}`), 200);
const status = async (url: string) => (await fetch(url)).status;

/** Ann and Bob have each other as contacts, and Bob has sent a file. */
async function scene(t: TestContext, engine: Engine) {
  const server = await startOnEngine(t, engine, {}, {}, { secrets: [SECRET] });
  const { ann, bob, conversation } = await pair(server);
  const id = await give(server, bob, conversation, "file");
  const links = { anns: await fileOf(server, ann, id), bobs: await fileOf(server, bob, id) };
  const hide = (who: Person) =>
    done(send(server, who, "DELETE", `/v1/messages/${links.bobs.message_id}?for=me`));
  return { server, ann, bob, id, ...links, hide };
}

for (const engine of ENGINES) {
  test(`${engine}: a file link ends when its user no longer sees the file, others keep working`, async (t) => {
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

  test(`${engine}: a file link of an older version, without a user, works while any member sees the file`, async (t) => {
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

  test(`${engine}: files of a message withdrawn while it is rendered are not shown`, async (t) => {
    const { server, ann, bob, bobs } = await scene(t, engine);
    const { core } = server.app;
    const rows = await findMessages(core.db, ann.id, [bobs.message_id]);
    await done(send(server, ann, "PUT", `/v1/blocks/${bob.name}`));
    const later = new globalThis.File(["later"], "later.txt");
    await read(upload(server.url, bob, later, { message_id: bobs.message_id }), 201);
    const [shown] = await renderMessages(core, rows, ann.id);
    assert.deepEqual(JSON.parse(shown!).attachments, []);
    const [own] = await renderMessages(core, rows, bob.id);
    assert.equal(JSON.parse(own!).attachments.length, 2);
  });
}
