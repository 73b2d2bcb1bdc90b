import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Io } from "../io.ts";
import { personalFolder } from "./login-file.ts";

/** Remembers the id of an unfinished upload, so that the same command can continue it. */
export interface Note {
  /** Returns the id of the upload; undefined if there is none. */
  read(): string | undefined;
  write(id: string): void;
  drop(): void;
}

/** Returns the note of an upload, which is identified by all of its `parts`. */
export function toNote(io: Io, parts: readonly unknown[]): Note {
  const folder = join(personalFolder(io), "uploads");
  const path = join(folder, createHash("sha256").update(JSON.stringify(parts)).digest("hex"));
  return {
    read() {
      try {
        return /^upl_\w+$/.exec(readFileSync(path, "utf8").trim())?.[0];
      } catch {
        return undefined;
      }
    },
    write(id) {
      try {
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        writeFileSync(path, `${id}\n`, { mode: 0o600 });
      } catch {
        // The upload still works, but no later command can continue it.
      }
    },
    drop: () => rmSync(path, { force: true }),
  };
}
