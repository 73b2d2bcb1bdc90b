// Groups with rows in every table of groups, and what each of their users sees.
import assert from "node:assert/strict";
import type { TestUser } from "./app.ts";
import { eventually } from "./files-on-disk.ts";
import { add, code, filesOf, give, type Person, type Place, read, say, send } from "./people.ts";

interface Group {
  id: string;
  conversation_id: string | null;
}

export interface Grouped {
  people: Record<"ann" | "bob" | "cat" | "dan" | "eve", Person>;
  /** New members see only messages sent after they joined. */
  recent: Group;
  /** New members see all messages. Dan is invited. */
  whole: Group;
}

const PAGE = "limit=100";

async function newPerson(server: Place, admin: TestUser, name: string): Promise<Person> {
  const { id } = await read<{ id: string }>(
    send(server, admin, "POST", "/v1/users", { username: name }),
    201,
  );
  const made = read<{ token: string }>(send(server, admin, "POST", "/v1/tokens", { user_id: id }), 201);
  const { token } = await made;
  return { id, name, token, headers: { authorization: `Bearer ${token}` } };
}

/**
 * Creates two groups, with members of both roles, one removed member and one who came back, system messages, files, and
 * messages that a block withholds. Invitations are open, declined, by two inviters, and to a name without a user.
 */
export async function fillGroups(server: Place, admin: TestUser): Promise<Grouped> {
  const [ann, bob, cat, dan, eve] = [
    await newPerson(server, admin, "ann"),
    await newPerson(server, admin, "bob"),
    await newPerson(server, admin, "cat"),
    await newPerson(server, admin, "dan"),
    await newPerson(server, admin, "eve"),
  ];
  for (const each of [bob, cat, dan, eve]) await add(server, each, "ann");
  const post = <T>(who: TestUser, path: string, body?: object, status = 201) =>
    read<T>(send(server, who, "POST", `/v1/groups${path}`, body), status);
  const join = (who: TestUser, { id }: Group) => post<Group>(who, `/${id}/join`, undefined, 200);
  const end = async (who: TestUser, path: string) =>
    assert.equal((await send(server, who, "DELETE", `/v1/groups/${path}`)).status, 204);

  const about = { name: "Recent", description: "Sundays\nat nine", avatar_url: "https://example.com/a.png" };
  const recent = await post<Group>(ann, "", { ...about, members: ["bob", "cat", "dan", "eve", "nobody"] });
  const talk = recent.conversation_id!;
  for (const who of [bob, cat, dan]) await join(who, recent);
  await end(eve, recent.id);
  const { data } = await read<{ data: { id: string; username: string }[] }>(
    send(server, ann, "GET", `/v1/groups/${recent.id}/members`),
    200,
  );
  const seat = (name: string) => `${recent.id}/members/${data.find(({ username }) => username === name)!.id}`;
  await read(send(server, ann, "PUT", `/v1/groups/${seat("bob")}`, { role: "admin" }), 200);
  await post(bob, `/${recent.id}/members`, { username: "nobody" });
  await read(send(server, bob, "PUT", `/v1/groups/${recent.id}`, { name: "Recent times" }), 200);
  await say(server, dan, talk, "from Dan");
  await give(server, bob, talk, "from-bob.txt");
  await end(ann, seat("dan"));
  await end(cat, recent.id);
  await post(ann, `/${recent.id}/members`, { username: "cat" });
  await join(cat, recent);
  assert.equal((await send(server, cat, "PUT", "/v1/blocks/bob")).status, 204);
  await say(server, bob, talk, "withheld from Cat");
  await say(server, ann, talk, "unread", { mentions: [cat.id] });

  const whole = await post<Group>(ann, "", { name: "Whole", history: "all", members: ["bob", "cat"] });
  await join(bob, whole);
  for (const who of [ann, bob]) {
    await say(server, who, whole.conversation_id!, `early, from ${who.name}`);
    await give(server, who, whole.conversation_id!, `${who.name}.txt`);
  }
  await join(cat, whole);
  await post(ann, `/${whole.id}/members`, { username: "dan" });
  // Grants of the joined members are written after the answer.
  const counts = async () =>
    (await Promise.all([ann, bob, cat, dan].map((who) => filesOf(server, who)))).map(({ length }) => length);
  const isSettled = async () => (await counts()).join() === "3,3,1,0";
  assert.ok(await eventually(isSettled), String(await counts()));
  return { people: { ann, bob, cat, dan, eve }, recent, whole };
}

/** Returns everything that the users see of their groups, without links, which are signed anew. */
export async function groupsOf(server: Place, { people }: Grouped): Promise<unknown> {
  const seen = Object.values(people).map(async (who) => {
    const list = async <T = unknown>(path: string) =>
      (await read<{ data: T[] }>(send(server, who, "GET", path), 200)).data;
    const groups = await list<Group>(`/v1/groups?${PAGE}`);
    const joined = groups.filter((group) => group.conversation_id !== null);
    return {
      name: who.name,
      groups,
      members: await Promise.all(joined.map(({ id }) => list(`/v1/groups/${id}/members?${PAGE}`))),
      messages: await Promise.all(
        joined.map((group) => list(`/v1/messages?conversation_id=${group.conversation_id}&${PAGE}`)),
      ),
      conversations: await list(`/v1/conversations?${PAGE}`),
      files: await filesOf(server, who),
      blocks: await list("/v1/blocks"),
    };
  });
  return JSON.parse(JSON.stringify(await Promise.all(seen)), (key, value) =>
    key === "file_url" ? undefined : value,
  );
}

/** Asserts that the groups still work: invitations are open or declined as before, and history is unchanged. */
export async function assertGroupsGoOn(server: Place, { people, recent, whole }: Grouped): Promise<void> {
  const { ann, dan, eve } = people;
  const invite = send(server, ann, "POST", `/v1/groups/${recent.id}/members`, { username: "eve" });
  await read(invite, 201);
  assert.equal(await code(send(server, eve, "GET", `/v1/groups/${recent.id}`), 404), "group_not_found");
  await read(send(server, dan, "POST", `/v1/groups/${whole.id}/join`), 200);
  const query = `/v1/messages?conversation_id=${whole.conversation_id}&${PAGE}`;
  const { data } = await read<{ data: { text: string | null }[] }>(send(server, dan, "GET", query), 200);
  const texts = data.map(({ text }) => text);
  for (const name of ["ann", "bob"]) assert.ok(texts.includes(`early, from ${name}`), String(texts));
}
