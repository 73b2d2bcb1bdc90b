// The rules after any fault and restart.
import { createHash } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Client } from "../support/client.ts";
import { eventually } from "../support/files-on-disk.ts";
import type { AckRecord } from "../support/record.ts";
import { continueUploads } from "../support/resuming.ts";
import { findIndexProblems, openIndexed, WAITING } from "../support/search-index.ts";
import { retrySendings, stateOf, type Talkers } from "../support/sending.ts";
import { findEventProblems, type Present, type Tables } from "./event-oracle.ts";
import { findMessageProblems, findUnfound } from "./message-oracle.ts";

interface Row {
  id: string;
  display_name: string;
  filename: string;
  file_url: string;
  file_size: number;
  message_id: string;
}

/** A server, its data folder, and its acknowledged writes. */
export interface Examined extends Talkers {
  data: string;
  record: AckRecord;
}

/**
 * Compares an idle server with its acknowledged writes, and its data folder with itself. First it sends unanswered
 * messages again with the same keys. Returns the problems as sentences; those about acknowledged writes begin with
 * "lost", "came back" or "changed".
 */
export async function findProblems(
  subject: Examined,
  tables: Tables = sqliteTables(subject.data),
): Promise<string[]> {
  const { client, record } = subject;
  await retrySendings(subject, record);
  const interrupted = await continueUploads(client, record);
  const contacts = await listAll(client, "contacts");
  const files = await listAll(client, "attachments");
  const { messages, problems } = await findMessageProblems(subject);
  problems.push(...interrupted);
  const states = new Map([
    ...[...contacts].map(([id, row]) => [id, row.display_name] as const),
    ...[...files].map(([id, row]) => [id, row.filename] as const),
    ...[...messages].map(([id, message]) => [id, stateOf(message)] as const),
  ]);
  for (const item of record.items.values()) {
    const found = states.get(item.id) ?? null;
    if (item.states.includes(found)) record.settle(item, found);
    else problems.push(`${deviation(found, item.states)}: ${item.id} is ${found}, not ${item.states}`);
  }
  const names = [...states.values(), ...[...messages.values()].map(({ text }) => text)];
  for (const name of names) {
    if (name && record.notMade.has(name)) problems.push(`${name} is there, and was answered to be not done`);
  }
  problems.push(...(await findFileProblems(subject, files)));
  problems.push(...(await findAvatarProblems(subject)));
  const present = new Map<string, Present>([...contacts, ...files, ...messages]);
  problems.push(...(await findEventProblems(subject, present, tables)));
  const ofIndex = await findIndexProblems(tables);
  // Search of many messages is refused while the index cannot be written, because it would miss the newest ones.
  const unfound = ofIndex.includes(WAITING) ? [] : await findUnfound(subject, messages);
  return [...problems, ...ofIndex, ...unfound, ...(await findLeftovers(subject.data, tables))];
}

/** Finds damaged files, and users whose storage is not the sum of their uploads. */
async function findFileProblems(
  { client, peer, record }: Examined,
  files: ReadonlyMap<string, Row>,
): Promise<string[]> {
  const items = [...record.items.values()];
  const digests = new Map(items.map(({ id, sha256 }) => [id, sha256]));
  const peers = new Set<string>();
  for (const { message } of items) {
    for (const { id, sha256 } of message?.files ?? []) {
      digests.set(id, sha256);
      if (message!.isPeers) peers.add(id);
    }
  }
  const problems: string[] = [];
  let [mine, theirs] = [0, 0];
  for (const row of files.values()) {
    if (peers.has(row.id)) theirs += row.file_size;
    else mine += row.file_size;
    problems.push(...(await findDamage(client, row, digests.get(row.id))));
  }
  for (const [user, size] of [[client, mine] as const, [peer, theirs] as const]) {
    const { storage } = await user.get<{ storage: { used: number } }>("/v1/me");
    if (storage.used !== size) problems.push(`storage used is ${storage.used}, the files have ${size} bytes`);
  }
  return problems;
}

/** Finds out whether the picture of the first user is one that was acknowledged, or a later one without an answer. */
async function findAvatarProblems({ client, record }: Examined): Promise<string[]> {
  const { avatar_url } = await client.get<{ avatar_url: string | null }>("/v1/me");
  const answer = avatar_url === null ? null : await client.send("GET", new URL(avatar_url).pathname);
  if (answer && answer.status !== 200) return [`lost: the picture is answered ${answer.status}`];
  const found = answer && createHash("sha256").update(answer.body).digest("hex");
  const { avatar } = record;
  if (!avatar.states.includes(found)) return [`changed: the picture is ${found}, not ${avatar.states}`];
  avatar.states = [found];
  return [];
}

function deviation(found: string | null, states: readonly unknown[]): string {
  if (found === null) return "lost";
  return states.length === 1 && states[0] === null ? "came back" : "changed";
}

async function listAll(client: Client, kind: "contacts" | "attachments"): Promise<Map<string, Row>> {
  const rows = new Map<string, Row>();
  for (let after = ""; ; ) {
    const page = await client.get<{ data: Row[]; has_more: boolean }>(`/v1/${kind}?limit=100${after}`);
    for (const row of page.data) rows.set(row.id, row);
    if (!page.has_more) return rows;
    after = `&starting_after=${page.data.at(-1)!.id}`;
  }
}

/** An unanswered upload that left a row must have its bytes, whose digest is in the row. */
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
    const db = openIndexed(folder);
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

/** Queries for rows of partial writes. Each must find none. No writer leaves a conversation or blocks anybody. */
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
  "attachments that a member has no grant for": `SELECT a.id FROM attachments a
    JOIN members s ON s.conversation_id = a.conversation_id
    LEFT JOIN grants g ON g.user_id = s.user_id AND g.attachment_id = a.id WHERE g.user_id IS NULL`,
  "grants without an attachment":
    "SELECT attachment_id FROM grants WHERE attachment_id NOT IN (SELECT id FROM attachments)",
  "attachments without a message":
    "SELECT id FROM attachments WHERE message_id NOT IN (SELECT id FROM messages)",
  "messages without anything": `SELECT id FROM messages
    WHERE body_id IS NULL AND id NOT IN (SELECT message_id FROM attachments)`,
  "messages that lost their files": `SELECT id FROM messages
    WHERE has_files = 1 AND id NOT IN (SELECT message_id FROM attachments)`,
  "messages that lost what was written": `SELECT m.id FROM messages m LEFT JOIN message_bodies b ON b.id = m.body_id
    WHERE m.body_id IS NOT NULL AND b.text IS NULL AND b.data IS NULL`,
  "messages above the place of a member": `SELECT m.id FROM messages m JOIN members s ON s.conversation_id = m.conversation_id
    LEFT JOIN places p ON p.user_id = s.user_id AND p.conversation_id = s.conversation_id
    WHERE COALESCE(p.position, '') < substr(m.id, 5)`,
  "messages that their conversation does not count": `SELECT id FROM messages WHERE id >
    COALESCE((SELECT last_id FROM conversations WHERE id = messages.conversation_id), '')`,
  "what users wrote, though nobody did": `SELECT id FROM message_bodies WHERE (text IS NOT NULL OR data IS NOT NULL)
    AND id NOT IN (SELECT body_id FROM messages WHERE body_id IS NOT NULL)`,
  "places and marks without a membership": `SELECT conversation_id FROM
    (SELECT conversation_id FROM places UNION SELECT conversation_id FROM marks) AS own
    WHERE conversation_id NOT IN (SELECT conversation_id FROM members)`,
  "small files without a row":
    "SELECT attachment_id FROM small_files WHERE attachment_id NOT IN (SELECT id FROM attachments UNION SELECT id FROM avatars)",
  "rows without their small file":
    "SELECT id FROM (SELECT id, blob_key FROM attachments UNION SELECT id, blob_key FROM avatars) AS f WHERE blob_key = id AND id NOT IN (SELECT attachment_id FROM small_files)",
  "users without their picture, and pictures without their user": `SELECT u.id FROM users u FULL JOIN avatars a
    ON a.user_id = u.id WHERE COALESCE(u.avatar_id, '') <> COALESCE(a.id, '')`,
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
  const isWhole = async () => {
    const [files, attached, growing, grown] = await Promise.all([
      stored("blobs"),
      tables(
        "SELECT blob_key FROM attachments WHERE blob_key <> id UNION SELECT blob_key FROM avatars WHERE blob_key <> id",
      ),
      tables("SELECT blob_key FROM uploads WHERE attachment_id IS NULL"),
      tables("SELECT blob_key FROM uploads WHERE attachment_id IS NULL AND received > 0"),
    ]);
    const known = new Set([...attached, ...growing]);
    const isKnown = files.every((file) => known.has(file));
    return isKnown && [...attached, ...grown].every((key) => files.includes(key as string));
  };
  if (!(await eventually(isWhole))) problems.push("rows and files differ");
  if (!(await eventually(async () => (await tables("SELECT blob_key FROM tombstones")).length === 0))) {
    problems.push("tombstones are left");
  }
  return problems;
}
