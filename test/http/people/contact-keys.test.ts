// A start updates search keys of contacts that an older rule created.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createApp } from "../../../src/app.ts";
import { createToken } from "../../../src/core/people/tokens.ts";
import { raw, sql } from "../../../src/db/sql.ts";
import { startOn } from "../../support/app.ts";
import { asker, type Json } from "../../support/asker.ts";
import { type Engine, oldConfig, type Rows } from "../../support/old-databases.ts";

/** The last versions whose search keys had accents. */
const BEFORE = { sqlite: 19, postgres: 16 };
const PEOPLE = 1203;

/** Returns contacts as stored then. Only the last ones have other keys now. */
function rowsOf(): Rows {
  const own = `cnv_${"0".repeat(26)}`;
  const rows: Rows = [
    ["users", { id: "usr_1", username: "ann", username_key: "ann", conversation_id: own, created_at: 1 }],
    ["storage", { user_id: "usr_1", used: 0 }],
    ["members", { user_id: "usr_1", conversation_id: own, joined_at: 1 }],
  ];
  for (let i = 0; i < PEOPLE; i++) {
    const isLast = i >= PEOPLE - 3;
    const username = `${isLast ? "josé" : "bob"} ${i}`;
    const phone_number = isLast ? `0049 171 ٥٥٥${i}` : `+1 555 ${i}`;
    const number = String(i).padStart(26, "0");
    const [id, conversation_id] = [`con_${number}`, `cnv_1${number.slice(1)}`];
    const contact = { id, username, phone_number, avatar_url: null, display_name: null, conversation_id };
    const body = JSON.stringify({ ...contact, last_active_at: null, created_at: 1 });
    const phone_digits = phone_number.replaceAll(/[^0-9]/g, "");
    const keys = { username_key: username, phone_digits, search_key: ` ${username}` };
    rows.push(["contacts", { owner_id: "usr_1", id, ...keys, conversation_id, version: 1, body }]);
  }
  return rows;
}

for (const [engine, version] of Object.entries(BEFORE) as [Engine, number][]) {
  test(`${engine}: contacts of an older schema are found without accents, and by digits of any script`, async (t) => {
    const config = await oldConfig(t, engine, version, rowsOf());
    const app = await createApp(config);
    const { token } = await createToken(app.core, null, "usr_1", {});
    await app.stop();
    const server = await startOn(t, config);
    const ask = asker(server, { id: "usr_1", token, headers: { authorization: `Bearer ${token}` } });
    const find = async (query: string) =>
      ((await ask("GET", `/v1/contacts?${query}`)).body.data as Json[]).map(({ username }) => username);
    const last = [1202, 1201, 1200].map((i) => `josé ${i}`);
    assert.deepEqual(await find("q=jose"), last);
    assert.deepEqual(await find(`q=${encodeURIComponent("JOSÉ 120")}`), last);
    assert.deepEqual(await find("q=0171555120"), last);
    assert.deepEqual(await find("phone_number=%2B491715551201"), ["josé 1201"]);
    assert.deepEqual(await find("phone_number=1555700"), ["bob 700"]);

    const { db } = server.app.core;
    const keysOf = () =>
      db.get<{ search_key: string }>(sql`SELECT search_key FROM contacts WHERE username_key = 'josé 1201'`);
    const contact = { ownerId: "usr_1", id: `con_${"1201".padStart(26, "0")}` };
    const keys = { body: "{}", searchKey: " late", phoneDigits: "1" };
    await db.write("setContactKeys", { contacts: [{ ...contact, ...keys }] });
    assert.equal((await keysOf())?.search_key, " jose 1201", "it has changed since");
    assert.deepEqual((await db.all(sql`SELECT rule FROM ${raw("name_rule")}`)).length, 1);
  });
}
