// Conditional requests and digests.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { sharedApp, startApp, type TestApp, upload } from "../support/app.ts";
import { asker } from "../support/asker.ts";
import { type Reply, request, row, type Scenario, scenarios } from "../support/scenarios.ts";

const open = sharedApp();
const ADA = { username: "ada", phone_number: "555" };
const CONTACT = "/v1/contacts/<contact>";

async function scene(server: TestApp) {
  const user = await server.user();
  const { body, headers } = await asker(server, user)("POST", "/v1/contacts", ADA);
  const etag = headers.get("etag")!;
  const unchanged = async () =>
    assert.equal((await asker(server, user)("GET", `/v1/contacts/${body.id}`)).headers.get("etag"), etag);
  return { server, people: { user }, ids: { contact: body.id, etag }, unchanged };
}

type Row = Scenario<"user", Awaited<ReturnType<typeof scene>>>;
const NEW = { display_name: "new" };
const OTHER_TAGS = ['"9"', "W/<etag>", "9", '""', ""];

scenarios(open, scene, [
  ...["<etag>", "W/<etag>", '"x", <etag>', "*"].map((tags) =>
    row(`If-None-Match: ${tags} is 304 without a body`, `GET ${CONTACT}`, 304, {
      headers: { "if-none-match": tags },
      answerHeaders: { etag: "<etag>" },
    }),
  ),
  row("HEAD checks If-None-Match", `HEAD ${CONTACT}`, 304, { headers: { "if-none-match": "<etag>" } }),
  row("If-None-Match with another ETag is 200", `GET ${CONTACT}`, 200, {
    headers: { "if-none-match": '"x"' },
  }),
  ...OTHER_TAGS.flatMap((tags): Row[] => [
    [
      `If-Match: ${tags} is 412 for an update and changes nothing`,
      `PUT ${CONTACT}`,
      412,
      {
        headers: { "if-match": tags },
        body: NEW,
        // Parley never sends this tag, so a proxy changed it.
        answer: {
          code: "precondition_failed",
          detail: tags === '"9"' ? /^(?!.*proxy)/ : /proxy that compresses/,
        },
        after: ({ unchanged }) => unchanged(),
      },
    ],
    [`If-Match: ${tags} is 412 for a delete`, `DELETE ${CONTACT}`, 412, { headers: { "if-match": tags } }],
  ]),
  ...['"9", <etag>', "*"].map(
    (tags): Row => [
      `If-Match: ${tags} lets an update through, with a new ETag`,
      `PUT ${CONTACT}`,
      200,
      {
        headers: { "if-match": tags },
        body: NEW,
        events: { user: "contact.updated" },
        after: ({ ids }, { headers }) => assert.notEqual(headers.get("etag"), ids.etag),
      },
    ],
  ),
  [
    "If-Match: * deletes",
    `DELETE ${CONTACT}`,
    204,
    { headers: { "if-match": "*" }, events: { user: "contact.deleted" } },
  ],
  row("If-Match of a missing resource is 404", "PUT /v1/contacts/con_x", 404, {
    headers: { "if-match": "*" },
    body: NEW,
  }),
  row("a read checks If-Match", `GET ${CONTACT}`, 412, { headers: { "if-match": '"9"' } }),
  row("a read with a matching If-Match is 200", `GET ${CONTACT}`, 200, { headers: { "if-match": "<etag>" } }),
  [
    "a write refuses If-None-Match",
    `PUT ${CONTACT}`,
    412,
    { headers: { "if-none-match": "*" }, body: NEW, after: ({ unchanged }) => unchanged() },
  ],
  [
    "one of eight writers with the same If-Match succeeds",
    `PUT ${CONTACT}`,
    412,
    {
      headers: { "if-match": "<etag>" },
      body: NEW,
      async before({ server, people: { user }, ids }) {
        const writes = Array.from({ length: 7 }, (_, i) =>
          request(server, user, `PUT /v1/contacts/${ids.contact}`, {
            headers: { "if-match": ids.etag },
            body: { display_name: `${i}` },
          }),
        );
        const statuses = (await Promise.all(writes)).map(({ status }: Reply) => status);
        assert.deepEqual(statuses.sort(), [200, ...Array(6).fill(412)]);
      },
    },
  ],
  row("a wrong Content-Digest of fields is 400", "POST /v1/contacts", 400, {
    headers: { "content-digest": sha256("other") },
    body: "username=grace&phone_number=555",
  }),
  [
    "a right Content-Digest of fields is accepted",
    "POST /v1/contacts",
    201,
    {
      headers: { "content-digest": sha256("username=grace&phone_number=555") },
      body: "username=grace&phone_number=555",
      events: { user: "contact.created" },
    },
  ],
]);

function sha256(bytes: string | Buffer): string {
  return `sha-256=:${createHash("sha256").update(bytes).digest("base64")}:`;
}

test("the ETag of an attachment changes with its link, and If-Match ignores that", async (t) => {
  let now = Date.UTC(2026, 0, 1, 12, 30);
  const server = await startApp(t, {}, { clock: () => now });
  const user = await server.user();
  const made = await upload(server.url, user, new File(["x"], "a.txt"));
  const [path, etag] = [made.headers.get("location")!, made.headers.get("etag")!];
  const call = (method: string, headers: Record<string, string>, body?: object) =>
    request(server, user, `${method} ${path}`, { headers, ...(body && { body }) });
  assert.equal((await call("GET", { "if-none-match": etag })).status, 304);
  now += 3_600_000;
  const later = await call("GET", { "if-none-match": etag });
  assert.equal(later.status, 200);
  assert.notEqual(later.headers.get("etag"), etag);
  const renamed = await call("PUT", { "if-match": etag }, { filename: "b.txt" });
  assert.equal(renamed.status, 200);
  assert.equal((await call("DELETE", { "if-match": etag })).status, 412);
  assert.equal((await call("DELETE", { "if-match": renamed.headers.get("etag")! })).status, 204);
});

test("Repr-Digest of a download is of the whole file, even of a range", async () => {
  const server = await open();
  const made = await upload(server.url, await server.user(), new File(["hello"], "a.txt"));
  const { file_url } = (await made.json()) as { file_url: string };
  for (const headers of [{}, { range: "bytes=1-2" }])
    assert.equal((await fetch(file_url, { headers })).headers.get("repr-digest"), sha256("hello"));
});

test("an upload with a wrong Content-Digest is 400 and leaves nothing", async () => {
  const server = await open();
  const user = await server.user();
  const send = (outer: string | undefined, inner: string | undefined) => {
    const digest = inner ? `Content-Digest: ${inner}\r\n` : "";
    const part = `Content-Disposition: form-data; name="file"; filename="a"\r\n${digest}`;
    const body = `--b\r\n${part}\r\nhello\r\n--b--\r\n`;
    const headers = {
      ...{ ...user.headers, "content-type": "multipart/form-data; boundary=b" },
      ...(outer && { "content-digest": outer === "right" ? sha256(body) : outer }),
    };
    return fetch(`${server.url}/v1/attachments`, { method: "POST", headers, body });
  };
  const wrong = sha256("other");
  const cases: [string | undefined, string | undefined, number, string?][] = [
    ["right", undefined, 201],
    [undefined, sha256("hello"), 201],
    ["right", `sha-512=:AAAA:, ${sha256("hello")}`, 201],
    [wrong, undefined, 400, "digest_mismatch"],
    [undefined, wrong, 400, "digest_mismatch"],
    ["right", wrong, 400, "digest_mismatch"],
    ["sha-512=:AAAA:", undefined, 400, "invalid_parameter"],
    [undefined, "sha-256=nonsense", 400, "invalid_parameter"],
  ];
  for (const [outer, inner, status, code] of cases) {
    const response = await send(outer, inner);
    assert.equal(response.status, status, `${outer} ${inner}`);
    if (code) assert.equal(((await response.json()) as { code: string }).code, code);
  }
  const { body } = await asker(server, user)("GET", "/v1/attachments");
  assert.equal((body.data as unknown[]).length, 3);
});
