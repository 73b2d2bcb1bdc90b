// `parley check` and the search index, on both engines.
import assert from "node:assert/strict";
import { once } from "node:events";
import { chmod, open } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { commandLine } from "../../support/command.ts";
import { nothing, write } from "../../support/command-writers.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { columnOf } from "../../support/search-index.ts";
import { folderOf, type Site, say, search, searchAgain, startSite } from "./search-site.ts";

async function findings({ command }: Site): Promise<Record<string, string | number | null>[]> {
  const { stdout, stderr, code } = await command.run("check", "--json");
  const lines = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.equal(code, lines.length > 1 ? 1 : 0, stderr);
  return lines.slice(0, -1);
}

const HINT = "Rebuild it, also while the server runs: parley check --repair-search.";

for (const engine of ["sqlite", "postgres"] as const) {
  test(`${engine}: parley check finds texts missing in the search index and deleted texts in it, and --repair-search fixes both`, async (t) => {
    const [site, server] = await startSite(t, engine);
    const ids: string[] = [];
    for (const text of ["one red fox", "two red 東京都", "three blue", "?!"]) ids.push(await say(site, text));
    assert.equal((await search(site, "red")).length, 2);
    await site.indexed();
    assert.deepEqual(await findings(site), []);
    const bodyOf = (id: string) => `(SELECT body_id FROM messages WHERE id = '${id}')`;
    // A text with a word that the index lacks, a text that was never indexed, and a deleted text that is still in the
    // index.
    await site.change(`UPDATE message_bodies SET text = 'one red fox jumps' WHERE id = ${bodyOf(ids[0]!)}`);
    await site.change(`INSERT INTO message_bodies (text) VALUES ('never')`);
    await site.change(
      `UPDATE messages SET body_id = (SELECT MAX(id) FROM message_bodies) WHERE id = '${ids[3]}'`,
    );
    await site.change(`UPDATE message_bodies SET text = NULL WHERE id = ${bodyOf(ids[2]!)}`);
    for (const stop of [false, true]) {
      if (stop) await server.stop();
      const found = await findings(site);
      const kinds = found.filter(({ kind }) => kind === "search");
      assert.deepEqual(
        kinds.map(({ message_id, hint }) => [message_id, hint]),
        [ids[0], ids[3], null].map((id) => [id, HINT]),
      );
      const words = (await site.command.run("check")).stdout;
      assert.ok(words.includes(`The search index lacks words of the message ${ids[3]}.\n  ${HINT}\n`));
      assert.ok(words.includes(`The search index has words of a deleted text, ${kinds[2]!.body_id}.\n`));
    }
    const { code, stdout } = await site.command.run("check", "--repair-search");
    assert.deepEqual([code, stdout], [0, "Rebuilt the search index.\n"]);
    assert.deepEqual(await site.problems(), []);
    assert.ok(!(await findings(site)).some(({ kind }) => kind === "search"));
  });

  test(`${engine}: parley check has no findings while the server is under load, and --repair-search loses nothing`, async (t) => {
    const [site] = await startSite(t, engine);
    const known = nothing();
    let goesOn = true;
    t.after(() => {
      goesOn = false;
    });
    const writers = Array.from({ length: 4 }, () => write(site.command, site.headers, known, () => goesOn));
    for (let i = 0; i < 3; i++) {
      const { code, stdout, stderr } = await site.command.run("check", "--repair-search");
      assert.equal(code, 0, stdout + stderr);
      assert.deepEqual(await findings(site), []);
    }
    goesOn = false;
    await Promise.all(writers);
    assert.ok(known.messages.size > 0);
    assert.deepEqual(await site.problems(), []);
  });

  test(`${engine}: the server completes a --repair-search that was killed`, async (t) => {
    const [site, server] = await startSite(t, engine);
    for (let i = 0; i < 30; i++) await say(site, `word ${i} ${"x".repeat(5000)}`);
    assert.equal((await searchAgain(site, "word")).length, 30);
    await site.indexed();
    await server.stop();
    const repair = site.command.start("check", "--repair-search");
    const databaseUrl = site.command.env.PARLEY_DATABASE_URL ?? null;
    const column = columnOf({ databaseUrl, dataFolder: folderOf(site.command) });
    const isRunning = async () => (await column("SELECT after_id FROM reindexing")).length > 0;
    const ended = once(repair, "exit");
    // The repair may also have ended before this check.
    while (repair.exitCode === null && !(await isRunning())) await sleep(1);
    repair.kill("SIGKILL");
    await ended;
    await site.command.serve();
    assert.equal((await searchAgain(site, "word")).length, 30);
    assert.deepEqual(await site.problems(), []);
  });
}

for (const engine of ["sqlite", "postgres"] as const) {
  test(`${engine}: an index made with another Unicode version is rebuilt at the start`, async (t) => {
    const [site, server] = await startSite(t, engine);
    await say(site, "red fox");
    assert.deepEqual(await search(site, "red"), ["red fox"]);
    await site.indexed();
    await server.stop();
    const databaseUrl = site.command.env.PARLEY_DATABASE_URL ?? null;
    const column = columnOf({ databaseUrl, dataFolder: folderOf(site.command) });
    const body = "(SELECT MAX(id) FROM message_bodies)";
    const now = (await column(`SELECT word FROM indexed_words WHERE body_id = ${body}`)).join(" ");
    // The words of the text by an older rule, which cannot be removed from the index.
    await site.change(
      `INSERT INTO message_index (message_index, rowid, words) SELECT 'delete', ${body}, '${now}'`,
    );
    const before = now.replace("fox", "f");
    await site.change(`INSERT INTO message_index (rowid, words) SELECT ${body}, '${before}'`);
    await (await site.command.serve()).stop();
    assert.notDeepEqual(await site.problems(), []);
    assert.equal((await findings(site)).length, 1);
    await site.change("UPDATE word_rule SET rule = '3, Unicode 1.0'");
    assert.deepEqual(await findings(site), [], "the next start rebuilds it");
    const again = await site.command.serve();
    assert.deepEqual(await searchAgain(site, "fo"), ["red fox"]);
    assert.deepEqual(await site.problems(), []);
    assert.deepEqual(await column("SELECT rule FROM word_rule"), [`3, Unicode ${process.versions.unicode}`]);
    await again.stop();
    await site.command.serve();
    assert.deepEqual(await column("SELECT after_id FROM reindexing"), [], "and only once");
  });
}

/** Overwrites SQLite's tables of the index: all rows, or only those of words. */
const damage = (rows: string) =>
  `UPDATE message_index_data SET block = zeroblob(length(block)) WHERE id ${rows}`;
const WORDS = damage("> 10");
const STRUCTURE = `UPDATE message_index_data SET block = x'${"ff".repeat(41)}' WHERE id = 10`;

const LOGGED = /"the search index was damaged and is being rebuilt: run parley check"/;

for (const [name, sql] of Object.entries({ words: WORDS, structure: STRUCTURE })) {
  test(`damaged ${name} of the search index are reported, backed up, restored, and rebuilt by a search`, async (t) => {
    const [site, server] = await startSite(t, "sqlite");
    await say(site, "red fox");
    assert.deepEqual(await search(site, "red"), ["red fox"]);
    await site.indexed();
    await server.stop();
    await site.change(sql);
    const [found, ...others] = await findings(site);
    assert.deepEqual(others, []);
    const { message, ...finding } = found!;
    assert.match(String(message), /fts5.*message_index/);
    assert.deepEqual(finding, {
      kind: "search",
      path: join(folderOf(site.command), "parley.db"),
      hint: HINT,
    });
    const backup = join(folderOf(site.command), "../backup");
    assert.equal((await site.command.run("backup", backup)).code, 0);
    const elsewhere = await commandLine(t);
    const restored = await elsewhere.run("restore", backup);
    assert.equal(restored.code, 0, restored.stderr);
    assert.ok(restored.stderr.includes("--repair-search"), restored.stderr);
    const again = await elsewhere.serve();
    const there = { ...site, command: elsewhere };
    assert.deepEqual(await search(there, "red"), ["503"]);
    assert.deepEqual(await searchAgain(there, "red"), ["red fox"]);
    assert.match(again.stderr(), LOGGED);
    assert.deepEqual(await findings(there), []);
  });

  test(`damaged ${name} of the search index do not prevent deleting a message`, async (t) => {
    const [site, server] = await startSite(t, "sqlite");
    const ids = [await say(site, "red fox"), await say(site, "red dog")];
    assert.deepEqual(await search(site, "red"), ["red dog", "red fox"]);
    await site.indexed();
    await server.stop();
    await site.change(sql);
    const again = await site.command.serve();
    const place = `${site.command.url}/v1/messages/${ids[0]}`;
    assert.equal((await fetch(place, { method: "DELETE", headers: site.headers })).status, 204);
    assert.match(again.stderr(), LOGGED);
    assert.deepEqual(await searchAgain(site, "red"), ["red dog"]);
    const column = columnOf({ databaseUrl: null, dataFolder: folderOf(site.command) });
    assert.deepEqual(await column("SELECT text FROM message_bodies WHERE text LIKE '%red%'"), ["red dog"]);
    assert.deepEqual(await findings(site), []);
  });
}

test("a search index with an empty list of segments is rebuilt", async (t) => {
  const [site, server] = await startSite(t, "sqlite");
  await say(site, "red fox");
  assert.deepEqual(await search(site, "red"), ["red fox"]);
  await site.indexed();
  await server.stop();
  // With an empty list of segments FTS5 reuses the number of an existing one, and fails at the commit.
  await site.change(damage("= 10"));
  assert.ok((await findings(site)).every(({ kind, hint }) => kind === "search" && hint === HINT));
  const again = await site.command.serve();
  await say(site, "red dog");
  // The indexer detects it at its next write.
  assert.ok(await eventually(async () => LOGGED.test(again.stderr())));
  assert.deepEqual(await searchAgain(site, "red"), ["red dog", "red fox"]);
  assert.deepEqual(await findings(site), []);
});

/** Overwrites a page of the database file that belongs to the index only. */
async function overwritePage(site: Site): Promise<void> {
  const path = join(folderOf(site.command), "parley.db");
  const db = new DatabaseSync(path);
  const root = db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'message_index_data'").get();
  const { page_size: size } = db.prepare("PRAGMA page_size").get() as { page_size: number };
  db.close();
  const file = await open(path, "r+");
  await file.write(Buffer.alloc(size, 0xff), 0, size, (Number(root!.rootpage) - 1) * size);
  await file.close();
}

for (const [name, spoil] of Object.entries({
  settings: (site: Site) => site.change("DELETE FROM message_index_config"),
  page: overwritePage,
})) {
  test(`a search index with an unreadable ${name} answers 503, and check and log say how to fix it`, async (t) => {
    const [site, server] = await startSite(t, "sqlite");
    await say(site, "red fox");
    assert.deepEqual(await search(site, "red"), ["red fox"]);
    await site.indexed();
    await server.stop();
    await spoil(site);
    const repair = await site.command.run("check", "--repair-search");
    assert.deepEqual([repair.code, repair.stdout], [2, ""]);
    assert.match(repair.stderr, /^parley: The search index cannot be rebuilt: .+ restore a backup\.\n$/);
    const check = await site.command.run("check");
    assert.equal(check.code, 1, check.stderr);
    assert.match(
      check.stdout,
      /parley\.db is damaged: the search index cannot be read or rebuilt: .+\n {2}Stop the server.+ parley restore BACKUP\.\n/,
    );
    assert.match(check.stdout, /: 1 finding\.\n$/);
    const backup = await site.command.run("backup", join(folderOf(site.command), "../backup"));
    assert.equal(backup.code, 1, backup.stderr);
    assert.match(backup.stdout, /: the search index cannot be read or rebuilt: /);
    const again = await site.command.serve();
    assert.deepEqual(await search(site, "red"), ["503"]);
    assert.match(
      again.stderr(),
      /"cause":\{[^}]*"message":"(?:invalid fts5|database disk image).*"request failed"/,
    );
    await say(site, "red dog");
    assert.deepEqual(await search(site, "red"), ["503"]);
  });
}

test("parley check works on a read-only data folder", async (t) => {
  const [site, server] = await startSite(t, "sqlite");
  await say(site, "red fox");
  assert.deepEqual(await search(site, "red"), ["red fox"]);
  await site.indexed();
  await server.stop();
  await site.change(
    "UPDATE message_bodies SET text = 'red fox jumps' WHERE text = 'red fox'; PRAGMA journal_mode = DELETE",
  );
  const folder = folderOf(site.command);
  await chmod(join(folder, "parley.db"), 0o400);
  await chmod(folder, 0o500);
  const found = await findings(site).finally(() => chmod(folder, 0o700));
  assert.equal(found.length, 1);
});

test("parley check --repair-search works without messages, but needs a data folder", async (t) => {
  const command = await commandLine(t);
  const nowhere = await command.run("check", "--repair-search");
  assert.equal(nowhere.code, 2);
  assert.match(nowhere.stderr, /There is no Parley data/);
  await (await command.serve()).stop();
  const repair = await command.run("check", "--repair-search");
  assert.deepEqual([repair.code, repair.stdout], [0, "Rebuilt the search index.\n"]);
  const { code, stdout } = await command.run("check", "--repair-search", "--json");
  assert.equal(code, 0);
  assert.deepEqual(JSON.parse(stdout), { kind: "summary", rebuilt: "search" });
});
