// How far members of a group have read, and who has read a message: what each member sees of it.
import assert from "node:assert/strict";
import { onEachEngine } from "../../support/on-engines.ts";
import {
  add,
  code,
  done,
  type Person,
  type Place,
  pair,
  person,
  read,
  say,
  send,
  trio,
} from "../../support/people.ts";

interface Member {
  user_id: string | null;
  username: string;
  read_message_id: string | null;
}

interface Reader {
  id: string;
  username: string;
}

const mark = (server: Place, who: Person, conversation: string, message_id: string, isPrivate = false) =>
  done(
    send(server, who, "PUT", `/v1/conversations/${conversation}/read`, { message_id, private: isPrivate }),
  );

/** Returns the read position of each member, by name. */
async function positions(server: Place, who: Person, group: string) {
  const { data } = await read<{ data: Member[] }>(send(server, who, "GET", `${group}/members`), 200);
  return Object.fromEntries(data.map(({ username, read_message_id }) => [username, read_message_id]));
}

async function readers(server: Place, who: Person, message: string, query = ""): Promise<string[]> {
  const path = `/v1/messages/${message}/readers${query}`;
  return (await read<{ data: Reader[] }>(send(server, who, "GET", path), 200)).data.map(
    (each) => each.username,
  );
}

onEachEngine("members see how far others have read, unless they read privately", async (server) => {
  const { ann, bob, cat, conversation, group } = await trio(server);
  const [first, second] = [
    await say(server, ann, conversation, "1"),
    await say(server, ann, conversation, "2"),
  ];
  assert.deepEqual(await positions(server, ann, group), {
    [ann.name]: null,
    [bob.name]: null,
    [cat.name]: null,
  });
  await mark(server, bob, conversation, first);
  await mark(server, cat, conversation, second, true);
  for (const who of [ann, bob, cat]) {
    const seen = { [ann.name]: null, [bob.name]: first, [cat.name]: null };
    assert.deepEqual(await positions(server, who, group), seen);
    assert.deepEqual(await readers(server, who, first), [bob.name]);
    assert.deepEqual(await readers(server, who, second), []);
  }
  await mark(server, cat, conversation, first);
  assert.equal((await positions(server, bob, group))[cat.name], first);
  await mark(server, cat, conversation, second);
  await mark(server, ann, conversation, second);
  assert.deepEqual(
    await readers(server, ann, first),
    [cat.name, bob.name],
    "newest first, without the sender",
  );
  assert.deepEqual(await readers(server, ann, second), [cat.name]);
  assert.deepEqual(await readers(server, ann, first, "?limit=1"), [cat.name]);
  assert.deepEqual(await readers(server, ann, first, `?starting_after=${cat.id}`), [bob.name]);
  assert.deepEqual(await readers(server, ann, first, `?ending_before=${bob.id}`), [cat.name]);
  await done(send(server, cat, "DELETE", group));
  assert.deepEqual(await readers(server, ann, first), [bob.name], "who leaves takes the position along");
});

onEachEngine("read positions in a group do not depend on blocks and hidden messages", async (server) => {
  const { ann, bob, cat, conversation, group } = await trio(server);
  const seen = await say(server, bob, conversation, "all see it");
  await done(send(server, cat, "PUT", `/v1/blocks/${bob.name}`));
  const withheld = await say(server, bob, conversation, "Cat does not see it");
  const last = await say(server, ann, conversation, "Cat sees it");
  await mark(server, cat, conversation, last);
  assert.equal(
    await code(send(server, cat, "GET", `/v1/messages/${withheld}/readers`), 404),
    "message_not_found",
  );
  assert.equal((await positions(server, bob, group))[cat.name], last);
  for (const message of [seen, withheld]) assert.deepEqual(await readers(server, bob, message), [cat.name]);
  await done(send(server, cat, "DELETE", `/v1/messages/${seen}?for=me`));
  assert.deepEqual(await readers(server, bob, seen), [cat.name]);
  await mark(server, bob, conversation, last);
  assert.deepEqual(
    await readers(server, cat, last),
    [cat.name, bob.name],
    "a blocker sees those of the blocked user",
  );
});

onEachEngine("a new member neither sees earlier read positions nor counts as a reader", async (server) => {
  const { ann, bob, conversation, group } = await trio(server);
  const before = await say(server, ann, conversation, "before");
  await mark(server, bob, conversation, before);
  const dan = await person(server, `dan of ${ann.name}`);
  await add(server, dan, ann.name);
  await read(send(server, ann, "POST", `${group}/members`, { username: dan.name }), 201);
  await read(send(server, dan, "POST", `${group}/join`), 200);
  const after = await say(server, ann, conversation, "after");
  await mark(server, dan, conversation, after);
  assert.equal((await positions(server, dan, group))[bob.name], null);
  assert.equal((await positions(server, ann, group))[bob.name], before);
  assert.equal(
    await code(send(server, dan, "GET", `/v1/messages/${before}/readers`), 404),
    "message_not_found",
  );
  assert.deepEqual(await readers(server, ann, before), [bob.name]);
  assert.deepEqual(await readers(server, ann, after), [dan.name]);
});

onEachEngine(
  "with history all, a new member sees earlier read positions, and counts as a reader",
  async (server) => {
    const { ann, bob, conversation, group } = await trio(server, { history: "all" });
    const before = await say(server, ann, conversation, "before");
    await mark(server, bob, conversation, before);
    const dan = await person(server, `dan of ${ann.name}`);
    await add(server, dan, ann.name);
    await read(send(server, ann, "POST", `${group}/members`, { username: dan.name }), 201);
    await read(send(server, dan, "POST", `${group}/join`), 200);
    assert.equal((await positions(server, dan, group))[bob.name], before);
    await mark(server, dan, conversation, before);
    assert.deepEqual(await readers(server, dan, before), [dan.name, bob.name]);
  },
);

onEachEngine("a contact is a reader exactly if contact_read_id shows it", async (server) => {
  const { ann, bob, conversation, contact, back } = await pair(server);
  const message = await say(server, ann, conversation, "1");
  assert.deepEqual(await readers(server, ann, message), []);
  await mark(server, bob, conversation, message);
  for (const who of [ann, bob]) assert.deepEqual(await readers(server, who, message), [bob.name]);
  await done(send(server, ann, "PUT", `/v1/contacts/${contact}/block`));
  assert.deepEqual(await readers(server, ann, message), [bob.name]);
  await done(send(server, bob, "PUT", `/v1/contacts/${back}/block`));
  assert.deepEqual(await readers(server, ann, message), [], "a blocker discloses nothing");
  await done(send(server, bob, "DELETE", `/v1/contacts/${back}/block`));
  assert.deepEqual(await readers(server, ann, message), [bob.name]);
  await done(send(server, bob, "DELETE", `/v1/contacts/${back}`));
  assert.deepEqual(await readers(server, ann, message), []);
});
