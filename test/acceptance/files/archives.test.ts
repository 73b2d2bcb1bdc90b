import assert from "node:assert/strict";
import { test } from "node:test";
import { unzip } from "../../support/zip.ts";
import { call, json, newContact, problem, type Reply, unknownLike } from "../client.ts";
import { needsSecond, second, target } from "../target.ts";
import { pair, theirs } from "../two-users.ts";
import { disposition, newAttachment } from "../upload.ts";

const KEYS = ["url", "filename", "file_count", "size", "expires_at"];
const PATH = "/v1/archives";

interface Archive {
  url: string;
  filename: string;
  file_count: number;
  size: number;
  expires_at: number;
}

function archive(reply: Reply): Archive {
  assert.equal(reply.status, 201, reply.text);
  const body = reply.json as Archive;
  assert.deepEqual(Object.keys(body), KEYS);
  const { pathname, searchParams } = new URL(body.url);
  assert.ok(pathname.endsWith(`/archives/${body.filename}`), pathname);
  assert.equal(Number(searchParams.get("expires")), body.expires_at);
  const left = body.expires_at - Date.now() / 1000;
  assert.ok(left > 3300 && left < 7500, `${left} seconds`);
  return body;
}

async function names(reply: Reply): Promise<[string, string][]> {
  assert.equal(reply.status, 200, reply.text);
  return unzip(reply.bytes).map(({ name, bytes }) => [name, bytes.toString()]);
}

const follow = (url: string, method = "GET") => call(method, url, { token: null });

test("an archive contains the requested files and opens without a token", async () => {
  const [one, two] = [
    await newAttachment({ name: "Grüße 🎉.txt", bytes: "hello" }),
    await newAttachment({ name: "large.bin", bytes: Buffer.alloc(300_000, "parley") }),
  ];
  const ids = { attachment_ids: [two.id, one.id] };
  const made = archive(await call("POST", PATH, json(ids)));
  assert.equal(made.file_count, 2);
  const reply = await follow(made.url);
  assert.equal(reply.bytes.length, made.size);
  assert.deepEqual(await names(reply), [
    ["large.bin", "parley".repeat(50_000)],
    ["Grüße 🎉.txt", "hello"],
  ]);
  assert.equal(reply.headers.get("content-type"), "application/zip");
  assert.deepEqual(disposition(reply), { type: "attachment", filename: made.filename });
  assert.match(reply.headers.get("cache-control")!, /\bprivate\b/);
  assert.equal(reply.headers.get("content-security-policy"), "default-src 'none'; sandbox");
  const head = await follow(made.url, "HEAD");
  assert.deepEqual(
    [head.status, head.headers.get("content-length"), head.text],
    [200, String(made.size), ""],
  );
  for (const method of ["POST", "PUT", "DELETE"]) problem(await follow(made.url, method), 405);
});

test("a deleted file is left out, and an archive without files is 404", async () => {
  const [one, two] = [await newAttachment({ name: "1" }), await newAttachment({ name: "2", bytes: "two" })];
  const { url } = archive(await call("POST", PATH, json({ attachment_ids: [one.id, two.id] })));
  await call("DELETE", `/v1/attachments/${one.id}`);
  assert.deepEqual(await names(await follow(url)), [["2", "two"]]);
  await call("DELETE", `/v1/attachments/${two.id}`);
  problem(await follow(url), 404, "attachment_not_found");
  problem(await call("POST", PATH, json({ attachment_ids: [two.id] })), 404, "attachment_not_found");
});

test("an archive of a conversation contains what each member sees", { skip: needsSecond }, async () => {
  const conversation_id = await pair();
  const query = `?conversation_id=${conversation_id}`;
  await newAttachment({ name: "a.txt", bytes: "1", query });
  await newAttachment({ name: "a.txt", bytes: "2", query, token: second() });
  for (const token of [target.token, second()]) {
    const made = archive(await call("POST", PATH, { ...json({ conversation_id }), token }));
    assert.deepEqual(await names(await follow(made.url)), [
      ["a.txt", "1"],
      ["a (2).txt", "2"],
    ]);
  }
});

test("archives answer 404 for another user's files", { skip: needsSecond }, async () => {
  const { id } = await newAttachment();
  const { conversation_id } = await newContact();
  for (const [code, mine, nobodys] of [
    ["attachment_not_found", { attachment_ids: [id] }, { attachment_ids: [unknownLike(id)] }],
    ["conversation_not_found", { conversation_id }, { conversation_id: unknownLike(conversation_id) }],
  ] as const) {
    const [foreign, missing] = [
      problem(await call("POST", PATH, { ...json(mine), ...theirs() }), 404, code),
      problem(await call("POST", PATH, { ...json(nobodys), ...theirs() }), 404, code),
    ];
    assert.deepEqual({ ...foreign, request_id: "" }, { ...missing, request_id: "" });
  }
});

test("a changed link is 403", async () => {
  const { id } = await newAttachment();
  const { url } = archive(await call("POST", PATH, json({ attachment_ids: [id] })));
  for (const [name, value] of [
    ["signature", "nonsense"],
    ["files", "x"],
    ["user", "usr_01h455vb4pex5vsknk084sn02q"],
    ["expires", "99999999999"],
  ] as const) {
    const changed = new URL(url);
    changed.searchParams.set(name, value);
    problem(await follow(changed.href), 403, "invalid_signature");
  }
});
