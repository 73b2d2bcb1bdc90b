// Adds more files than a test can upload.
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { TestApp } from "./app.ts";

/**
 * Gives the user this many copies of a file under other names. Their ids begin with `start`, of four characters, which
 * decides where they sort.
 */
export function addFiles(server: TestApp, userId: string, id: string, start: string, count: number): void {
  using db = new DatabaseSync(join(server.config.dataFolder, "parley.db"));
  const columns = (
    db.prepare("SELECT name FROM pragma_table_info('attachments')").all() as { name: string }[]
  )
    .map(({ name }) => name)
    .filter((name) => !["id", "filename", "blob_key"].includes(name));
  const numbers = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})`;
  const copy = `'att_${start}' || printf('%022d', i)`;
  db.exec(`${numbers} INSERT INTO attachments (id, blob_key, filename, ${columns})
    SELECT ${copy}, ${copy}, 'other ' || i || '.txt', ${columns} FROM n, attachments WHERE id = '${id}'`);
  db.exec(`${numbers} INSERT INTO grants (user_id, attachment_id, conversation_id)
    SELECT user_id, ${copy}, conversation_id FROM n, grants WHERE attachment_id = '${id}' AND user_id = '${userId}'`);
}
