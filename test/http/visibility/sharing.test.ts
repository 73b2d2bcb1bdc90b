import assert from "node:assert/strict";
import { test } from "node:test";
import { deleteUser } from "../../../src/core/people/users.ts";
import { startApp, type TestApp } from "../../support/app.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { add, type Contact, give, type Person, person, read, send } from "../../support/people.ts";

async function names(server: TestApp, who: Person): Promise<string[]> {
  const { data } = (await (await send(server, who, "GET", "/v1/attachments")).json()) as {
    data: { filename: string }[];
  };
  return data.map((each) => each.filename);
}

test("only the uploader renames and deletes, and members list, retrieve and download", async (t) => {
  const server = await startApp(t);
  const [ann, bob] = [await person(server, "ann"), await person(server, "bob")];
  const { conversation_id } = await add(server, ann, "bob");
  await add(server, bob, "ann");
  const id = await give(server, ann, conversation_id, "hers");
  const path = `/v1/attachments/${id}`;
  for (const [method, body] of [
    ["PUT", { filename: "his" }],
    ["DELETE", undefined],
  ] as const) {
    const refused = await send(server, bob, method, path, body);
    assert.equal(refused.status, 403);
    assert.equal(((await refused.json()) as { code: string }).code, "not_uploader");
  }
  const seen = (await (await send(server, bob, "GET", path)).json()) as { file_url: string };
  assert.equal(await (await fetch(seen.file_url)).text(), "hers");
  assert.equal((await send(server, bob, "GET", `/files/${id}/hers`)).status, 200);
  assert.equal((await send(server, ann, "DELETE", path)).status, 204);
  assert.equal((await send(server, bob, "GET", path)).status, 404);
  assert.deepEqual(await names(server, bob), []);
});

test("deleting a contact leaves the conversation, the other keeps it, and the last one deletes it", async (t) => {
  const server = await startApp(t);
  const [ann, bob] = [await person(server, "ann"), await person(server, "bob")];
  const toBob = await add(server, ann, "bob");
  const toAnn = await add(server, bob, "ann");
  const hers = await give(server, ann, toBob.conversation_id, "hers");
  await give(server, bob, toBob.conversation_id, "his");
  const linkOf = async (who: Person) =>
    (await read<{ file_url: string }>(send(server, who, "GET", `/v1/attachments/${hers}`), 200)).file_url;
  const [annsLink, bobsLink] = [await linkOf(ann), await linkOf(bob)];
  assert.equal((await send(server, ann, "DELETE", `/v1/contacts/${toBob.id}`)).status, 204);
  assert.deepEqual(await names(server, ann), []);
  assert.deepEqual(await names(server, bob), ["his", "hers"]);
  assert.equal((await fetch(annsLink)).status, 404, "it ends with what she sees");
  assert.equal((await fetch(bobsLink)).status, 200);
  const me = (await (await send(server, ann, "GET", "/v1/me")).json()) as { storage: { used: number } };
  assert.equal(me.storage.used, 0, "a file whose uploader left does not count");
  await give(server, bob, toBob.conversation_id, "while she was away");
  const again = await add(server, ann, "bob");
  assert.equal(again.conversation_id, toAnn.conversation_id);
  assert.deepEqual(await names(server, ann), []);
  await give(server, bob, toBob.conversation_id, "after");
  assert.deepEqual(await names(server, ann), ["after"]);
  assert.equal((await send(server, bob, "DELETE", `/v1/contacts/${toAnn.id}`)).status, 204);
  assert.equal((await fetch(bobsLink)).status, 404);
  assert.deepEqual(await names(server, ann), ["after"]);
});

test("presence is shown of contacts who have the caller as a contact and have not blocked them", async (t) => {
  let now = Date.UTC(2026, 0, 1, 12, 0, 30, 500);
  const server = await startApp(t, {}, { clock: () => now });
  const [ann, bob] = [await person(server, "ann"), await person(server, "bob")];
  const toBob = await add(server, ann, "bob");
  const path = `/v1/contacts/${toBob.id}`;
  const read = async () => {
    for (;;) {
      const answer = await send(server, ann, "GET", path);
      const text = await answer.text();
      const { data } = (await (await send(server, ann, "GET", "/v1/contacts")).json()) as { data: Contact[] };
      // The presence may change between two requests: then read again.
      if ((await (await send(server, ann, "GET", path)).text()) !== text) continue;
      const contact = JSON.parse(text) as Contact;
      assert.deepEqual(data, [contact]);
      return { seen: contact.last_active_at, etag: answer.headers.get("etag")! };
    }
  };
  const flushed = async (want: number | null) => {
    await eventually(async () => (await read()).seen === want);
    return read();
  };
  await names(server, bob);
  const toAnn = await add(server, bob, "ann");
  // He was last active in the very millisecond in which she added him.
  await new Promise((resolve) => setTimeout(resolve, 1500));
  const before = await read();
  assert.equal(before.seen, null);
  now += 1000;
  await names(server, bob);
  const first = await flushed(toBob.created_at);
  assert.equal(first.seen, toBob.created_at, "no earlier than the contact itself");
  assert.notEqual(first.etag, before.etag);
  now += 60_000;
  await names(server, bob);
  let minute = Math.floor(now / 60_000) * 60;
  assert.equal((await flushed(minute)).seen, minute);
  now += 60_000;
  const id = await give(server, ann, toBob.conversation_id, "hers");
  assert.equal((await send(server, bob, "GET", `/files/${id}/hers`)).status, 200);
  minute += 60;
  assert.equal((await flushed(minute)).seen, minute, "a download with a token is a request, too");
  const hidden = await send(server, bob, "PUT", `/v1/contacts/${toAnn.id}/block`);
  assert.equal(hidden.status, 204);
  assert.equal((await read()).seen, null, "a blocked one sees no presence");
  await send(server, bob, "DELETE", `/v1/contacts/${toAnn.id}/block`);
  assert.equal((await read()).seen, minute);
  await send(server, bob, "DELETE", `/v1/contacts/${toAnn.id}`);
  assert.equal((await read()).seen, null, "he does not have her as a contact any more");
});

test("another user of an erased user's name gets nothing of the erased user", async (t) => {
  const server = await startApp(t);
  const [ann, bob] = [await person(server, "ann"), await person(server, "bob")];
  const toBob = await add(server, ann, "bob");
  await add(server, bob, "ann");
  await give(server, ann, toBob.conversation_id, "for the first bob");
  await give(server, bob, toBob.conversation_id, "from the first bob");
  await deleteUser(server.app.core, null, bob.id);
  assert.deepEqual(await names(server, ann), ["from the first bob", "for the first bob"]);
  const other = await person(server, "bob");
  const { conversation_id } = await add(server, other, "ann");
  assert.equal(conversation_id, toBob.conversation_id);
  assert.deepEqual(await names(server, other), []);
  await give(server, ann, toBob.conversation_id, "for the second bob");
  assert.deepEqual(await names(server, other), ["for the second bob"]);
});

test("another user of an erased user's name starts anew with users who have no contact of it", async (t) => {
  let now = Date.UTC(2026, 0, 1);
  const server = await startApp(t, {}, { clock: () => now });
  const [ann, bob] = [await person(server, "ann"), await person(server, "bob")];
  const { id } = await add(server, bob, "ann");
  assert.equal((await send(server, bob, "DELETE", `/v1/contacts/${id}`)).status, 204);
  await deleteUser(server.app.core, null, bob.id);
  now += 61_000;
  const other = await person(server, "bob");
  const { conversation_id } = await add(server, ann, "bob");
  await give(server, ann, conversation_id, "for the second bob");
  await add(server, other, "ann");
  assert.deepEqual(await names(server, other), ["for the second bob"]);
});

test("messages to a user who never added the sender are not for another user of the name", async (t) => {
  let now = Date.UTC(2026, 0, 1);
  const server = await startApp(t, {}, { clock: () => now });
  const [ann, bob] = [await person(server, "ann"), await person(server, "bob")];
  const { conversation_id } = await add(server, ann, "bob");
  await give(server, ann, conversation_id, "for the first bob");
  await deleteUser(server.app.core, null, bob.id);
  now += 61_000;
  const other = await person(server, "bob");
  await give(server, ann, conversation_id, "for the second bob");
  await add(server, other, "ann");
  assert.deepEqual(await names(server, other), ["for the second bob"]);
});

test("leaving a user does not block messages of another user of that name", async (t) => {
  const server = await startApp(t);
  const [ann, bob] = [await person(server, "ann"), await person(server, "bob")];
  await add(server, ann, "bob");
  const { id } = await add(server, bob, "ann");
  assert.equal((await send(server, bob, "DELETE", `/v1/contacts/${id}`)).status, 204);
  await deleteUser(server.app.core, null, ann.id);
  const other = await person(server, "ann");
  await give(server, other, (await add(server, other, "bob")).conversation_id, "from the second ann");
  await add(server, bob, "ann");
  assert.deepEqual(await names(server, bob), ["from the second ann"]);
});
