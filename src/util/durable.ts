import { open } from "node:fs/promises";

/** Syncs a folder: entries created, linked or removed in it are durable only after this. */
export async function syncFolder(path: string): Promise<void> {
  await syncFile(path);
}

/** Syncs a file that another process or function wrote. */
export async function syncFile(path: string): Promise<void> {
  const file = await open(path, "r");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
