// What must hold after any fault and a restart, whatever the fault was.
import { createHash } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { eventually } from "../http/files-on-disk.ts";
import type { Client } from "./client.ts";
import type { AckRecord, Kind } from "./record.ts";

interface Row {
  id: string;
  display_name: string;
  filename: string;
  file_url: string;
  file_size: number;
}

/**
 * Compares a server that nobody writes to with what was acknowledged, and its data folder with itself. Returns what
 * is wrong, a sentence each; those about acknowledged writes begin with "lost", "came back" or "changed".
 */
export async function findProblems(client: Client, folder: string, record: AckRecord): Promise<string[]> {
  const contacts = await listAll(client, "contacts");
  const files = await listAll(client, "attachments");
  const problems: string[] = [];
  for (const item of record.items.values()) {
    const row = (item.kind === "contacts" ? contacts : files).get(item.id);
    const found = row ? (item.kind === "contacts" ? row.display_name : row.filename) : null;
    if (item.states.includes(found)) record.settle(item, found);
    else problems.push(`${deviation(found, item.states)}: ${item.id} is ${found}, not ${item.states}`);
  }
  const { storage } = await client.get<{ storage: { used: number } }>("/v1/me");
  let size = 0;
  for (const row of files.values()) {
    size += row.file_size;
    problems.push(...(await findDamage(client, row, record.items.get(row.id)?.sha256)));
  }
  if (storage.used !== size) problems.push(`storage used is ${storage.used}, the files have ${size} bytes`);
  return [...problems, ...(await findLeftovers(folder))];
}

function deviation(found: string | null, states: readonly unknown[]): string {
  if (found === null) return "lost";
  return states.length === 1 && states[0] === null ? "came back" : "changed";
}

async function listAll(client: Client, kind: Kind): Promise<Map<string, Row>> {
  const rows = new Map<string, Row>();
  for (let after = ""; ; ) {
    const page = await client.get<{ data: Row[]; has_more: boolean }>(`/v1/${kind}?limit=100${after}`);
    for (const row of page.data) rows.set(row.id, row);
    if (!page.has_more) return rows;
    after = `&starting_after=${page.data.at(-1)!.id}`;
  }
}

/** A row whose upload had no answer must have its bytes, too: their digest is in the row. */
async function findDamage(client: Client, row: Row, acknowledged: string | undefined): Promise<string[]> {
  const url = new URL(row.file_url);
  const { status, headers, body } = await client.send("GET", url.pathname + url.search);
  if (status !== 200) return [`lost: the bytes of ${row.id} are answered ${status}`];
  const hash = createHash("sha256").update(body).digest();
  const isKept = acknowledged === undefined || hash.toString("hex") === acknowledged;
  const isDigest = headers["repr-digest"] === `sha-256=:${hash.toString("base64")}:`;
  return isKept && isDigest && body.length === row.file_size ? [] : [`lost: ${row.id} has other bytes`];
}

async function findLeftovers(folder: string): Promise<string[]> {
  const stored = async (name: string) =>
    (await readdir(join(folder, name), { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile())
      .map((entry) => entry.name)
      .sort();
  const problems: string[] = [];
  const db = new DatabaseSync(join(folder, "parley.db"), { readOnly: true });
  try {
    const column = (sql: string) =>
      db
        .prepare(sql)
        .all()
        .map((row) => Object.values(row)[0]);
    const integrity = column("PRAGMA integrity_check").join();
    if (integrity !== "ok") problems.push(`integrity_check: ${integrity}`);
    if (!(await eventually(async () => (await stored("tmp")).length === 0))) {
      problems.push("temporary files are left after the sweep");
    }
    const keys = () => column("SELECT blob_key FROM attachments WHERE blob_key <> id ORDER BY 1").join();
    const small = column("SELECT id FROM attachments WHERE blob_key = id ORDER BY 1").join();
    if (column("SELECT attachment_id FROM small_files ORDER BY 1").join() !== small) {
      problems.push("rows and small files differ");
    }
    if (!(await eventually(async () => (await stored("blobs")).join() === keys()))) {
      problems.push("rows and files differ");
    }
    if (!(await eventually(async () => column("SELECT COUNT(*) FROM tombstones")[0] === 0))) {
      problems.push("tombstones are left");
    }
  } finally {
    db.close();
  }
  return problems;
}
