// Who sees which name, picture and change of it: the table of docs/sharing.md, cell by cell.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { createToken, SCOPES } from "../../../src/core/people/tokens.ts";
import { deleteUser } from "../../../src/core/people/users.ts";
import { hasRemains } from "../../../src/db/queries/upkeep/erasing.ts";
import type { TestApp } from "../../support/app.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { ENGINES, startOnEngine } from "../../support/on-engines.ts";
import { add, done, type Person, person, read, say, send } from "../../support/people.ts";
import { published } from "../../support/published.ts";

/** The columns of the table: what Bob gets, `–` if there is nothing to get. */
const CELLS = ["sender", "contact", "member", "event", "account"] as const;
type Cells = Record<(typeof CELLS)[number], string>;

interface Scene {
  server: TestApp;
  ann: Person;
  bob: Person;
  /** The id of a message of Ann that Bob has received. */
  message?: string;
  /** The id of a group that both have joined. */
  group?: string;
}

/** Makes the two contacts of each other. Bob receives a message of Ann. */
async function meet(scene: Scene): Promise<Record<"annHas" | "bobHas", string>> {
  const { server, ann, bob } = scene;
  const { id: annHas, conversation_id } = await add(server, ann, bob.name);
  const { id: bobHas } = await add(server, bob, ann.name);
  scene.message = await say(server, ann, conversation_id, "hello");
  return { annHas, bobHas };
}

/** Makes both members of a group of another user, which is all that they share. */
async function joinGroup(scene: Scene): Promise<void> {
  const { server, ann, bob } = scene;
  const cat = await person(server, `cat of ${ann.name}`);
  for (const who of [ann, bob]) await add(server, who, cat.name);
  const body = { name: "x", members: [ann.name, bob.name] };
  const { id } = await read<{ id: string }>(send(server, cat, "POST", "/v1/groups", body), 201);
  const joined = [ann, bob].map((who) =>
    read<{ conversation_id: string }>(send(server, who, "POST", `/v1/groups/${id}/join`), 200),
  );
  const [{ conversation_id }] = (await Promise.all(joined)) as [{ conversation_id: string }];
  scene.group = id;
  scene.message = await say(server, ann, conversation_id, "hello");
}

async function erase({ server, ann }: Scene): Promise<void> {
  const { core } = server.app;
  await deleteUser(core, null, ann.id);
  assert.ok(await eventually(async () => !(await hasRemains(core.db))));
}

type Row = [bob: string, sees: string, arrange: (scene: Scene) => Promise<unknown>, isLate?: true];

/** `isLate`: it happens after the change of Ann's profile. */
const ROWS: readonly Row[] = [
  [
    "is Ann herself",
    "yes – – yes yes",
    async (scene) => {
      const { server, ann } = scene;
      const me = await read<{ conversation_id: string }>(send(server, ann, "GET", "/v1/me"), 200);
      scene.bob = ann;
      scene.message = await say(server, ann, me.conversation_id, "note");
    },
  ],
  [
    "is a stranger with the scope `admin`",
    "– – – – yes",
    async (scene) => {
      const { server, bob } = scene;
      const { token } = await createToken(server.app.core, null, bob.id, { scopes: SCOPES });
      scene.bob = { ...bob, token, headers: { authorization: `Bearer ${token}` } };
    },
  ],
  ["is a stranger", "– – – – –", async () => {}],
  ["has Ann, who has not added him", "– null – – –", ({ server, ann, bob }) => add(server, bob, ann.name)],
  ["has not added Ann, who has him", "– – – – –", ({ server, ann, bob }) => add(server, ann, bob.name)],
  ["and Ann have each other", "yes yes – yes –", meet],
  [
    "is blocked by Ann",
    "yes null – yes –",
    async (scene) => {
      const { annHas } = await meet(scene);
      await done(send(scene.server, scene.ann, "PUT", `/v1/contacts/${annHas}/block`));
    },
  ],
  [
    "has blocked Ann",
    "yes yes – yes –",
    async (scene) => {
      const { bobHas } = await meet(scene);
      await done(send(scene.server, scene.bob, "PUT", `/v1/contacts/${bobHas}/block`));
    },
  ],
  [
    "keeps the conversation that Ann has left",
    "yes null – yes –",
    async (scene) => {
      const { annHas } = await meet(scene);
      await done(send(scene.server, scene.ann, "DELETE", `/v1/contacts/${annHas}`));
    },
  ],
  [
    "has deleted Ann, who has him",
    "– – – – –",
    async (scene) => {
      const { bobHas } = await meet(scene);
      await done(send(scene.server, scene.bob, "DELETE", `/v1/contacts/${bobHas}`));
    },
  ],
  ["is in a group with Ann", "yes – yes yes –", joinGroup],
  [
    "is in a group that Ann has left",
    "yes – – – –",
    async (scene) => {
      await joinGroup(scene);
      await done(send(scene.server, scene.ann, "DELETE", `/v1/groups/${scene.group}`));
    },
  ],
  [
    "deletes Ann after the change",
    "– – – id –",
    async (scene) => {
      const { bobHas } = await meet(scene);
      return () => done(send(scene.server, scene.bob, "DELETE", `/v1/contacts/${bobHas}`));
    },
    true,
  ],
  [
    "and Ann had each other, and she is erased",
    "null null – id –",
    async (scene) => {
      await meet(scene);
      return () => erase(scene);
    },
    true,
  ],
];

const PROFILE = { display_name: "Ann Example", avatar_url: "https://example.com/ann.png" };
type Shown = { id: string; display_name?: string | null; profile_name?: string | null; avatar_url?: string };

/** Returns the word of a cell. */
function toWord(
  shown: Shown | null | undefined,
  name: "display_name" | "profile_name" = "display_name",
): string {
  if (shown === undefined) return "–";
  if (shown === null || (name in shown && shown[name] === null && shown.avatar_url === null)) return "null";
  if (!(name in shown)) return "id";
  assert.deepEqual([shown[name], shown.avatar_url], [PROFILE.display_name, PROFILE.avatar_url]);
  return "yes";
}

async function look({ server, ann, bob, message, group }: Scene): Promise<Cells> {
  const find = async <T>(path: string): Promise<T | undefined> => {
    const answer = await send(server, bob, "GET", path);
    if (answer.ok) return (await answer.json()) as T;
    assert.ok([403, 404].includes(answer.status), `${path}: ${answer.status}`);
    return undefined;
  };
  const sent = message && (await find<{ sender: Shown | null }>(`/v1/messages/${message}`));
  const named = `/v1/contacts?username=${encodeURIComponent(ann.name)}`;
  const contacts = await find<{ data: Shown[] }>(named);
  const members =
    group && (await find<{ data: (Shown & { user_id: string })[] }>(`/v1/groups/${group}/members`));
  const events = await find<{ data: { payload: Shown }[] }>("/v1/events?types=user.updated");
  const account = await find<Shown>(bob === ann ? "/v1/me" : `/v1/users/${ann.id}`);
  return {
    sender: toWord(sent ? sent.sender : undefined),
    contact: toWord(contacts!.data[0], "profile_name"),
    member: toWord(members ? members.data.find(({ user_id }) => user_id === ann.id) : undefined),
    event: toWord(events!.data.map(({ payload }) => payload).find(({ id }) => id === ann.id)),
    account: toWord(account),
  };
}

for (const engine of ENGINES) {
  test(`everybody sees of a profile what docs/sharing.md says (${engine})`, async (t) => {
    const server = await startOnEngine(t, engine);
    for (const [i, [who, sees, arrange, isLate]] of ROWS.entries())
      await t.test(`Bob ${who}`, async () => {
        const [ann, bob] = [await person(server, `ann${i}`), await person(server, `bob${i}`)];
        const scene: Scene = { server, ann, bob };
        const later = await arrange(scene);
        await read(send(server, ann, "PUT", "/v1/me", { ...PROFILE, phone_number: "555", data: {} }), 200);
        await published(server);
        if (isLate) await (later as () => Promise<void>)();
        assert.equal(Object.values(await look(scene)).join(" "), sees);
      });
  });
}

test("docs/sharing.md has the table", async () => {
  const page = await readFile(new URL("../../../docs/sharing.md", import.meta.url), "utf8");
  const at = page.indexOf("## Profiles");
  const rows = page
    .slice(at, page.indexOf("\n## ", at + 1))
    .split("\n")
    .filter((line) => line.startsWith("| "));
  const cells = (line: string) => line.slice(2, -2).split(" | ");
  assert.deepEqual(
    rows.slice(1).map((line) => cells(line).join(" | ")),
    ROWS.map(([who, sees]) => [who, ...sees.split(" ")].join(" | ")),
  );
});
