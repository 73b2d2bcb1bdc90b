// Resumable uploads: what is acknowledged, who may continue one, and what limits them.
import type { Mutant } from "./mutant.ts";

export const uploads: readonly Mutant[] = [
  {
    name: "strangers end the requests of an upload",
    find: "`${caller.userId} ${id}`",
    replace: "id",
    tests: ["acceptance/resumable"],
  },
  {
    name: "what came before a connection ended is lost",
    find: "INTERRUPTED.has(error.code) && !check) await this.keep();",
    replace: "INTERRUPTED.has(error.code) && check) await this.keep();",
    tests: ["acceptance/resumable"],
  },
  {
    name: "the uploads of other users",
    find: "WHERE id = ${id} AND user_id = ${userId} AND expires_at",
    replace: "WHERE id = ${id} AND user_id >= ${userId.slice(4)} AND expires_at",
    tests: ["http/matrix"],
  },
  {
    name: "the list of uploads has those of other users",
    find: "WHERE user_id = ${userId} AND attachment_id IS NULL AND expires_at",
    replace: "WHERE user_id >= ${userId.slice(4)} AND attachment_id IS NULL AND expires_at",
    tests: ["http/upload-lists"],
  },
  {
    name: "another node may still write to an upload that was taken",
    find: "sql`id = ${id} AND holder = ${holder} AND attachment_id IS NULL`",
    replace: "sql`id = ${id} AND holder <> ${holder.slice(1)} AND attachment_id IS NULL`",
    tests: ["contract/upload-holders"],
  },
];
