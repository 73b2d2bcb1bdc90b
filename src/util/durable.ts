import { open } from "node:fs/promises";

/** Syncs a folder: an entry that was made, linked or removed in it is durable only after this. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
