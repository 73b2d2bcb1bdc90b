// Sets and deletes pictures of users by the client, from each kind of source.
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { etagOf, Parley, type UploadProgress } from "../../packages/parley-client/src/index.ts";
import { SCOPES } from "../../src/core/people/tokens.ts";
import { startOn } from "../support/app.ts";
import { png, pngHeader } from "../support/picture-bytes.ts";
import { clientOf, onEngines } from "./engines.ts";
import { failure } from "./failure.ts";

onEngines("pictures of the caller and of users", async (t, config) => {
  const server = await startOn(t, config);
  const { users } = await clientOf(server, {}, { scopes: SCOPES });
  const { id, token } = await server.user();
  const his = new Parley({ url: server.url, token });
  const picture = png(pngHeader(1, 1), Buffer.alloc(4));
  const folder = await mkdtemp(join(tmpdir(), "parley-avatars-"));
  t.after(() => rm(folder, { recursive: true }));
  const path = join(folder, "me.png");
  await writeFile(path, picture);
  const reports: UploadProgress[] = [];
  const sources = [new Blob([picture]), new File([picture], "me.png"), path, new Blob([picture]).stream()];
  let last = "";
  for (const source of sources) {
    const me = await his.setAvatar(source, { onProgress: (progress) => reports.push(progress) });
    assert.equal(reports.at(-1)!.sent, picture.length);
    assert.equal((await fetch(me.avatar_url!)).status, 200);
    if (last) assert.equal((await fetch(last)).status, 404);
    last = me.avatar_url!;
  }
  const before = await users.retrieve(id);
  const replaced = await users.setAvatar(id, picture, { ifMatch: etagOf(before) });
  const stale = users.setAvatar(id, picture, { ifMatch: etagOf(before) });
  assert.equal((await failure(stale)).code, "precondition_failed");
  assert.equal((await failure(his.setAvatar(new Blob(["text"])))).code, "file_type_refused");
  assert.equal((await fetch(replaced.avatar_url!)).status, 200);
  assert.equal(await his.deleteAvatar(), undefined);
  assert.equal(await users.deleteAvatar(id), undefined);
  assert.equal((await fetch(replaced.avatar_url!)).status, 404);
});
