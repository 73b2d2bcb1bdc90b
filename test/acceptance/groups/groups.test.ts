// Groups as resources: fields, limits, lists, conditions and retries.
import assert from "node:assert/strict";
import { test } from "node:test";
import { call, faulty, form, fresh, isNow, json, location, problem, unknownLike, walk } from "../client.ts";
import { get, group, groups, leave, listMembers, newGroup, PATH } from "../in-groups.ts";

test("a group is created from JSON or a form with all its fields", async () => {
  const name = fresh("Bergsteiger ä 😀");
  const fields = { name, description: "On Sundays\n\tat nine", avatar_url: "https://example.com/g.png" };
  const reply = await call("POST", PATH, json({ ...fields, history: "all", members: [] }));
  const made = group(reply, 201);
  isNow(made.created_at);
  const { id, conversation_id, created_at: _, ...rest } = made;
  assert.deepEqual(rest, { ...fields, history: "all", role: "admin", invited_by: null, member_count: 1 });
  assert.equal(location(reply), `${PATH}/${id}`);
  assert.deepEqual(await get(id), made);
  const conversation = await call("GET", `/v1/conversations/${conversation_id}`);
  const { kind, group_id, name: shown, avatar_url } = conversation.json as Record<string, unknown>;
  assert.deepEqual([kind, group_id, shown, avatar_url], ["group", id, name, fields.avatar_url]);
  const body = new URLSearchParams({ name, description: "a\r\nb" });
  for (const username of [`${name} 1`, `${name} 2`, `${name} 2`.toUpperCase()])
    body.append("members", username);
  const second = group(await call("POST", PATH, form(body.toString())), 201);
  assert.deepEqual([second.description, second.history, second.member_count], ["a\nb", "joined", 1]);
  const invited = (await listMembers(second.id)).filter(({ role }) => role === "invited");
  assert.deepEqual(invited.map(({ username }) => username).sort(), [`${name} 1`, `${name} 2`]);
  for (const each of [id, second.id]) await leave(each);
  problem(await call("GET", `${PATH}/${id}`), 404, "group_not_found");
});

test("an invalid field of a group is refused and named", async () => {
  const name = fresh("group");
  const bad: [field: string, value: unknown][] = [
    ...["", " a", "a ", "\u200b", "a\u0007", "a\nb", "x".repeat(129), 5, null, ["a"]].map(
      (value): [string, unknown] => ["name", value],
    ),
    ...["a\u0000", "\u001b", "x".repeat(1001), 5].map((value): [string, unknown] => ["description", value]),
    ...["", "ftp://a.example/", "x", `https://a.example/${"x".repeat(2048)}`].map(
      (value): [string, unknown] => ["avatar_url", value],
    ),
    ...["", "none", "ALL"].map((value): [string, unknown] => ["history", value]),
    ...["ada", [""], ["ada", 5], [["ada"]], [" a"], ["\u200b"], ["x".repeat(129)], {}].map(
      (value): [string, unknown] => ["members", value],
    ),
    ...["role", "id", "conversation_id", "member_count", "Name", "__proto__x"].map(
      (field): [string, unknown] => [field, "x"],
    ),
  ];
  for (const [field, value] of bad) faulty(await call("POST", PATH, json({ name, [field]: value })), field);
  faulty(await call("POST", PATH, json({})), "name");
  faulty(await call("POST", PATH, form(`name=${name}&name=b`)), "name");
  faulty(await call("POST", `${PATH}?name=b`, json({ name })), "name");
  for (const query of ["limit=0", "limit=101", "limit=x", "starting_after=x", "ending_before=mem_1", "q=a"])
    faulty(await call("GET", `${PATH}?${query}`), query.split("=")[0]!);
  const made = await newGroup({ name: "😀".repeat(128), description: "ä".repeat(1000) });
  for (const [field, value] of [
    ["history", "all"],
    ["members", ["a"]],
    ["role", "member"],
    ["name", ""],
  ] as const)
    faulty(await call("PUT", `${PATH}/${made.id}`, json({ [field]: value })), field);
  assert.deepEqual(await get(made.id), made);
  await leave(made.id);
});

test("an unknown or malformed id is 404 in every route", async () => {
  const { id } = await newGroup();
  const memberId = (await listMembers(id))[0]!.id;
  for (const other of [unknownLike(id), "x", id.slice(0, -1), id.replace("grp_", "con_"), id.toUpperCase()]) {
    for (const [method, path, body] of [
      ["GET", "", undefined],
      ["PUT", "", json({ name: "a" })],
      ["DELETE", "", undefined],
      ["POST", "/join", undefined],
      ["GET", "/members", undefined],
      ["POST", "/members", json({ username: "a" })],
      ["PUT", `/members/${memberId}`, json({ role: "member" })],
      ["DELETE", `/members/${memberId}`, undefined],
    ] as const)
      problem(await call(method, `${PATH}/${other}${path}`, body), 404, "group_not_found");
  }
  for (const other of [unknownLike(memberId), "x", memberId.replace("mem_", "usr_")]) {
    const path = `${PATH}/${id}/members/${other}`;
    problem(await call("PUT", path, json({ role: "admin" })), 404, "member_not_found");
    problem(await call("DELETE", path), 404, "member_not_found");
  }
  await leave(id);
});

test("groups are listed newest first, with pages in both directions", async () => {
  const made: string[] = [];
  for (let n = 0; n < 5; n++) made.unshift((await newGroup()).id);
  const above = { cursor: "ending_before", from: made.at(-1)! } as const;
  const older = await walk(`${PATH}?limit=2`, groups, "starting_after");
  assert.deepEqual(
    older
      .flat()
      .map(({ id }) => id)
      .slice(0, 5),
    made,
  );
  const newer = await walk(`${PATH}?limit=3`, groups, above.cursor, above.from);
  assert.deepEqual(
    newer.map((page) => page.map(({ id }) => id)),
    [made.slice(1, 4), made.slice(0, 1)],
  );
  const page = await call("GET", `${PATH}?limit=2&starting_after=${made[1]}`);
  assert.deepEqual(
    groups(page).data.map(({ id }) => id),
    made.slice(2, 4),
  );
  await leave(made[2]!);
  const [next] = groups(await call("GET", `${PATH}?limit=1&starting_after=${made[2]}`)).data;
  assert.equal(next!.id, made[3], "a cursor outlives its group");
  const head = await call("HEAD", `${PATH}?limit=2`);
  assert.deepEqual([head.status, head.bytes.length], [200, 0]);
  for (const id of made) if (id !== made[2]) await leave(id);
});

test("a PUT changes only the fields it contains, and null or an empty text clears", async () => {
  const made = await newGroup({ description: "a", avatar_url: "https://example.com/g.png" });
  const path = `${PATH}/${made.id}`;
  const put = async (fields: object) => group(await call("PUT", path, json(fields)));
  assert.deepEqual(await put({}), made);
  const name = fresh("renamed");
  assert.deepEqual(await put({ name }), { ...made, name });
  assert.deepEqual(await put({ description: "", avatar_url: null }), {
    ...made,
    name,
    description: null,
    avatar_url: null,
  });
  const asForm = await call("PUT", path, form({ description: "b" }));
  assert.equal(group(asForm).description, "b");
  const list = await call("GET", `/v1/messages?conversation_id=${made.conversation_id}`);
  const said = (list.json as { data: { type: string; data: unknown }[] }).data;
  assert.deepEqual(
    said.map(({ type, data }) => [type, data]),
    [
      ["renamed", { name }],
      ["joined", null],
    ],
  );
  await leave(made.id);
});

test("If-None-Match and If-Match compare the version", async () => {
  const { id } = await newGroup();
  const path = `${PATH}/${id}`;
  const read = await call("GET", path);
  const etag = read.headers.get("etag")!;
  const head = await call("HEAD", path);
  assert.deepEqual([head.status, head.headers.get("etag"), head.bytes.length], [200, etag, 0]);
  assert.equal((await call("GET", path, { headers: { "if-none-match": etag } })).status, 304);
  const put = (tag: string, name: string) => {
    const { headers, body } = json({ name });
    return call("PUT", path, { body: body!, headers: { ...headers, "if-match": tag } });
  };
  problem(await put('"0"', "no"), 412, "precondition_failed");
  // Another member changes the representation, but not the version that admins change.
  await call("POST", `${path}/members`, json({ username: fresh("nobody") }));
  const changed = await put(etag, "second");
  assert.equal(group(changed).name, "second");
  assert.notEqual(changed.headers.get("etag"), etag);
  problem(await put(etag, "third"), 412, "precondition_failed");
  assert.equal((await call("GET", path, { headers: { "if-none-match": etag } })).status, 200);
  problem(await call("DELETE", path, { headers: { "if-match": etag } }), 412, "precondition_failed");
  const current = changed.headers.get("etag")!;
  assert.equal((await call("DELETE", path, { headers: { "if-match": current } })).status, 204);
});

test("an Idempotency-Key creates one group", async () => {
  const name = fresh("once");
  const headers = { "idempotency-key": crypto.randomUUID() };
  const create = (fields: object) => {
    const sent = json(fields);
    return call("POST", PATH, { ...sent, headers: { ...sent.headers, ...headers } });
  };
  const made = group(await create({ name, members: ["a", "b"] }), 201);
  const again = await create({ name, members: ["a", "b"] });
  assert.deepEqual(group(again, 201), made);
  assert.equal(again.headers.get("idempotent-replayed"), "true");
  problem(await create({ name, members: ["a"] }), 422, "idempotency_key_reused");
  problem(await create({ name: `${name} 2`, members: ["a", "b"] }), 422, "idempotency_key_reused");
  await leave(made.id);
  problem(await create({ name, members: ["a", "b"] }), 404, "group_not_found");
  const found = groups(await call("GET", `${PATH}?limit=100`)).data.filter((each) => each.name === name);
  assert.deepEqual(found, []);
});
