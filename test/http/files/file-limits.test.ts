// How many files a user may upload per day, and of which types, on both engines and by each request that creates files.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Limits } from "../../../src/config/limits.ts";
import { startApp, type TestApp, upload } from "../../support/app.ts";
import { eventually, storedFiles } from "../../support/files-on-disk.ts";
import { ENGINES, startOnEngine } from "../../support/on-engines.ts";
import { code, filesOf, type Person, person, read, send } from "../../support/people.ts";
import { assertHas } from "../../support/scenarios.ts";

const DAY_MS = 24 * 3600_000;
const PNG = Buffer.from("89504e470d0a1a0a0000000d4948445200000001000000010806000000", "hex");
const JPEG = Buffer.from("ffd8ffe000104a46494600010100000100010000", "hex");
/** Too large for the database. */
const LARGE = 50_000;

function give(server: TestApp, who: Person, name = "a.txt", bytes: Buffer = Buffer.from("text")) {
  return upload(server.url, who, new File([Uint8Array.from(bytes)], name));
}

/** Sends a message with these files. */
function tell(server: TestApp, who: Person, conversation: string, files: File[], key?: string) {
  const form = new FormData();
  form.set("conversation_id", conversation);
  for (const file of files) form.append("file", file);
  const headers = { ...who.headers, ...(key ? { "idempotency-key": key } : {}) };
  return fetch(`${server.url}/v1/messages`, { method: "POST", headers, body: form });
}

const text = (name: string) => new File(["text"], name);

async function notes(server: TestApp, who: Person): Promise<string> {
  const me = await read<{ conversation_id: string }>(send(server, who, "GET", "/v1/me"), 200);
  return me.conversation_id;
}

for (const name of ENGINES) {
  const start = (t: TestContext, limits: Partial<Limits>, clock = Date.now) =>
    startOnEngine(t, name, limits, { clock });

  test(`${name}: one file more than the daily limit is 429, until midnight UTC`, async (t) => {
    let now = Date.UTC(2026, 0, 1, 23, 59, 0);
    const server = await start(t, { filesPerDay: 3 }, () => now);
    const [ann, bob] = [await person(server, "ann"), await person(server, "bob")];
    await read(give(server, ann), 201);
    await read(give(server, ann, "large", Buffer.alloc(LARGE, "x")), 201);
    const conversation = await notes(server, ann);
    // Both files or none: only one more file is allowed today.
    const both = await tell(server, ann, conversation, [text("b"), text("c")]);
    // The limit is checked at the commit, and the error still has Retry-After.
    assert.equal(both.headers.get("retry-after"), "60");
    assert.equal(await code(Promise.resolve(both), 429), "daily_limit_reached");
    assert.equal((await filesOf(server, ann)).length, 2);
    await read(tell(server, ann, conversation, [text("b")], "k"), 201);
    for (const again of [
      await give(server, ann),
      await give(server, ann, "large", Buffer.alloc(LARGE, "x")),
      await tell(server, ann, conversation, [text("d")]),
    ]) {
      assert.equal(again.headers.get("retry-after"), "60");
      assert.equal(await code(Promise.resolve(again), 429), "daily_limit_reached");
    }
    assert.equal(
      (await tell(server, ann, conversation, [text("b")], "k")).status,
      201,
      "the answer of a first request holds",
    );
    await read(
      send(server, ann, "POST", "/v1/messages", { conversation_id: conversation, text: "no file" }),
      201,
    );
    await read(give(server, bob), 201);
    assert.equal((await filesOf(server, ann)).length, 3);
    assert.ok(await eventually(async () => (await storedFiles(server.config)).length === 1));
    now += 60_000;
    for (let i = 0; i < 3; i++) await read(give(server, ann), 201);
    assert.equal(await code(give(server, ann), 429), "daily_limit_reached");
    now += DAY_MS;
    await read(give(server, ann), 201);
  });

  test(`${name}: a deleted file still counts against the daily limit, and so does each concurrent one`, async (t) => {
    const server = await start(t, { filesPerDay: 3 });
    const ann = await person(server, "ann");
    const { id } = await read<{ id: string }>(give(server, ann), 201);
    assert.equal((await send(server, ann, "DELETE", `/v1/attachments/${id}`)).status, 204);
    const answers = await Promise.all(Array.from({ length: 20 }, () => give(server, ann)));
    const accepted = answers.filter(({ status }) => status === 201).length;
    const refused = answers.filter(({ status }) => status === 429).length;
    assert.deepEqual({ accepted, refused }, { accepted: 2, refused: 18 });
    assert.equal((await filesOf(server, ann)).length, 2);
  });

  test(`${name}: allowed and refused types go by the bytes, and a refused file leaves nothing`, async (t) => {
    const limits = { allowedTypes: ["image/*", "text/plain"], refusedTypes: ["image/jpeg"] };
    const server = await start(t, limits);
    const ann = await person(server, "ann");
    const conversation = await notes(server, ann);
    await read(give(server, ann, "a.png", PNG), 201);
    await read(give(server, ann, "picture", PNG), 201);
    await read(give(server, ann, "a.txt"), 201);
    for (const [name, bytes] of [
      ["photo.png", JPEG],
      ["photo.jpg", Buffer.concat([JPEG, Buffer.alloc(LARGE)])],
      ["a.zip", Buffer.from("504b0304140000000000", "hex")],
      ["a.png.exe", Buffer.from("MZ\0\0")],
      // Its type becomes application/octet-stream, which is not allowed.
      ["a.svg", Buffer.from("<svg/>")],
    ] as const) {
      const problem = await read<{ code: string; param: string; detail: string }>(
        give(server, ann, name, bytes),
        415,
      );
      assert.deepEqual([problem.code, problem.param], ["file_type_refused", "file"], name);
      assert.match(
        problem.detail,
        /^The file has the type \S+\/\S+\. (Not accepted: image\/jpeg|Accepted: image\/\*, text\/plain)\. /,
      );
    }
    const mixed = [new File([PNG], "a.png"), new File([JPEG], "b.png")];
    assert.equal(await code(tell(server, ann, conversation, mixed), 415), "file_type_refused");
    assert.equal((await filesOf(server, ann)).length, 3);
    assert.ok(await eventually(async () => (await storedFiles(server.config)).length === 0));
  });

  test(`${name}: a replay of an upload succeeds without another type check`, async (t) => {
    const server = await start(t, { allowedTypes: ["image/png"] });
    const ann = await person(server, "ann");
    const conversation = await notes(server, ann);
    const picture = [new File([PNG], "picture")];
    const first = await read<{ id: string }>(tell(server, ann, conversation, picture, "k"), 201);
    const second = await read<{ id: string }>(tell(server, ann, conversation, picture, "k"), 201);
    assert.equal(second.id, first.id);
  });
}

test("GET /v1/me shows the limits of files", async (t) => {
  const server = await startApp(t, {
    filesPerDay: 5,
    allowedTypes: ["image/*"],
    refusedTypes: ["image/gif"],
  });
  const me = await read<object>(send(server, await person(server, "ann"), "GET", "/v1/me"), 200);
  const limits = { max_files_per_day: 5, allowed_file_types: ["image/*"], refused_file_types: ["image/gif"] };
  assertHas(me, { limits });
});
