import { createHash, randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { CommandLine } from "./command.ts";

/** Acknowledged writes: ids of contacts, messages with their text, and attachments with their SHA-256. */
export interface Acknowledged {
  contacts: Set<string>;
  messages: Map<string, string>;
  files: Map<string, string>;
  deleted: Set<string>;
}

export const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

export const nothing = (): Acknowledged => ({
  contacts: new Set(),
  messages: new Map(),
  files: new Map(),
  deleted: new Set(),
});

/** Writes until the server or the caller stops, and records only acknowledged writes. */
export async function write(
  command: CommandLine,
  headers: Record<string, string>,
  known: Acknowledged,
  goesOn: () => boolean = () => true,
): Promise<void> {
  const me = await fetch(`${command.url}/v1/me`, { headers });
  const { conversation_id } = (await me.json()) as { conversation_id: string };
  try {
    while (goesOn()) {
      const name = randomBytes(8).toString("hex");
      const body = new URLSearchParams({ username: name, phone_number: "555" });
      const made = await fetch(`${command.url}/v1/contacts`, { method: "POST", headers, body });
      if (made.status === 201) known.contacts.add(((await made.json()) as { id: string }).id);
      const message = new URLSearchParams({ conversation_id, text: name });
      const said = await fetch(`${command.url}/v1/messages`, { method: "POST", headers, body: message });
      if (said.status === 201) known.messages.set(((await said.json()) as { id: string }).id, name);
      const bytes = randomBytes(Math.floor(Math.random() * 200_000));
      const form = new FormData();
      form.set("file", new File([bytes], name));
      const sent = await fetch(`${command.url}/v1/attachments`, { method: "POST", headers, body: form });
      if (sent.status !== 201) continue;
      const { id } = (await sent.json()) as { id: string };
      if (Math.random() < 0.3) {
        // Without an answer the delete may have happened or not, so the file is neither expected nor forbidden.
        const gone = await fetch(`${command.url}/v1/attachments/${id}`, { method: "DELETE", headers });
        if (gone.status === 204) known.deleted.add(id);
      } else known.files.set(id, sha256(bytes));
    }
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof SyntaxError)) throw error;
  }
}

export interface Stored {
  id: string;
  path: string;
  key: string;
}

/** Uploads a file of 100,000 bytes, and returns the path where the server stored it. */
export async function send(command: CommandLine, token: string, filename: string): Promise<Stored> {
  const form = new FormData();
  form.set("file", new File([Buffer.alloc(100_000, filename)], filename));
  const headers = { authorization: `Bearer ${token}` };
  const answer = await fetch(`${command.url}/v1/attachments`, { method: "POST", headers, body: form });
  const { id } = (await answer.json()) as { id: string };
  const db = new DatabaseSync(join(command.env.PARLEY_DATA!, "parley.db"), { readOnly: true });
  const { key } = db.prepare("SELECT blob_key AS key FROM attachments WHERE id = ?").get(id) as {
    key: string;
  };
  db.close();
  return { id, key, path: join(command.env.PARLEY_DATA!, "blobs", key.slice(0, 2), key) };
}

/** Flips a bit, like a failing disk. */
export async function flipBit(path: string): Promise<void> {
  const bytes = await readFile(path);
  bytes[50_000]! ^= 1;
  await writeFile(path, bytes);
}
