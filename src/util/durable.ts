import { open } from "node:fs/promises";

/** Syncs a folder: an entry that was made, linked or removed in it is durable only after this. */
export async function syncFolder(path: string): Promise<void> {
  await syncFile(path);
}

/** Syncs a file that somebody else has written. */
export async function syncFile(path: string): Promise<void> {
  const file = await open(path, "r");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
