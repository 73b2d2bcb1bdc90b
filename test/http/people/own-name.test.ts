// A contact of the own username is refused; one that an earlier release created keeps working.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createToken } from "../../../src/core/people/tokens.ts";
import { startOn } from "../../support/app.ts";
import { oldConfig, type Rows } from "../../support/old-databases.ts";
import { onEachEngine } from "../../support/on-engines.ts";
import { done, person, read, say, send } from "../../support/people.ts";

interface Problem {
  code: string;
  param: string;
  existing_id?: string;
}

onEachEngine(
  "a contact of the own username is refused, also among others at the same moment",
  async (server) => {
    const ann = await person(server, "Ann");
    const create = (username: string) =>
      send(server, ann, "POST", "/v1/contacts", { username, phone_number: "+1 555" });
    const names = ["bob", "ANN", "cat", "ann", "ａｎｎ", "dan"];
    const answers = await Promise.all(names.map(create));
    assert.deepEqual(
      answers.map(({ status }) => status),
      [201, 400, 201, 400, 400, 201],
    );
    const { code, param } = (await answers[1]!.json()) as Problem;
    assert.deepEqual([code, param], ["invalid_parameter", "username"]);
    const { data } = await read<{ data: unknown[] }>(send(server, ann, "GET", "/v1/contacts"), 200);
    assert.equal(data.length, 3);
  },
);

const OWN = { id: `con_${"0".repeat(26)}`, conversation_id: `cnv_${"1".repeat(26)}` };

/** The rows of a user with such a contact, in 0.1.0. */
function rowsOf(): Rows {
  const fields = { username: "ann", phone_number: "555", avatar_url: null, display_name: null };
  const body = JSON.stringify({
    ...{ id: OWN.id, ...fields, conversation_id: OWN.conversation_id, last_active_at: null, created_at: 1 },
  });
  const user = { id: "usr_1", username: "ann", username_key: "ann", conversation_id: "cnv_2", created_at: 1 };
  const keys = { username_key: "ann", phone_digits: "555", search_key: " ann" };
  return [
    ["users", user],
    ["storage", { user_id: "usr_1", used: 0 }],
    ["contacts", { owner_id: "usr_1", ...OWN, ...keys, version: 1, body }],
    ["members", { user_id: "usr_1", conversation_id: OWN.conversation_id, joined_at: 1, contact_id: OWN.id }],
  ];
}

for (const [engine, version] of [
  ["sqlite", 21],
  ["postgres", 19],
] as const) {
  test(`${engine}: an existing contact of the own username works until it is deleted`, async (t) => {
    const server = await startOn(t, await oldConfig(t, engine, version, rowsOf()));
    const { token } = await createToken(server.app.core, null, "usr_1", {});
    const ann = { id: "usr_1", token, headers: { authorization: `Bearer ${token}` } };
    const path = `/v1/contacts/${OWN.id}`;
    const shown = await read<{ username: string }>(send(server, ann, "GET", path), 200);
    assert.equal(shown.username, "ann");
    const message = await say(server, ann, OWN.conversation_id, "to myself");
    const readers = await read<{ data: [] }>(
      send(server, ann, "GET", `/v1/messages/${message}/readers`),
      200,
    );
    assert.deepEqual(readers.data, []);
    const again = () =>
      send(server, ann, "POST", "/v1/contacts", { username: "ann", phone_number: "+1 555" });
    assert.equal((await read<Problem>(again(), 409)).existing_id, OWN.id);
    await done(send(server, ann, "DELETE", path));
    assert.equal((await read<Problem>(again(), 400)).code, "invalid_parameter");
  });
}
