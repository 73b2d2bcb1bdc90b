// Resumable uploads: what is acknowledged, who may continue one, and their limits.
import type { Mutant } from "./mutant.ts";

export const uploads: readonly Mutant[] = [
  {
    name: "other users can end the requests of an upload",
    find: "`${caller.userId} ${id}`",
    replace: "id",
    tests: ["acceptance/resumable"],
  },
  {
    name: "bytes received before a connection ended are lost",
    find: "INTERRUPTED.has(error.code) && !check) await this.keep();",
    replace: "INTERRUPTED.has(error.code) && check) await this.keep();",
    tests: ["acceptance/resumable"],
  },
  {
    name: "everybody can access the uploads of others",
    find: "WHERE id = ${id} AND user_id = ${userId} AND expires_at",
    replace: "WHERE id = ${id} AND user_id >= ${userId.slice(4)} AND expires_at",
    tests: ["http/matrix"],
  },
  {
    name: "a list has the uploads of all users",
    find: "WHERE user_id = ${userId} AND attachment_id IS NULL AND expires_at",
    replace: "WHERE user_id >= ${userId.slice(4)} AND attachment_id IS NULL AND expires_at",
    tests: ["http/upload-lists"],
  },
  {
    name: "a node can write to an upload that another has taken over",
    find: "sql`id = ${id} AND holder = ${holder} AND attachment_id IS NULL`",
    replace: "sql`id = ${id} AND holder <> ${holder.slice(1)} AND attachment_id IS NULL`",
    tests: ["contract/upload-holders"],
  },
  {
    name: "bytes with a wrong checksum are kept",
    find: "if (check && !check.digest().equals(checksum!.expected))",
    replace: "if (check && !checksum)",
    tests: ["acceptance/resumable"],
  },
];
