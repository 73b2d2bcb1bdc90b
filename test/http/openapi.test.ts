import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { type TestContext, test } from "node:test";
import { SCOPES } from "../../src/core/people/tokens.ts";
import { catalogue } from "../../src/errors.ts";
import { buildOpenApi, type Examples } from "../../src/http/openapi/document.ts";
import { toOpenApi30 } from "../../src/http/openapi/openapi-30.ts";
import { groups } from "../../src/http/routes/operations.ts";
import { startOn, type TestApp, type TestUser, testConfig, upload } from "../support/app.ts";

const FILE = new URL("../../src/http/openapi/openapi.json", import.meta.url);
const SMALL_FILE = new URL("openapi-3.0.json", FILE);

/** The fields of a POST in the document that tests read. */
interface PostDescription {
  operationId: string;
  parameters: { name: string; in: string; schema: { pattern: string } }[];
  responses: Record<
    number,
    { headers: Record<string, object>; content: Record<string, { examples: Record<string, object> }> }
  >;
}

/** Returns the same bytes in each run, so that the document's examples stay the same. */
function steadyRandom(): (bytes: Uint8Array) => void {
  let round = 0;
  return (bytes) => {
    for (let at = 0; at < bytes.length; at += 32) {
      bytes.set(
        createHash("sha256")
          .update(`${round++}`)
          .digest()
          .subarray(0, bytes.length - at),
        at,
      );
    }
  };
}

async function json(
  server: TestApp,
  user: TestUser,
  method: string,
  path: string,
  body?: object,
): Promise<unknown> {
  const response = await fetch(`http://127.0.0.1:${server.app.port()}${path}`, {
    method,
    headers: { ...user.headers, ...(body ? { "content-type": "application/json" } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  assert.ok(response.ok, `${method} ${path}: ${response.status}`);
  return response.status === 204 ? undefined : response.json();
}

/** A fixed key, because each database has a different one. */
const PUSH_KEY = { push_public_key: `BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIg${"A".repeat(43)}` };

/** Sends a request of each operation to a real server, whose clock stands still, and returns the answers. */
async function realAnswers(t: TestContext): Promise<Examples> {
  const base = await testConfig(t, { requestsPerSecond: 500 });
  const config = { ...base, publicUrl: "http://127.0.0.1:8080", secrets: ["s".repeat(32)] };
  const clock = () => Date.UTC(2026, 10, 21, 12);
  const server = await startOn(t, config, { clock, random: steadyRandom() });
  const user = await server.user();
  const grace = {
    username: "grace",
    phone_number: "+15550101",
    avatar_url: "https://example.com/grace.png",
    display_name: "Grace",
  };
  const contact = (await json(server, user, "POST", "/v1/contacts", grace)) as Made;
  const address = `http://127.0.0.1:${server.app.port()}`;
  const uploaded = await upload(address, user, new File(["hello\n"], "hello.txt", { type: "text/plain" }));
  const attachment = (await uploaded.json()) as { id: string };
  const contactPath = `/v1/contacts/${contact.id}`;
  const attachmentPath = `/v1/attachments/${attachment.id}`;
  const rename = { display_name: "Grace H." };
  const newName = { filename: "greeting.txt" };
  return {
    ...(await adminsAnswers(server)),
    createContact: { request: grace, body: contact },
    listContacts: { body: await json(server, user, "GET", "/v1/contacts") },
    retrieveContact: { body: await json(server, user, "GET", contactPath) },
    updateContact: { request: rename, body: await json(server, user, "PUT", contactPath, rename) },
    createAttachment: { body: attachment },
    listAttachments: { body: await json(server, user, "GET", "/v1/attachments") },
    retrieveAttachment: { body: await json(server, user, "GET", attachmentPath) },
    updateAttachment: { request: newName, body: await json(server, user, "PUT", attachmentPath, newName) },
    createArchive: {
      request: { attachment_ids: [attachment.id] },
      body: await json(server, user, "POST", "/v1/archives", { attachment_ids: [attachment.id] }),
    },
    ...(await messageAnswers(server, user, contact.conversation_id)),
    retrieveMe: { body: Object.assign((await json(server, user, "GET", "/v1/me")) as object, PUSH_KEY) },
    ...(await pushAnswers(server, user)),
    // Last, because deliveries take random numbers at any time.
    ...(await webhookAnswers(server, user)),
  };
}

/** The fields of a created resource that these tests use. */
interface Made {
  id: string;
  conversation_id: string;
}

async function messageAnswers(server: TestApp, user: TestUser, conversation: string): Promise<Examples> {
  const hello = { conversation_id: conversation, text: "Hello Grace" };
  const message = (await json(server, user, "POST", "/v1/messages", hello)) as Made;
  const path = `/v1/messages/${message.id}`;
  const retrieved = await json(server, user, "GET", path);
  const edit = { text: "Hello, Grace!" };
  return {
    createMessage: { request: hello, body: message },
    retrieveMessage: { body: retrieved },
    updateMessage: { request: edit, body: await json(server, user, "PUT", path, edit) },
    listMessages: {
      body: await json(server, user, "GET", `/v1/messages?conversation_id=${conversation}&limit=1`),
    },
  };
}

async function pushAnswers(server: TestApp, user: TestUser): Promise<Examples> {
  const device = {
    endpoint: "https://push.example.com/send/f7Hk2cQ",
    // The keys of RFC 8291, section 5.
    p256dh: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
    auth: "BTBZMqHH6r4Tts7J_aSIgg",
  };
  const subscription = (await json(server, user, "POST", "/v1/push_subscriptions", device)) as Made;
  return {
    createPushSubscription: { request: device, body: subscription },
    listPushSubscriptions: { body: await json(server, user, "GET", "/v1/push_subscriptions") },
    retrievePushSubscription: {
      body: await json(server, user, "GET", `/v1/push_subscriptions/${subscription.id}`),
    },
  };
}

/** Returns the answers of webhooks, after everything else that takes random numbers. */
async function webhookAnswers(server: TestApp, user: TestUser): Promise<Examples> {
  const wanted = { url: "https://receiver.invalid/hook", events: ["attachment.created"] };
  const webhook = (await json(server, user, "POST", "/v1/webhooks", wanted)) as { id: string };
  const path = `/v1/webhooks/${webhook.id}`;
  const disable = { enabled: false };
  const listed = await json(server, user, "GET", "/v1/webhooks");
  const retrieved = await json(server, user, "GET", path);
  const rotated = await json(server, user, "POST", `${path}/secret`);
  const test = await json(server, user, "POST", `${path}/test`);
  return {
    createWebhook: { request: wanted, body: webhook },
    listWebhooks: { body: listed },
    retrieveWebhook: { body: retrieved },
    rotateWebhookSecret: { body: rotated },
    updateWebhook: { request: disable, body: await json(server, user, "PUT", path, disable) },
    testWebhook: { body: test },
    // As created, because the delivery may or may not be sent by now.
    listDeliveries: { body: { has_more: false, data: [test] } },
  };
}

/** Returns the answers of operations that need the scope `admin`. */
async function adminsAnswers(server: TestApp): Promise<Examples> {
  const admin = await server.user({ scopes: SCOPES });
  const barbara = { username: "barbara", phone_number: "+15550103", display_name: "Barbara" };
  const user = (await json(server, admin, "POST", "/v1/users", barbara)) as { id: string };
  const phone = { user_id: user.id, scopes: ["contacts:read", "attachments:read"], name: "phone" };
  const token = (await json(server, admin, "POST", "/v1/tokens", phone)) as { id: string; token: string };
  const get = async (path: string) => ({ body: await json(server, admin, "GET", path) });
  return {
    createUser: { request: barbara, body: user },
    listUsers: await get("/v1/users?limit=1"),
    retrieveUser: await get(`/v1/users/${user.id}`),
    createToken: { request: phone, body: token },
    listTokens: await get(`/v1/tokens?user_id=${user.id}`),
    findToken: {
      request: { token: token.token },
      body: await json(server, admin, "POST", "/v1/token_search", { token: token.token }),
    },
    retrieveToken: await get(`/v1/tokens/${token.id}`),
    listAudit: await get("/v1/audit?limit=2"),
  };
}

test("openapi.json equals the document of the code, with real answers as examples", async (t) => {
  const { version } = JSON.parse(await readFile(new URL("../../package.json", import.meta.url), "utf8"));
  const document = buildOpenApi(groups, version, await realAnswers(t));
  const made = `${JSON.stringify(document, null, 2)}\n`;
  const small = `${JSON.stringify(toOpenApi30(JSON.parse(made)), null, 1)}\n`;
  if (process.env.UPDATE_OPENAPI) {
    await writeFile(FILE, made);
    await writeFile(SMALL_FILE, small);
  }
  assert.equal(await readFile(FILE, "utf8"), made, "Make it anew: npm run openapi");
  assert.equal(await readFile(SMALL_FILE, "utf8"), small, "Make it anew: npm run openapi");
});

type JsonSchema = Record<string, unknown>;

/** Validates a value by the few keywords of JSON Schema that the schemas of answers use. */
function conforms(schemas: Record<string, JsonSchema>, schema: JsonSchema, value: unknown): boolean {
  if (typeof schema.$ref === "string")
    return conforms(schemas, schemas[schema.$ref.split("/").at(-1)!]!, value);
  const types = [schema.type].flat();
  const type =
    value === null
      ? "null"
      : Array.isArray(value)
        ? "array"
        : Number.isInteger(value)
          ? "integer"
          : typeof value;
  if (!types.includes(type)) return false;
  if (Array.isArray(schema.enum) && !schema.enum.includes(value)) return false;
  if (typeof schema.pattern === "string" && !new RegExp(schema.pattern).test(value as string)) return false;
  if (type === "array")
    return (value as unknown[]).every((item) => conforms(schemas, schema.items as typeof schema, item));
  // An object without fixed members.
  if (type !== "object" || schema.properties === undefined) return true;
  const properties = schema.properties as Record<string, typeof schema>;
  const members = Object.entries(value as object);
  const missing = (schema.required as string[]).filter((name) => !Object.hasOwn(value as object, name));
  return (
    missing.length === 0 &&
    members.every(([name, each]) => properties[name] && conforms(schemas, properties[name], each))
  );
}

test("every example in openapi.json conforms to its schema", async () => {
  const { paths, components } = JSON.parse(await readFile(FILE, "utf8"));
  const { schemas } = components;
  let checked = 0;
  const check = (schema: object, value: object) => {
    assert.ok(conforms(schemas, { ...schema }, value), JSON.stringify(value));
    assert.ok(!conforms(schemas, { ...schema }, { ...value, more: 1 }));
    checked++;
  };
  for (const { value } of Object.values(components.examples) as { value: object }[])
    check(schemas.Problem, value);
  for (const operation of Object.values(paths).flatMap((path) => Object.values(path as object))) {
    for (const response of Object.values(operation.responses) as { content?: object }[]) {
      for (const { schema, example } of Object.values(response.content ?? {})) {
        if (example) check(schema, example);
      }
    }
  }
  assert.equal(checked, Object.keys(components.examples).length + 32);
});

test("every POST that stores something documents Idempotency-Key and its errors", async () => {
  const { paths } = JSON.parse(await readFile(FILE, "utf8"));
  const all = Object.values(paths as Record<string, { post?: PostDescription }>);
  const { posts = [], others = [] } = Object.groupBy(
    all.flatMap(({ post }) => post ?? []),
    ({ operationId }) => (/announceTyping|createArchive|findToken/.test(operationId) ? "others" : "posts"),
  );
  assert.doesNotMatch(JSON.stringify(others), /idempoten/i);
  assert.deepEqual([others.length, posts.length], [3, 14]);
  for (const { operationId, parameters, responses } of posts) {
    const key = parameters.find(({ name }) => name === "Idempotency-Key");
    assert.equal(key?.in, "header", operationId);
    const form = new RegExp(key.schema.pattern, "u");
    for (const text of ["a-Z~!", "x".repeat(255)]) assert.match(text, form);
    for (const text of ["a b", "é", "", "x".repeat(256)]) assert.doesNotMatch(text, form);
    assert.ok((responses[201] ?? responses[200])!.headers["Idempotent-Replayed"], operationId);
    assert.ok(responses[409]!.headers["Retry-After"], operationId);
    const [conflicts, refused] = [409, 422].map((status) =>
      Object.keys(responses[status]!.content["application/problem+json"]!.examples).join(),
    ) as [string, string];
    assert.match(conflicts, /idempotency_in_progress/, operationId);
    assert.match(refused, /^idempotency_key_reused(,metadata_not_removable)?(,file_infected)?$/, operationId);
  }
});

test("openapi.json has the headers of real answers", async (t) => {
  const server = await startOn(t, await testConfig(t, { requestsPerSecond: 5, uploadsPerUser: 0 }), {
    clock: () => 0,
  });
  const { paths, components } = JSON.parse(await readFile(FILE, "utf8"));
  const common = ["request-id", "x-content-type-options"];
  const rates = ["ratelimit", "ratelimit-policy"];
  const contact = JSON.stringify({ username: "ada", phone_number: "555" });
  const once = { "idempotency-key": "k", "content-type": "application/json" };
  const create = { headers: once, body: contact };
  const asked: [status: number, names: string[], request: string, route: string, more?: RequestInit][] = [
    [200, rates, "GET /v1/me", "/v1/me"],
    [200, rates, "GET /v1/contacts", "/v1/contacts"],
    [200, [...rates, "last-event-id"], "GET /v1/events", "/v1/events"],
    [201, [...rates, "etag", "location"], "POST /v1/contacts", "/v1/contacts", create],
    [201, [...rates, "etag", "location", "idempotent-replayed"], "POST /v1/contacts", "/v1/contacts", create],
    [404, rates, "GET /v1/contacts/con_x", "/v1/contacts/{contact_id}"],
    [429, [...rates, "retry-after"], "POST /v1/attachments", "/v1/attachments"],
    [429, [...rates, "retry-after"], "GET /v1/me", "/v1/me"],
    [200, [], "GET /healthz", "/healthz"],
  ];
  const user = await server.user();
  for (const [status, names, line, route, { headers, body } = {}] of asked) {
    const [method = "", path = ""] = line.split(" ");
    let answer: Response;
    // The clock stands still, so enough requests use up the burst of the rate.
    do
      answer = await fetch(server.url + path, {
        ...{ method, headers: { ...user.headers, ...headers }, body: body ?? null },
      });
    while (status === 429 && path === "/v1/me" && answer.status === 200);
    assert.equal(answer.status, status, path);
    const described: Record<string, { $ref: string }> =
      paths[route][method.toLowerCase()].responses[status].headers;
    const known = Object.keys(described).map((name) => name.toLowerCase());
    for (const name of [...common, ...names]) {
      assert.ok(answer.headers.has(name), `${path}: ${name}`);
      assert.ok(known.includes(name), `${status} of ${path} has no ${name} in the document`);
    }
    for (const { $ref } of Object.values(described))
      assert.ok(components.headers[$ref.split("/").at(-1)!], $ref);
  }
});

test("openapi.json lists all error codes, and both JSON lines types", async () => {
  const { paths, components } = JSON.parse(await readFile(FILE, "utf8"));
  assert.deepEqual(components.schemas.Problem.properties.code.enum, Object.keys(catalogue));
  assert.deepEqual(Object.keys(paths["/v1/audit"].get.responses[200].content), [
    "application/json",
    "application/jsonl",
    "application/x-ndjson",
  ]);
});

test("every operation of openapi.json is served", async (t) => {
  const server = await startOn(t, await testConfig(t));
  const document = (await (await fetch(`${server.url}/openapi.json`)).json()) as {
    paths: Record<string, object>;
  };
  const user = await server.user();
  for (const [path, methods] of Object.entries(document.paths)) {
    const response = await fetch(server.url + path.replace(/{\w+}/g, "x"), {
      method: "PROPFIND",
      headers: user.headers,
    });
    const allowed = response.headers
      .get("allow")
      ?.split(", ")
      // Neither is an operation of the document: OPTIONS returns the features of resumable uploads.
      .filter((method) => method !== "HEAD" && method !== "OPTIONS");
    assert.equal(response.status, 405, path);
    assert.deepEqual(
      allowed?.sort(),
      Object.keys(methods)
        .map((method) => method.toUpperCase())
        .sort(),
      path,
    );
  }
});
