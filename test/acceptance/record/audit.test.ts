// The filters of the audit trail, for a token with the scope admin.
import assert from "node:assert/strict";
import { test } from "node:test";
import { call, form, me, newContact } from "../client.ts";

async function findActions(query: Record<string, string>): Promise<string[]> {
  const reply = await call("GET", `/v1/audit?${new URLSearchParams({ limit: "100", ...query })}`);
  assert.equal(reply.status, 200, reply.text);
  return (reply.json as { data: { action: string }[] }).data.map(({ action }) => action);
}

test("audit entries about a contact are found by its id, the actor and the action", async (t) => {
  if ((await call("GET", "/v1/audit?limit=1")).status === 403)
    return t.skip("a token without the scope admin cannot read the audit trail");
  const { id, created_at } = await newContact();
  assert.equal((await call("PUT", `/v1/contacts/${id}`, form({ display_name: "Ada" }))).status, 200);
  const actor_id = (await me()).id;
  const about = { object_id: id, created_from: `${created_at - 1}` };
  const [renamed, created] = ["contact.renamed", "contact.created"];
  for (const [query, expected] of [
    [about, [renamed, created]],
    [{ ...about, actor_id, actions: created }, [created]],
    [{ ...about, actor_id: "usr_00000000000000000000000000" }, []],
    [{ object_id: id, created_before: `${created_at - 60}` }, []],
    [{ q: `${id} ada` }, [renamed]],
  ] as [Record<string, string>, string[]][])
    assert.deepEqual(await findActions(query), expected, JSON.stringify(query));
  for (const query of ["actor_id=ada", "object_id=", "actions=contact.eaten", "created_from=today"])
    assert.equal((await call("GET", `/v1/audit?${query}`)).status, 400, query);
});
