// Resumable uploads: what is acknowledged, who may continue one, and what limits them.
import type { Mutant } from "./mutant.ts";

const APPENDING = "src/core/files/upload-append.ts";
const RESUMABLE = "src/core/files/upload-resumable.ts";
const RESUMABLES = "src/core/node/resumables.ts";
const QUERIES = "src/db/queries/files/upload-resumable.ts";

export const uploads: readonly Mutant[] = [
  {
    name: "a newer request waits for an older one instead of ending it",
    file: RESUMABLES,
    find: "    before?.end();\n",
    replace: "",
    tests: ["acceptance/files/resumable"],
  },
  {
    name: "strangers end the requests of an upload",
    file: RESUMABLE,
    find: "`${caller.userId} ${id}`",
    replace: "id",
    tests: ["acceptance/files/resumable"],
  },
  {
    name: "bytes with a wrong checksum are kept",
    file: APPENDING,
    find: "if (check && !check.digest().equals(checksum!.expected))",
    replace: "if (check && !checksum)",
    tests: ["acceptance/files/resumable"],
  },
  {
    name: "what came before a connection ended is lost",
    file: APPENDING,
    find: "INTERRUPTED.has(error.code) && !check) await this.keep();",
    replace: "INTERRUPTED.has(error.code) && check) await this.keep();",
    tests: ["acceptance/files/resumable"],
  },
  {
    name: "bytes go anywhere in the file",
    file: RESUMABLE,
    find: "  if (given === expected) return;\n",
    replace: "  if (given !== undefined) return;\n",
    tests: ["acceptance/files/resumable"],
  },
  {
    name: "the uploads of other users",
    file: QUERIES,
    find: "WHERE id = ${id} AND user_id = ${userId} AND expires_at",
    replace: "WHERE id = ${id} AND user_id >= ${userId.slice(4)} AND expires_at",
    tests: ["http/visibility/matrix"],
  },
  {
    name: "the list of uploads has those of other users",
    file: QUERIES,
    find: "WHERE user_id = ${userId} AND attachment_id IS NULL AND expires_at",
    replace: "WHERE user_id >= ${userId.slice(4)} AND attachment_id IS NULL AND expires_at",
    tests: ["http/files/upload-lists"],
  },
  {
    name: "an expired upload goes on",
    file: QUERIES,
    find: "AND expires_at > ${now}`",
    replace: "AND expires_at > ${now} * 0`",
    tests: ["http/files/resumable.all"],
  },
  {
    name: "a user may have any number of unfinished uploads",
    file: QUERIES,
    find: "if (count >= limit) {",
    replace: "if (count < 0) {",
    tests: ["http/files/resumable.all"],
  },
  {
    name: "an upload begins beyond the quota",
    file: QUERIES,
    find: "if (quota > 0 && length !== null) {",
    replace: "if (quota < 0 && length !== null) {",
    tests: ["http/files/resumable.all"],
  },
  {
    name: "another node may still write to an upload that was taken",
    file: QUERIES,
    find: "sql`id = ${id} AND holder = ${holder} AND attachment_id IS NULL`",
    replace: "sql`id = ${id} AND holder <> ${holder.slice(1)} AND attachment_id IS NULL`",
    tests: ["contract/files/upload-holders"],
  },
  {
    name: "a restart forgets what an upload has reserved",
    file: "src/db/queries/storage/storage-used.ts",
    find: "NOT EXISTS (SELECT 1 FROM uploads u WHERE u.id = reservations.id)",
    replace: "NOT EXISTS (SELECT 1 FROM uploads u WHERE u.id = '')",
    tests: ["http/files/resumable.all"],
  },
  {
    name: "a resumable upload may have a refused type",
    file: APPENDING,
    find: "    checkType(type, limits);\n",
    replace: "",
    tests: ["http/files/resumable.all"],
  },
];
