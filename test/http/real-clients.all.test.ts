// Requests of real clients that deviate slightly from the documentation.
import assert from "node:assert/strict";
import { test } from "node:test";
import { startApp, type TestApp, type TestUser } from "../support/app.ts";
import { asker, type Json } from "../support/asker.ts";
import { say } from "../support/people.ts";

const ALL = ["admin", "contacts:read", "contacts:write", "messages:read", "messages:write"] as const;
const MORE = ["groups:read", "groups:write", "attachments:read", "attachments:write", "events:read"] as const;

async function begin(server: TestApp): Promise<{ user: TestUser; ask: ReturnType<typeof asker> }> {
  const user = await server.user({ scopes: [...ALL, ...MORE] });
  return { user, ask: asker(server, user) };
}

const namesOf = ({ body }: { body: Json }) => (body.data as Json[]).map(({ username }) => username);

test("null for an optional field means none in creates", async (t) => {
  const server = await startApp(t);
  const { user, ask } = await begin(server);
  const { conversation_id } = (await ask("GET", "/v1/me")).body;
  const creates: [path: string, required: object, optional: string[]][] = [
    ["/v1/contacts", { username: "ada", phone_number: "555" }, ["avatar_url", "display_name", "blocked"]],
    ["/v1/users", { username: "eve" }, ["phone_number", "display_name", "avatar_url"]],
    ["/v1/tokens", { user_id: user.id }, ["scopes", "expires_at", "name"]],
    [
      "/v1/messages",
      { conversation_id, text: "a" },
      ["data", "mentions", "reply_to_id", "client_id", "strip_metadata"],
    ],
    ["/v1/groups", { name: "g" }, ["description", "avatar_url", "history", "members"]],
    ["/v1/webhooks", { url: "https://example.com/" }, ["events", "all_users"]],
  ];
  for (const [path, required, optional] of creates) {
    const nulls = Object.fromEntries(optional.map((name) => [name, null]));
    const { status, body } = await ask("POST", path, { ...required, ...nulls });
    assert.equal(status, 201, `${path} ${JSON.stringify(body)}`);
    const [name] = Object.keys(required);
    const refused = await ask("POST", path, { ...required, [name!]: null });
    assert.deepEqual([refused.status, refused.body.param], [400, name]);
  }
  const group = (await ask("GET", "/v1/groups")).body.data as Json[];
  const change = await ask("PUT", `/v1/groups/${group[0]!.id}`, { name: null });
  assert.deepEqual([change.status, change.body.param], [400, "name"]);
});

test("phone numbers have digits of any script, and an unencoded +", async (t) => {
  const server = await startApp(t);
  const { ask } = await begin(server);
  const add = (form: string) => ask("POST", "/v1/contacts", form);
  for (const [name, number, kept] of [
    ["persian", encodeURIComponent("+۹۸ ۲۱ ۱۲۳۴۵۶۷"), "+۹۸ ۲۱ ۱۲۳۴۵۶۷"],
    ["plus", "+15550100", "+15550100"],
    ["bengali", encodeURIComponent("০১৭১১২২৩৩৪৪"), "০১৭১১২২৩৩৪৪"],
    ["german", "0049-171-5550100", "0049-171-5550100"],
    ["national", "0171+5550100", "0171 5550100"],
  ]) {
    const { status, body } = await add(`username=${name}&phone_number=${number}`);
    assert.deepEqual([status, body.phone_number], [201, kept], JSON.stringify(body));
  }
  const find = async (query: string) => namesOf(await ask("GET", `/v1/contacts?${query}`));
  for (const [query, names] of [
    ["phone_number=+15550100", ["plus"]],
    ["phone_number=15550100", ["plus"]],
    ["phone_number=00982112%D9%A3%D9%A4567", ["persian"]],
    ["phone_number=+49+171+5550100", ["german"]],
    [`q=${encodeURIComponent("٢١ ١٢٣")}`, ["persian"]],
    ["q=01711", ["bengali"]],
    ["q=+49+171+5550100", ["national", "german"]],
    ["q=0171-5550100", ["national", "german"]],
    ["q=%2B43+171+5550100", ["national"]],
  ] as const)
    assert.deepEqual(await find(query), names, query);
});

test('the usernames "." and ".." are refused', async (t) => {
  const server = await startApp(t);
  const { ask } = await begin(server);
  for (const username of [".", ".."]) {
    for (const [path, body] of [
      ["/v1/users", { username }],
      ["/v1/contacts", { username, phone_number: "555" }],
    ] as const) {
      const { status, body: problem } = await ask("POST", path, body);
      assert.deepEqual([status, problem.param], [400, "username"]);
      assert.match(String(problem.detail), /not "\." or "\.\."/);
    }
    const invited = await ask("POST", "/v1/groups", { name: ".", members: [username] });
    assert.deepEqual([invited.status, invited.body.param], [400, "members"]);
  }
});

test("a text of invisible characters is empty", async (t) => {
  const server = await startApp(t);
  const { user, ask } = await begin(server);
  const conversation_id = String((await ask("GET", "/v1/me")).body.conversation_id);
  const id = await say(server, user, conversation_id, "a");
  for (const text of [" ", "\n\t ", "\u200b", "\u2060\ufeff", "\u3164", "\u2800", "\ufe0f\u200d"]) {
    for (const [method, path, body] of [
      ["POST", "/v1/messages", { conversation_id, text }],
      ["PUT", `/v1/messages/${id}`, { text }],
    ] as const) {
      const { status, body: problem } = await ask(method, path, body);
      assert.deepEqual(
        [status, problem.code, problem.param],
        [400, "missing_parameter", "text"],
        JSON.stringify(text),
      );
    }
    const withData = await ask("POST", "/v1/messages", { conversation_id, text, data: { a: 1 } });
    assert.deepEqual([withData.status, withData.body.text], [201, null]);
  }
});

test("an id of another kind is answered with the expected prefix", async (t) => {
  const server = await startApp(t);
  const { ask } = await begin(server);
  const con = "con_01h455vb4pex5vsknk084sn02q";
  const own = { conversation_id: (await ask("GET", "/v1/me")).body.conversation_id };
  const CASES: [method: string, path: string, body: object | undefined, detail: string][] = [
    ["GET", `/v1/messages?conversation_id=${con}`, undefined, "a conversation begins with cnv_"],
    ["POST", "/v1/messages", { conversation_id: con, text: "a" }, "a conversation begins with cnv_"],
    ["POST", "/v1/messages", { ...own, text: "a", reply_to_id: con }, "a message begins with msg_"],
    [
      "PUT",
      `/v1/conversations/${own.conversation_id}/read`,
      { message_id: con },
      "a message begins with msg_",
    ],
    ["POST", "/v1/tokens", { user_id: con }, "a user begins with usr_"],
    ["GET", `/v1/attachments?conversation_id=${con}`, undefined, "a conversation begins with cnv_"],
  ];
  for (const [method, path, body, rule] of CASES) {
    const answer = await ask(method, path, body);
    assert.equal(answer.status, 404);
    assert.equal(answer.body.detail, `An id of ${rule}; con_ stands for a contact.`, path);
  }
  for (const path of [
    "/v1/messages?conversation_id=cnv_1",
    "/v1/messages?conversation_id=%3Cb%3E",
    `/v1/conversations/${con}`,
  ])
    assert.match(String((await ask("GET", path)).body.detail), /^The id is unknown or malformed/);
});

test("an unknown path names the nearest route, and does not repeat the request", async (t) => {
  const server = await startApp(t);
  const { ask } = await begin(server);
  for (const [path, nearest] of [
    ["/v1/contact", "/v1/contacts"],
    ["/v1/contacts/", "/v1/contacts"],
    ["/v1/conversation/x/read?a=1", "/v1/conversations/{conversation_id}/read"],
    ["/v1/webhook/x/test", "/v1/webhooks/{webhook_id}/test"],
    ["/v1/messages/x/reaction/%3Cb%3E", "/v1/messages/{message_id}/reactions/{emoji}"],
  ]) {
    const { status, body } = await ask("GET", path!);
    assert.deepEqual(
      [status, body.code, body.detail],
      [404, "route_not_found", `No resource has this path. The nearest one is ${nearest}.`],
    );
  }
  for (const path of ["/v1/nothing", `/v1/${"contacts/".repeat(800)}`, `/v1/${"x".repeat(8000)}`]) {
    const { status, body } = await ask("GET", path);
    assert.deepEqual(
      [status, body.detail],
      [404, "No resource has this path. Check it: the API is below /v1."],
    );
  }
});

test("malformed JSON is answered with line and column", async (t) => {
  const server = await startApp(t);
  const { user } = await begin(server);
  for (const [text, code, detail] of [
    ['{"username": "ada",\r\n  "phone_number": 5x}', "malformed_body", "line 2, column 19"],
    ['{"username": "é😀" "a"}', "malformed_body", "a comma or } at line 1, column 19"],
    ['{\n"username": "a",\n\n "username": "b"}', "repeated_parameter", "again at line 4, column 2"],
    ['{"display_name": {"a": 1, "a": 2}}', "invalid_parameter", "again at line 1, column 27"],
  ]) {
    const response = await fetch(`${server.url}/v1/contacts`, {
      method: "POST",
      headers: { ...user.headers, "content-type": "application/json" },
      body: text!,
    });
    const problem = (await response.json()) as Json;
    assert.deepEqual([response.status, problem.code], [400, code]);
    assert.ok(String(problem.detail).includes(detail!), String(problem.detail));
  }
});
