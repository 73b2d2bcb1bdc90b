// Who has invited a member: the table of docs/sharing.md.

import assert from "node:assert/strict";
import { SCOPES } from "../../../src/core/people/tokens.ts";
import { deleteUser } from "../../../src/core/people/users.ts";
import type { TestApp } from "../../support/app.ts";
import { asker, type Json } from "../../support/asker.ts";
import { onEachEngine } from "../../support/on-engines.ts";
import { add, done, type Person, person, read, send, trio } from "../../support/people.ts";
import { published } from "../../support/published.ts";

interface Shown {
  id: string;
  invited_by: { id: string; display_name: string | null } | null;
}

const get = (server: TestApp, who: Person, group: string) =>
  read<Shown>(send(server, who, "GET", group), 200);
/** Returns the id of the inviter that the group shows to a member. */
const inviterOf = async (server: TestApp, who: Person, group: string) =>
  (await get(server, who, group)).invited_by?.id ?? null;

async function invite(server: TestApp, by: Person, group: string, who: Person): Promise<void> {
  await read(send(server, by, "POST", `${group}/members`, { username: who.name }), 201);
}

const join = (server: TestApp, who: Person, group: string) =>
  read<Shown>(send(server, who, "POST", `${group}/join`), 200);

onEachEngine(
  "a member sees the inviter as that user is now, also after blocks and leaving",
  async (server) => {
    const { ann, bob, cat, group } = await trio(server);
    const invited_by = {
      id: ann.id,
      username: ann.name,
      display_name: null,
      avatar_url: null,
      kind: "person",
    };
    assert.deepEqual((await get(server, bob, group)).invited_by, invited_by);
    assert.equal(await inviterOf(server, ann, group), null, "of the creator");
    await read(send(server, ann, "PUT", "/v1/me", { display_name: "Ada" }), 200);
    const list = await read<{ data: Shown[] }>(send(server, bob, "GET", "/v1/groups"), 200);
    assert.deepEqual(list.data[0]?.invited_by, { ...invited_by, display_name: "Ada" });
    await add(server, ann, bob.name);
    for (const [who, name] of [
      [ann, bob.name],
      [bob, ann.name],
    ] as const)
      await done(send(server, who, "PUT", `/v1/blocks/${name}`));
    assert.equal(await inviterOf(server, bob, group), ann.id, "after both have blocked each other");
    await done(send(server, ann, "DELETE", group));
    assert.equal(await inviterOf(server, bob, group), ann.id, "after the inviter has left");
    // Bob is the admin now, and Cat comes back on his invitation.
    await done(send(server, cat, "DELETE", group));
    await add(server, cat, bob.name);
    await invite(server, bob, group, cat);
    assert.equal((await join(server, cat, group)).invited_by?.id, bob.id);
    assert.equal(await inviterOf(server, cat, group), bob.id);
  },
);

onEachEngine("of several inviters a member has the one whom the invitation showed", async (server) => {
  const { ann, bob, cat, group } = await trio(server);
  const dan = await person(server, `dan of ${ann.name}`);
  const members = await read<{ data: { id: string; user_id: string }[] }>(
    send(server, ann, "GET", `${group}/members`),
    200,
  );
  const seat = members.data.find(({ user_id }) => user_id === bob.id)!.id;
  await read(send(server, ann, "PUT", `${group}/members/${seat}`, { role: "admin" }), 200);
  for (const by of [ann, bob]) await invite(server, by, group, dan);
  // Ann was first, but Dan does not know her.
  await add(server, dan, bob.name);
  assert.equal((await join(server, dan, group)).invited_by?.id, bob.id);
  await add(server, dan, ann.name);
  assert.equal(await inviterOf(server, dan, group), bob.id);
  assert.equal(await inviterOf(server, cat, group), ann.id, "each sees their own");
});

onEachEngine("the inviter of members at once is the user as whom the back end acts", async (server) => {
  const { ann, bob, cat } = await trio(server);
  const dan = await person(server, `dan of ${ann.name}`);
  const shop = await server.user({ scopes: SCOPES });
  const asAnn = asker(server, { ...ann, headers: { ...shop.headers, "parley-act-as": ann.id } as never });
  const made = await asAnn("POST", "/v1/groups", { name: "G", members: [bob.name], joined: true });
  assert.deepEqual([made.status, made.body.invited_by], [201, null]);
  const group = `/v1/groups/${made.body.id}`;
  // An invitation gives way to the membership.
  await invite(server, ann, group, dan);
  const added = { members: [dan.name, cat.name], joined: true };
  assert.equal((await asAnn("POST", `${group}/members`, added)).status, 200);
  for (const who of [bob, cat, dan]) assert.equal(await inviterOf(server, who, group), ann.id);
  await published(server);
  const events = await asker(server, dan)("GET", "/v1/events?types=group.created");
  const [event] = events.body.data as { payload: Shown }[];
  assert.equal(event?.payload.invited_by?.id, ann.id);
});

onEachEngine("an erased inviter is not shown, nor a later user of the name", async (server) => {
  const { ann, bob, group } = await trio(server);
  await deleteUser(server.app.core, null, ann.id);
  assert.equal((await get(server, bob, group)).invited_by, null);
  await person(server, ann.name);
  assert.equal((await get(server, bob, group)).invited_by, null);
  const list = await asker(server, bob)("GET", "/v1/groups");
  assert.equal((list.body.data as Json[])[0]?.invited_by, null);
});
