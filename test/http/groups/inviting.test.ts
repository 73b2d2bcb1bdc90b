// Inviting reveals nothing: answers and costs are the same for every name.
import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { startApp, type TestApp } from "../../support/app.ts";
import { startCounted } from "../../support/engines/counting.ts";
import type { Counts } from "../../support/engines/postgres-proxy.ts";
import { add, type Person, person, send } from "../../support/people.ts";

/** Names of equal length, by what their users are to the inviter. */
const KINDS = "contact knowing unknown blocker exclude nobody1 decline".split(" ");
/** Headers that differ for each request. */
const PASSING = /^(?:date|request-id|location|etag|ratelimit)$/;

interface Answer {
  status: number;
  headers: [string, string][];
  body: string;
}

/** Creates a user of each kind, and returns the inviter. */
async function makePeople(server: TestApp): Promise<Person> {
  const ann = await person(server, "ann");
  for (const kind of KINDS.filter((each) => each !== "nobody1")) {
    const other = await person(server, kind);
    // Ann knows her contacts. Users who have Ann as a contact see her invitations.
    if (kind === "contact" || kind === "blocker") await add(server, ann, kind);
    if (kind !== "unknown" && kind !== "exclude") await add(server, other, "ann");
    if (kind === "blocker" || kind === "exclude") await send(server, other, "PUT", "/v1/blocks/ann");
    if (kind !== "decline") continue;
    const { id } = await groupOf(server, ann, { name: "x", members: [kind] });
    assert.equal((await send(server, other, "DELETE", `/v1/groups/${id}`)).status, 204);
  }
  return ann;
}

async function groupOf(server: TestApp, who: Person, fields: object): Promise<{ id: string }> {
  const answer = await send(server, who, "POST", "/v1/groups", fields);
  assert.equal(answer.status, 201);
  return (await answer.json()) as { id: string };
}

async function plain(answer: Response, name: string): Promise<Answer> {
  const body = await answer.text();
  return {
    status: answer.status,
    headers: [...answer.headers].filter(([header]) => !PASSING.test(header)),
    body: body
      .replaceAll(name, "name")
      .replaceAll(/_[0-7][0-9a-z]{25}/g, "_id")
      .replace(/"created_at":\d+/g, '"created_at":0'),
  };
}

/** Returns all requests that an inviter can send about a name. */
function stepsOf(server: TestApp, ann: Person, group: string, name: string) {
  const members = `/v1/groups/${group}/members`;
  return {
    invite: () => send(server, ann, "POST", members, { username: name }),
    again: () => send(server, ann, "POST", members, { username: name.toUpperCase() }),
    list: () => send(server, ann, "GET", members),
    async withdraw() {
      const { data } = (await (await send(server, ann, "GET", members)).json()) as { data: { id: string }[] };
      return send(server, ann, "DELETE", `${members}/${data[0]!.id}`);
    },
    create: () => send(server, ann, "POST", "/v1/groups", { name: "x", members: [name] }),
  };
}

test("sqlite: inviting answers the same for a contact, a stranger, a blocker and nobody", async (t) => {
  const server = await startApp(t);
  const ann = await makePeople(server);
  const answers: Record<string, Answer[]> = {};
  for (const kind of KINDS) {
    const { id } = await groupOf(server, ann, { name: "x" });
    answers[kind] = [];
    for (const step of Object.values(stepsOf(server, ann, id, kind)))
      answers[kind].push(await plain(await step(), kind));
  }
  for (const kind of KINDS) assert.deepEqual(answers[kind], answers.nobody1, kind);
  assert.deepEqual(
    answers.nobody1!.map(({ status }) => status),
    [201, 201, 200, 204, 201],
  );
});

test("postgres: inviting takes the same statements, round trips and answers for everybody", async (t) => {
  const { server, count } = await startCounted(t);
  const ann = await makePeople(server);
  const { id } = await groupOf(server, ann, { name: "x" });
  const least: Record<string, Record<string, Counts>> = {};
  const isEven = () => KINDS.every((kind) => isDeepStrictEqual(least[kind], least.nobody1));
  // Other work on the wire adds counts and never removes any.
  for (let round = 0; round < 4 || (round < 25 && !isEven()); round++) {
    const answers: Record<string, Answer[]> = {};
    for (const kind of KINDS) {
      least[kind] ??= {};
      answers[kind] = [];
      for (const [name, step] of Object.entries(stepsOf(server, ann, id, kind))) {
        answers[kind].push(await plain(await count(least[kind], name, step), kind));
      }
    }
    for (const kind of KINDS) assert.deepEqual(answers[kind], answers.nobody1, kind);
  }
  for (const kind of KINDS) assert.deepEqual(least[kind], least.nobody1, kind);
  t.diagnostic(JSON.stringify(least.nobody1));
});
