// The search index in a backup and after a move.
import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { commandLine } from "../../support/command.ts";
import { emptyDatabase, settingsOn } from "../../support/engines/postgres.ts";
import { columnOf, findIndexProblems } from "../../support/search-index.ts";
import { folderOf, type Site, say, search, searchAgain, startSite } from "./search-site.ts";

const TEXTS = ["one red", "two red 東京", "three blue red"];
const FOUND = TEXTS.toReversed();

/** Returns a stopped server with messages, one edited and one deleted. If `indexed`, they are in its index. */
async function stopped(t: TestContext, indexed: boolean): Promise<Site> {
  const [site, server] = await startSite(t, "sqlite");
  const { command, headers } = site;
  const gone = await say(site, "gone red");
  for (const text of TEXTS.with(1, "early red")) await say(site, text);
  if (indexed) assert.equal((await search(site, "red")).length, 4);
  assert.equal(
    (await fetch(`${command.url}/v1/messages/${gone}`, { method: "DELETE", headers })).status,
    204,
  );
  const list = await fetch(`${command.url}/v1/messages?q=early`, { headers });
  const [early] = ((await list.json()) as { data: { id: string }[] }).data;
  const body = new URLSearchParams({ text: TEXTS[1]! });
  const edit = await fetch(`${command.url}/v1/messages/${early!.id}`, { method: "PUT", headers, body });
  assert.equal(edit.status, 200);
  await server.stop();
  return site;
}

for (const indexed of [false, true])
  test(`a restored backup ${indexed ? "with" : "without"} an index is searchable at once`, async (t) => {
    const site = await stopped(t, indexed);
    const backup = join(site.command.env.HOME!, "backup");
    assert.equal((await site.command.run("backup", backup)).code, 0);
    const elsewhere = await commandLine(t);
    assert.equal((await elsewhere.run("restore", backup)).code, 0);
    await elsewhere.serve();
    const there = { ...site, command: elsewhere };
    assert.deepEqual(await search(there, "red"), FOUND);
    assert.deepEqual(await search(there, "gone"), []);
    assert.deepEqual(await search(there, "early"), []);
    assert.deepEqual(
      await findIndexProblems(columnOf({ databaseUrl: null, dataFolder: folderOf(elsewhere) })),
      [],
    );
  });

test("a moved database finds the same, on every engine", async (t) => {
  const site = await stopped(t, true);
  const { command } = site;
  const databaseUrl = await emptyDatabase(t);
  const other = join(command.env.HOME!, "other");
  const back = join(command.env.HOME!, "back");
  const places: [
    to: string[],
    settings: Record<string, string>,
    databaseUrl: string | null,
    folder: string,
  ][] = [
    [["--to-database", other, "--to-store", other], { PARLEY_DATA: other }, null, other],
    [["--to-database", databaseUrl], settingsOn(databaseUrl), databaseUrl, other],
    [["--to-database", back, "--to-store", back], { PARLEY_DATA: back, PARLEY_DATABASE_URL: "" }, null, back],
  ];
  let count = 0;
  for (const [to, settings, url, folder] of places) {
    const moved = await command.run("move", ...to);
    assert.equal(moved.code, 0, moved.stderr);
    Object.assign(command.env, settings);
    const server = await command.serve();
    assert.deepEqual(await searchAgain(site, "red"), [...Array(count).fill("more red"), ...FOUND]);
    assert.deepEqual(await search(site, "東京"), [TEXTS[1]]);
    for (const word of ["gone", "early"]) assert.deepEqual(await search(site, word), []);
    await say(site, "more red");
    count++;
    assert.equal((await search(site, "more")).length, count);
    assert.deepEqual(await findIndexProblems(columnOf({ databaseUrl: url, dataFolder: folder })), []);
    assert.equal(await server.stop(), 0);
    assert.equal((await command.run("check")).code, 0);
  }
});
