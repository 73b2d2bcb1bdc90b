import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Io } from "../io.ts";
import { personalFolder } from "./login-file.ts";

/** The note of an upload that is not complete, by which the same command continues it. */
export interface Note {
  /** Returns the id of the upload; undefined if there is none. */
  read(): string | undefined;
  write(id: string): void;
  drop(): void;
}

/** Returns the note of this upload: `asked` is everything that makes it another one. */
export function noteOf(io: Io, asked: readonly unknown[]): Note {
  const folder = join(personalFolder(io), "uploads");
  const path = join(folder, createHash("sha256").update(JSON.stringify(asked)).digest("hex"));
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
        // Without the note the upload goes on all the same, but no other command can continue it.
      }
    },
    drop: () => rmSync(path, { force: true }),
  };
}
