// `parley check --scan`: scans files that were stored unscanned.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { type TestContext, test } from "node:test";
import { type CommandLine, commandLine, type Ended, tokenOf } from "../../support/command.ts";
import { testDatabase } from "../../support/engines/postgres.ts";
import { EICAR, testScanner } from "../../support/engines/scanner.ts";
import { eventually, storedFiles } from "../../support/files-on-disk.ts";

const LARGE = 300_000;

interface Made {
  id: string;
  conversation_id: string;
  file_url: string;
}

async function call<T>(
  command: CommandLine,
  token: string,
  method: string,
  path: string,
  body: FormData | URLSearchParams | null = null,
) {
  const headers = { authorization: `Bearer ${token}` };
  const answer = await fetch(command.url + path, { method, headers, body });
  const text = await answer.text();
  return { status: answer.status, json: (text === "" ? null : JSON.parse(text)) as T };
}

function form(fields: Record<string, string | File>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  return form;
}

const lines = ({ stdout }: Ended) =>
  stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);

interface World {
  command: CommandLine;
  /** Tokens of the sender and of the recipient. */
  token: string;
  theirs: string;
  conversationId: string;
}

/** Starts a server without a scanner, with two users who have each other as contacts. */
async function world(t: TestContext, settings: Record<string, string>): Promise<World> {
  const command = await commandLine(t, { PARLEY_MAX_FILE_SIZE: "1MB", ...settings });
  const token = tokenOf(await command.serve());
  await command.run("user", "add", "bob");
  const theirs = (await command.run("token", "create", "bob")).stdout.trim();
  const add = (owner: string, username: string) =>
    call<Made>(
      command,
      owner,
      "POST",
      "/v1/contacts",
      new URLSearchParams({ username, phone_number: "555" }),
    );
  const { json } = await add(token, "bob");
  await add(theirs, "admin");
  return { command, token, theirs, conversationId: json.conversation_id };
}

async function share({ command, token, conversationId }: World, name: string, bytes: string) {
  const body = form({ conversation_id: conversationId, file: new File([bytes], name) });
  const { status, json } = await call<Made>(command, token, "POST", "/v1/attachments", body);
  assert.equal(status, 201);
  return json;
}

/** Asserts that the files are gone for all users, with events and audit entries. */
async function checkWithdrawn({ command, token, theirs }: World, files: readonly Made[]) {
  for (const { id, file_url } of files) {
    assert.equal((await call(command, token, "GET", `/v1/attachments/${id}`)).status, 404);
    assert.equal((await fetch(file_url)).status, 404);
  }
  const path = "/v1/events?types=attachment.deleted&limit=100";
  const isTold = async () => {
    const { json } = await call<{ data: { payload: Made }[] }>(command, theirs, "GET", path);
    const gone = json.data.map(({ payload }) => payload.id);
    return files.every(({ id }) => gone.includes(id));
  };
  assert.ok(await eventually(isTold), "the recipient has the event");
  const audit = await call<{ data: Record<string, unknown>[] }>(command, token, "GET", "/v1/audit?limit=100");
  for (const { id } of files) {
    const entries = audit.json.data.filter(({ object_id }) => object_id === id);
    assert.deepEqual(
      entries.map(({ action, actor_id, details }) => [action, actor_id, details]).slice(0, 2),
      [
        ["attachment.deleted", null, null],
        ["attachment.withdrawn", null, { found: "Eicar-Test-Signature" }],
      ],
    );
  }
}

const ENGINES: Record<string, (t: TestContext) => Promise<Record<string, string>>> = {
  SQLite: async () => ({}),
  PostgreSQL: async (t) => ({
    PARLEY_DATABASE_URL: await testDatabase(t),
    PARLEY_SECRET: "s".repeat(32),
  }),
};

for (const [engine, settings] of Object.entries(ENGINES)) {
  test(`${engine}: parley check --scan withdraws infected files, with events and audit entries`, async (t) => {
    const two = await world(t, await settings(t));
    const { command } = two;
    const bad = [await share(two, "small", EICAR), await share(two, "large", EICAR.padEnd(LARGE))];
    const good = [
      await share(two, "fine", "x".repeat(100)),
      await share(two, "also fine", "x".repeat(LARGE)),
    ];
    command.env.PARLEY_SCAN = (await testScanner(t)).url;
    const ended = await command.run("check", "--scan", "--json");
    assert.equal(ended.code, 1, ended.stderr);
    const found = lines(ended);
    const bytes = EICAR.length + 100 + 2 * LARGE;
    assert.deepEqual(found.pop(), { kind: "summary", files: 4, bytes, findings: 2, larger: 0 });
    assert.equal(found.length, 2);
    for (const [i, { hint, uploader_id, ...rest }] of found.entries()) {
      assert.deepEqual(rest, {
        ...{ kind: "infected", attachment_id: bad[i]!.id, filename: ["small", "large"][i] },
        ...{ uploader: "admin" },
        found: "Eicar-Test-Signature",
      });
      assert.match(`${hint} ${uploader_id}`, /withdrawn.* usr_/);
    }
    await checkWithdrawn(two, bad);
    for (const { file_url } of good) assert.equal((await fetch(file_url)).status, 200);
    const stored = () => storedFiles({ dataFolder: command.env.PARLEY_DATA! });
    assert.ok(await eventually(async () => (await stored()).length === 1));
    const again = await command.run("check", "--scan");
    assert.equal(again.code, 0, again.stderr);
    assert.match(again.stdout, /^Scanned 2 files, 0\.3 MiB: 0 findings\.\n$/);
    assert.equal((await command.run("check")).code, 0, "rows, sums and files still match");
  });
}

test("parley check --scan removes the unscanned mark of clean files, and names those too large", async (t) => {
  const scanner = await testScanner(t);
  const command = await commandLine(t, {
    ...{ PARLEY_SCAN: scanner.url, PARLEY_SCAN_AWAY: "pass", PARLEY_SCAN_MAX_SIZE: "100kB" },
  });
  const server = await command.serve();
  const token = tokenOf(server);
  const give = async (bytes: string) => {
    const made = await call<Made>(
      command,
      token,
      "POST",
      "/v1/attachments",
      form({ file: new File([bytes], "a") }),
    );
    return made.json.id;
  };
  const larger = await give("x".repeat(LARGE));
  const { behaviour } = scanner;
  scanner.behaviour = (socket) => socket.destroy();
  const [small, damaged] = [await give("small"), await give("x".repeat(50_000))];
  scanner.behaviour = behaviour;
  const marks = async () =>
    Promise.all(
      [larger, small].map(async (id) => {
        const path = `/v1/attachments/${id}?include=unscanned`;
        const { json } = await call<{ unscanned: boolean }>(command, token, "GET", path);
        return json.unscanned;
      }),
    );
  assert.deepEqual(await marks(), [true, true]);
  const etag = async () => {
    const url = `${command.url}/v1/attachments/${small}?include=unscanned`;
    return (await fetch(url, { headers: { authorization: `Bearer ${token}` } })).headers.get("etag");
  };
  const before = await etag();
  const paths = await storedFiles({ dataFolder: command.env.PARLEY_DATA! });
  for (const path of paths) await writeFile(path, "x".repeat(49_999));
  const ended = await command.run("check", "--scan", "--json");
  assert.equal(ended.code, 1, ended.stderr);
  const [fault, summary] = lines(ended);
  assert.deepEqual([fault!.kind, fault!.attachment_id, fault!.found], ["size", damaged, 49_999]);
  assert.deepEqual([summary!.findings, summary!.larger], [1, 1]);
  assert.deepEqual(await marks(), [true, false]);
  assert.notEqual(await etag(), before);
  assert.match(
    (await command.run("check", "--scan")).stdout,
    /1 file not scanned, because of PARLEY_SCAN_MAX_SIZE\./,
  );
});

test("parley check --scan without a working scanner ends with 2", async (t) => {
  const command = await commandLine(t);
  const server = await command.serve();
  const without = await command.run("check", "--scan");
  assert.deepEqual([without.code, without.stdout], [2, ""]);
  assert.match(without.stderr, /^parley: Set PARLEY_SCAN as for the server/);
  const scanner = await testScanner(t);
  command.env.PARLEY_SCAN = scanner.url;
  command.env.PARLEY_MAX_FILE_SIZE = "1MB";
  const body = form({ file: new File(["text"], "a") });
  assert.equal((await call(command, tokenOf(server), "POST", "/v1/attachments", body)).status, 201);
  let files = 0;
  const { behaviour } = scanner;
  scanner.behaviour = (socket, file, isComplete) => {
    if (isComplete) files++;
    if (files < 2) behaviour(socket, file, isComplete);
    else socket.destroy();
  };
  const failed = await command.run("check", "--scan");
  assert.equal(failed.code, 2);
  assert.match(failed.stderr, /^parley: The scanner failed at att_\w+: .*Run the command again\.\n$/);
  await scanner.stop();
  const away = await command.run("check", "--scan");
  assert.equal(away.code, 2);
  assert.match(away.stderr, /^parley: PARLEY_SCAN: the scanner failed at a file of 1000000 B: /);
});
