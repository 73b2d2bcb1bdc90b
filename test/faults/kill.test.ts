import assert from "node:assert/strict";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { type CommandLine, commandLine } from "../http/command.ts";
import { eventually } from "../http/files-on-disk.ts";
import { type Acknowledged, nothing, sha256, tokenOf, write } from "../http/writers.ts";

const CYCLES = 8;
const WRITERS = 6;

async function check(
  command: CommandLine,
  headers: Record<string, string>,
  known: Acknowledged,
): Promise<void> {
  const read = async (path: string) => fetch(command.url + path, { headers });
  for (const id of known.contacts)
    assert.equal((await read(`/v1/contacts/${id}`)).status, 200, `lost: ${id}`);
  for (const id of known.deleted)
    assert.equal((await read(`/v1/attachments/${id}`)).status, 404, `came back: ${id}`);
  for (const [id, digest] of known.files) {
    const found = await read(`/v1/attachments/${id}`);
    assert.equal(found.status, 200, `lost: ${id}`);
    const { file_url } = (await found.json()) as { file_url: string };
    assert.equal(sha256(new Uint8Array(await (await fetch(file_url)).arrayBuffer())), digest, id);
  }
  const folder = command.env.PARLEY_DATA!;
  const stored = async (name: string) =>
    (await readdir(join(folder, name), { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile())
      .map((entry) => entry.name);
  assert.ok(await eventually(async () => (await stored("tmp")).length === 0), "temporary files are left");
  const db = new DatabaseSync(join(folder, "parley.db"), { readOnly: true });
  assert.equal(
    (db.prepare("PRAGMA integrity_check").get() as { integrity_check: string }).integrity_check,
    "ok",
  );
  const keys = () =>
    db
      .prepare("SELECT blob_key FROM attachments ORDER BY 1")
      .all()
      .map((row) => row.blob_key);
  assert.ok(
    await eventually(async () => (await stored("blobs")).sort().join() === keys().join()),
    "rows and files differ",
  );
  db.close();
}

test(`kill -9 under load, ${CYCLES} times: nothing acknowledged is lost, nothing is left over`, async (t) => {
  const command = await commandLine(t);
  const known = nothing();
  let server = await command.serve();
  const headers = { authorization: `Bearer ${tokenOf(server)}` };
  for (let i = 0; i < CYCLES; i++) {
    const writers = Array.from({ length: WRITERS }, () => write(command, headers, known));
    await new Promise((resolve) => setTimeout(resolve, 50 + Math.random() * 450));
    server.process.kill("SIGKILL");
    await once(server.process, "close");
    await Promise.all(writers);
    server = await command.serve();
    await check(command, headers, known);
  }
  const { contacts, files, deleted } = known;
  t.diagnostic(
    `${contacts.size} contacts, ${files.size} files and ${deleted.size} deletes were acknowledged; none was lost`,
  );
  assert.ok(contacts.size > CYCLES && files.size > CYCLES);
});
