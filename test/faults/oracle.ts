// What must hold after any fault and a restart, whatever the fault was.
import { createHash } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Client } from "../support/client.ts";
import { eventually } from "../support/files-on-disk.ts";
import type { AckRecord, Kind } from "../support/record.ts";
import { findEventProblems, type Tables } from "./event-oracle.ts";

interface Row {
  id: string;
  display_name: string;
  filename: string;
  file_url: string;
  file_size: number;
  message_id: string;
}

/**
 * Compares a server that nobody writes to with what was acknowledged, and its data folder with itself. Returns what
 * is wrong, a sentence each; those about acknowledged writes begin with "lost", "came back" or "changed".
 */
export async function findProblems(
  client: Client,
  folder: string,
  record: AckRecord,
  tables: Tables = sqliteTables(folder),
): Promise<string[]> {
  const contacts = await listAll(client, "contacts");
  const files = await listAll(client, "attachments");
  const problems: string[] = [];
  for (const item of record.items.values()) {
    const row = (item.kind === "contacts" ? contacts : files).get(item.id);
    const found = row ? (item.kind === "contacts" ? row.display_name : row.filename) : null;
    if (item.states.includes(found)) record.settle(item, found);
    else problems.push(`${deviation(found, item.states)}: ${item.id} is ${found}, not ${item.states}`);
  }
  for (const { display_name, filename } of [...contacts.values(), ...files.values()]) {
    const name = display_name ?? filename;
    if (record.notMade.has(name)) problems.push(`${name} is there, and was answered to be not done`);
  }
  const { storage } = await client.get<{ storage: { used: number } }>("/v1/me");
  let size = 0;
  for (const row of files.values()) {
    size += row.file_size;
    problems.push(...(await findDamage(client, row, record.items.get(row.id)?.sha256)));
  }
  if (storage.used !== size) problems.push(`storage used is ${storage.used}, the files have ${size} bytes`);
  problems.push(...(await findEventProblems(client, record, new Map([...contacts, ...files]), tables)));
  return [...problems, ...(await findLeftovers(folder, tables))];
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

export function sqliteTables(folder: string): Tables {
  return async (sql) => {
    const db = new DatabaseSync(join(folder, "parley.db"), { readOnly: true });
    try {
      const integrity = Object.values(db.prepare("PRAGMA integrity_check").get()!)[0];
      if (integrity !== "ok") throw new Error(`integrity_check: ${integrity}`);
      return db
        .prepare(sql)
        .all()
        .map((row) => Object.values(row)[0]);
    } finally {
      db.close();
    }
  };
}

/** Rows that no whole write leaves: each of these finds none. Here every conversation has one member. */
const HALVES = {
  "contacts without their membership":
    "SELECT id FROM contacts WHERE conversation_id NOT IN (SELECT conversation_id FROM members)",
  "memberships without a contact or a user": `SELECT conversation_id FROM members WHERE conversation_id NOT IN
    (SELECT conversation_id FROM contacts UNION SELECT conversation_id FROM users)`,
  "contacts and attachments that the audit trail does not know": `SELECT id FROM
    (SELECT id FROM contacts UNION SELECT id FROM attachments) AS made
    WHERE id NOT IN (SELECT object_id FROM audit WHERE action IN ('contact.created', 'attachment.created'))`,
  "contacts and attachments that the audit trail says are deleted": `SELECT object_id FROM audit
    WHERE action IN ('contact.deleted', 'attachment.deleted')
    AND object_id IN (SELECT id FROM contacts UNION SELECT id FROM attachments)`,
  "attachments without a grant":
    "SELECT id FROM attachments WHERE id NOT IN (SELECT attachment_id FROM grants)",
  "grants without an attachment":
    "SELECT attachment_id FROM grants WHERE attachment_id NOT IN (SELECT id FROM attachments)",
  "attachments without a message":
    "SELECT id FROM attachments WHERE message_id NOT IN (SELECT id FROM messages)",
  "messages without a file": "SELECT id FROM messages WHERE id NOT IN (SELECT message_id FROM attachments)",
  "messages that their conversation does not count": `SELECT id FROM messages WHERE id >
    COALESCE((SELECT last_id FROM conversations WHERE id = messages.conversation_id), '')`,
  "what users wrote, though nobody did": "SELECT id FROM message_bodies",
  "places and marks without a membership": `SELECT conversation_id FROM
    (SELECT conversation_id FROM places UNION SELECT conversation_id FROM marks) AS own
    WHERE conversation_id NOT IN (SELECT conversation_id FROM members)`,
  "small files without a row":
    "SELECT attachment_id FROM small_files WHERE attachment_id NOT IN (SELECT id FROM attachments)",
  "rows without their small file":
    "SELECT id FROM attachments WHERE blob_key = id AND id NOT IN (SELECT attachment_id FROM small_files)",
  "files that were made twice": "SELECT filename FROM attachments GROUP BY filename HAVING COUNT(*) > 1",
};

async function findLeftovers(folder: string, tables: Tables): Promise<string[]> {
  const stored = async (name: string) =>
    (await readdir(join(folder, name), { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile())
      .map((entry) => entry.name)
      .sort();
  const problems: string[] = [];
  for (const [what, sql] of Object.entries(HALVES)) {
    const found = await tables(sql);
    if (found.length > 0) problems.push(`${what}: ${found}`);
  }
  if (!(await eventually(async () => (await stored("tmp")).length === 0))) {
    problems.push("temporary files are left after the sweep");
  }
  const keys = async () =>
    (await tables("SELECT blob_key FROM attachments WHERE blob_key <> id")).sort().join();
  if (!(await eventually(async () => (await stored("blobs")).join() === (await keys())))) {
    problems.push("rows and files differ");
  }
  if (!(await eventually(async () => (await tables("SELECT blob_key FROM tombstones")).length === 0))) {
    problems.push("tombstones are left");
  }
  return problems;
}
