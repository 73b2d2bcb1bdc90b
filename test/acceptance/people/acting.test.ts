// Acting for users needs a scope that no token has by default.
import { test } from "node:test";
import { call, faulty, fresh, json, me, problem } from "../client.ts";

test("a token without act_as sends no request as another user, not even as its own", async () => {
  const { id } = await me();
  for (const name of [id, "username:nobody", "x"])
    problem(await call("GET", "/v1/me", { headers: { "parley-act-as": name } }), 403, "insufficient_scope");
});

test("a token without act_as neither connects users nor puts them into groups", async () => {
  const username = fresh("name");
  const contact = json({ username, mutual: true });
  problem(await call("POST", "/v1/contacts", contact), 403, "insufficient_scope");
  const group = json({ name: "Climbing", members: [username], joined: true });
  problem(await call("POST", "/v1/groups", group), 403, "insufficient_scope");
});

test("without mutual a contact needs a phone number", async () => {
  for (const more of [{}, { mutual: false }])
    faulty(
      await call("POST", "/v1/contacts", json({ username: fresh("name"), ...more })),
      "phone_number",
      "missing_parameter",
    );
});
