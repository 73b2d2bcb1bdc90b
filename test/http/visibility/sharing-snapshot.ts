// Compares snapshots with the lists whose state they have, piece by piece. In a world of sharing-world.ts the lists equal the model.
import assert from "node:assert/strict";
import type { User } from "./sharing-types.ts";
import type { Page, Shown, World } from "./sharing-world.ts";

/** Reads a path as a user. */
type Get = (path: string) => Promise<unknown>;

interface Entry extends Shown {
  messages: Shown[];
  contact: Shown | null;
  members: Shown[] | null;
}

interface Snapshot {
  me: Shown;
  conversations: Entry[];
  has_more: boolean;
  last_event_id: string | null;
}

/** Leaves out what changes without a write of the test. */
function withoutActivity({ last_active_at: _, ...contact }: Shown): Shown {
  return contact as Shown;
}

/** Leaves out what the token of the request decides. A user of a world has two. */
function withoutToken({ token_id: _, scopes: __, ...me }: Shown): Shown {
  return me as Shown;
}

/** Checks that a snapshot shows what the lists show. Nothing may change meanwhile. */
export async function compareSnapshot(
  get: Get,
  { conversations = 100, messages = 50 } = {},
): Promise<Snapshot> {
  const snapshot = (await get(
    `/v1/snapshot?conversations=${conversations}&messages=${messages}`,
  )) as Snapshot;
  assert.deepEqual(Object.keys(snapshot), ["me", "conversations", "has_more", "last_event_id"]);
  assert.deepEqual(withoutToken(snapshot.me), withoutToken((await get("/v1/me")) as Shown));
  const inbox = (await get(`/v1/conversations?limit=${conversations}`)) as Page;
  assert.equal(snapshot.has_more, inbox.has_more);
  assert.deepEqual(
    snapshot.conversations.map(({ messages: _, contact: __, members: ___, ...shown }) => shown),
    inbox.data,
  );
  for (const { id, contact_id, group_id, messages: newest, contact, members } of snapshot.conversations) {
    const page = (await get(`/v1/messages?conversation_id=${id}&limit=${messages}`)) as Page;
    assert.deepEqual(newest, page.data);
    if (contact_id === null) assert.equal(contact, null);
    else {
      const shown = (await get(`/v1/contacts/${contact_id}`)) as Shown;
      assert.deepEqual(withoutActivity(contact!), withoutActivity(shown));
    }
    if (group_id === null) assert.equal(members, null);
    else {
      const all = (await get(`/v1/groups/${group_id}/members?limit=100`)) as Page;
      assert.deepEqual(members, all.data);
    }
  }
  return snapshot;
}

/** Checks snapshots of a user, also of parts of conversations. */
export async function checkSnapshot(world: World, user: User): Promise<void> {
  const get = (path: string) => world.ask(user, "GET", path, 200);
  await compareSnapshot(get);
  await compareSnapshot(get, { conversations: 2, messages: 2 });
}
