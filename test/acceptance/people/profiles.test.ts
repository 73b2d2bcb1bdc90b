// The caller's own profile: `PUT /v1/me`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { call, faulty, json, type Message, problem } from "../client.ts";

const PATH = "/v1/me";
const EMPTY = { display_name: null, avatar_url: null, phone_number: null, data: null };
type Profile = { [K in keyof typeof EMPTY]: unknown };

const profileOf = ({ display_name, avatar_url, phone_number, data }: Profile): Profile => ({
  ...{ display_name, avatar_url, phone_number, data },
});

test("a user sets and clears the own profile, which the sender of a message shows", async (t) => {
  t.after(() => call("PUT", PATH, json(EMPTY)));
  const profile = {
    display_name: "Ada Lovelace",
    avatar_url: "https://example.com/ada.png",
    phone_number: "+15550100",
    data: { plan: "pro" },
  };
  const updated = await call("PUT", PATH, json(profile));
  assert.equal(updated.status, 200, updated.text);
  assert.deepEqual(profileOf(updated.json as Profile), profile);
  const me = (await call("GET", PATH)).json as Profile & { conversation_id: string };
  assert.deepEqual(profileOf(me), profile);
  const { conversation_id } = me;
  const sent = (await call("POST", "/v1/messages", json({ conversation_id, text: "x" }))).json as Message;
  assert.equal(sent.sender!.display_name, "Ada Lovelace");
  await call("PUT", PATH, json({ display_name: "Ada" }));
  const { sender } = (await call("GET", `/v1/messages/${sent.id}`)).json as Message;
  assert.deepEqual([sender!.display_name, sender!.avatar_url], ["Ada", profile.avatar_url]);
  assert.deepEqual(profileOf((await call("PUT", PATH, json(EMPTY))).json as Profile), EMPTY);
});

test("a profile that another request has changed is 412", async () => {
  const etag = String((await call("GET", PATH)).headers.get("etag"));
  const headers = { "if-none-match": etag };
  assert.equal((await call("GET", PATH, { headers })).status, 304);
  const stale = { headers: { ...json({}).headers, "if-match": '"999999"' }, body: '{"display_name":"x"}' };
  problem(await call("PUT", PATH, stale), 412, "precondition_failed");
});

test("names are 1 to 100 characters, and the username cannot be changed", async () => {
  for (const display_name of ["", " ", "x".repeat(101), 1])
    faulty(await call("PUT", PATH, json({ display_name })), "display_name", "invalid_parameter");
  faulty(await call("PUT", PATH, json({ data: [] })), "data", "invalid_parameter");
  faulty(await call("PUT", PATH, json({ username: "x" })), "username", "unknown_parameter");
});
