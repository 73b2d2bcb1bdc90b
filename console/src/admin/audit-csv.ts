// Audit entries as the lines of a CSV file (RFC 4180).
import type { AuditEntry } from "../../../packages/parley-client/src/index.ts";
import { toSentence, toText } from "./audit-words.ts";
import type { UserDirectory } from "./directory.tsx";

const HEADER = "time,what,action,actor_id,actor,token_id,object_id,details,acted_by_id\r\n";

export async function toCsv(entries: readonly AuditEntry[], directory: UserDirectory): Promise<string[]> {
  const ids = new Set(
    entries.flatMap((entry) =>
      toSentence(entry).flatMap((part) => (typeof part === "object" && "userId" in part ? part.userId : [])),
    ),
  );
  const names = new Map<string, string>();
  for (const id of ids) {
    const user = await directory.get(id);
    if (user) names.set(id, user.username);
  }
  const toName = (id: string) => names.get(id);
  const toLine = (entry: AuditEntry) =>
    [
      new Date(entry.created_at * 1000).toISOString(),
      toText(toSentence(entry), toName),
      entry.action,
      entry.actor_id,
      entry.actor_id && (toName(entry.actor_id) ?? null),
      entry.token_id,
      entry.object_id,
      entry.details && JSON.stringify(entry.details),
      entry.acted_by_id,
    ]
      .map(toCell)
      .join();
  return [HEADER, ...entries.map((entry) => `${toLine(entry)}\r\n`)];
}

/** Quotes a cell. Names are free text, and a spreadsheet would run a cell that begins like a formula. */
export function toCell(value: string | null): string {
  const text = value ?? "";
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
