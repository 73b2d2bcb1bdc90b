import { createHash } from "node:crypto";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Parley } from "../../../packages/parley-client/src/index.ts";
import { memoryStore, openSync, type Sync } from "../../../packages/parley-sync/src/index.ts";
import { sqliteStore } from "../../../packages/parley-sync/src/sqlite.ts";
import { OperatorError } from "../../errors.ts";
import type { Io } from "../io.ts";
import { asOperatorError } from "../system-errors.ts";
import type { Access } from "./access.ts";
import { personalFolder } from "./login-file.ts";

const SQLITE_BUSY = 5;

/** A local copy of what a user sees, with the messages that wait for the server. */
export interface Copy {
  sync: Sync;
  /** Whether it outlasts this command. */
  isKept: boolean;
}

/**
 * Opens the copy of the user who is logged in. Without a login, or if the file can't be used, the copy is in memory. A user's
 * copy has its name from the server and the user, so that nobody else's login opens it.
 */
export async function openCopy(io: Io, client: Parley, { url, user_id }: Access): Promise<Copy> {
  if (user_id !== undefined && io.actAs === undefined) {
    const name = createHash("sha256")
      .update(JSON.stringify([url, user_id]))
      .digest("hex");
    try {
      await mkdir(copiesFolder(io), { recursive: true, mode: 0o700 });
      const store = sqliteStore(join(copiesFolder(io), `${name}.db`));
      return { sync: await openSync({ client, store }), isKept: true };
    } catch (error) {
      io.warn(`${whyUnusable(error)} What this chat has not sent when it ends is lost.`);
    }
  }
  return { sync: await openSync({ client, store: memoryStore() }), isKept: false };
}

function whyUnusable(error: unknown): string {
  if ((error as { errcode?: number }).errcode === SQLITE_BUSY)
    return "Another parley chat has your messages open.";
  const known = asOperatorError(error);
  if (!(known instanceof OperatorError)) throw error;
  return `The copy of your messages can't be opened: ${known.message}`;
}

/** Erases the copies of all users. A running chat continues in memory. */
export async function eraseCopies(io: Io): Promise<void> {
  await rm(copiesFolder(io), { recursive: true, force: true });
}

function copiesFolder(io: Io): string {
  return join(personalFolder(io), "copies");
}
