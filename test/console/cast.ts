// Ann, Bob and Cat, who are contacts and share a group, and all kinds of changes that Ann can see.
import assert from "node:assert/strict";
import type { TestApp, TestUser } from "../support/app.ts";
import { add, give, person, read, say, send } from "../support/people.ts";

export interface Cast {
  server: TestApp;
  ann: TestUser;
  bob: TestUser;
  cat: TestUser;
  /** Ann's contacts. */
  contacts: Record<"bob" | "cat", { id: string; conversation_id: string }>;
  group: { id: string; conversation_id: string };
  /** Bob's first message and Ann's reply. */
  first: string;
  reply: string;
  file: string;
  /** Created in the previous round and removed in this one. */
  last: { eve?: string; message?: string; file?: string; group?: string };
}

let casts = 0;

/** Creates Ann with two conversations, with Bob and with Cat, and a group of all three. */
export async function gather(server: TestApp): Promise<Cast> {
  const names = ["ann", "bob", "cat"].map((name) => `${name}-${casts}`);
  casts++;
  const [ann, bob, cat] = [
    await person(server, names[0]!),
    await person(server, names[1]!),
    await person(server, names[2]!),
  ];
  const contacts = { bob: await add(server, ann, bob.name), cat: await add(server, ann, cat.name) };
  for (const [who, other] of [
    [bob, ann],
    [cat, ann],
    [bob, cat],
    [cat, bob],
  ] as const)
    await add(server, who, other.name);
  await add(server, ann, "nobody");
  const group = await read<Cast["group"]>(
    send(server, ann, "POST", "/v1/groups", { name: "Climbers", members: [bob.name, cat.name] }),
    201,
  );
  for (const who of [bob, cat]) await read(send(server, who, "POST", `/v1/groups/${group.id}/join`), 200);
  const id = contacts.bob.conversation_id;
  const first = await say(server, bob, id, "first");
  const file = await give(server, bob, id, "first.txt");
  const reply = await say(server, ann, id, "reply", { reply_to_id: first });
  await say(server, cat, contacts.cat.conversation_id, "hello");
  return { server, ann, bob, cat, contacts, group, first, reply, file, last: {} };
}

/** Makes every kind of change once, on other devices of Ann and of the others. */
export async function change(cast: Cast, round: number): Promise<void> {
  const { server, ann, bob, cat, contacts, group, first, reply, file, last } = cast;
  const id = contacts.bob.conversation_id;
  const put = (who: TestUser, path: string, body: object) => read(send(server, who, "PUT", path, body), 200);
  const remove = async (who: TestUser, path: string) =>
    assert.equal((await send(server, who, "DELETE", path)).status, 204, path);
  const isOdd = round % 2 === 1;
  const reaction = `/v1/messages/${reply}/reactions/${encodeURIComponent("👍")}`;
  await put(bob, `/v1/messages/${first}`, { text: `first, edit ${round}` });
  if (isOdd) assert.equal((await send(server, bob, "PUT", reaction)).status, 204);
  else await remove(bob, reaction);
  await put(ann, `/v1/contacts/${contacts.cat.id}`, { display_name: `Cat ${round}` });
  await put(ann, `/v1/contacts/${contacts.bob.id}`, { display_name: `Bob ${round}` });
  await put(ann, `/v1/conversations/${contacts.cat.conversation_id}`, { is_pinned: isOdd });
  await put(ann, `/v1/groups/${group.id}`, { name: `Climbers ${round}` });
  await put(bob, `/v1/attachments/${file}`, { filename: `first ${round}.txt` });
  const { eve, message, file: old, group: invitation } = last;
  last.eve = (await add(server, ann, `eve-${casts}-${round}`)).id;
  if (eve) await remove(ann, `/v1/contacts/${eve}`);
  await say(server, ann, id, `from another device ${round}`);
  // After it, so that it stays unread until a page shows it.
  last.message = await say(server, bob, id, `news ${round}`, { reply_to_id: first });
  if (message) await remove(bob, `/v1/messages/${message}`);
  last.file = await give(server, bob, id, `given ${round}.txt`);
  if (old) await remove(bob, `/v1/attachments/${old}`);
  const made = await read<Cast["group"]>(
    send(server, cat, "POST", "/v1/groups", { name: `Divers ${round}`, members: [`ann-${casts - 1}`] }),
    201,
  );
  last.group = made.id;
  if (invitation) await remove(cat, `/v1/groups/${invitation}`);
  await say(server, cat, group.conversation_id, `in the group ${round}`);
  await say(server, cat, contacts.cat.conversation_id, `hello ${round}`);
}
