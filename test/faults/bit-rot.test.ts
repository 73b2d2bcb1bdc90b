import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { Client } from "../support/client.ts";
import { type CommandLine, commandLine, tokenOf } from "../support/command.ts";
import { AckRecord } from "../support/record.ts";
import { addPart, beginUpload } from "../support/resuming.ts";

const FLIPS = 6;

interface Sent {
  id: string;
  file_url: string;
  bytes: Buffer<ArrayBuffer>;
}

async function served(t: TestContext): Promise<{
  command: CommandLine;
  token: string;
  send: (size: number, isResumable?: boolean) => Promise<Sent>;
}> {
  const command = await commandLine(t);
  const server = await command.serve();
  const token = tokenOf(server);
  const headers = { authorization: `Bearer ${token}` };
  const send = async (size: number, isResumable = false) => {
    const bytes = randomBytes(size);
    const form = new FormData();
    form.set("file", new File([bytes], "a.bin"));
    const made = isResumable
      ? await fetch(`${command.url}/v1/uploads?filename=a.bin`, {
          method: "POST",
          headers: { ...headers, "upload-complete": "?1" },
          body: bytes,
        })
      : await fetch(`${command.url}/v1/attachments`, { method: "POST", headers, body: form });
    assert.ok(made.ok, `${made.status}`);
    return { ...((await made.json()) as { id: string; file_url: string }), bytes };
  };
  return { command, token, send };
}

async function flipBit(path: string, bit: number): Promise<void> {
  const file = await open(path, "r+");
  const byte = Buffer.alloc(1);
  await file.read(byte, 0, 1, bit >> 3);
  byte[0]! ^= 1 << (bit & 7);
  await file.write(byte, 0, 1, bit >> 3);
  await file.close();
}

async function isNamed(command: CommandLine, { id }: Pick<Sent, "id">): Promise<boolean> {
  const { code, stdout } = await command.run("check", "--json");
  assert.equal(code, 1);
  const findings = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { attachment_id?: string });
  return findings.some((finding) => finding.attachment_id === id);
}

test("one bit flipped in a stored file: no clean 200, and check names the file", async (t) => {
  const { command, send } = await served(t);
  const places: number[] = [];
  const whole = await send(3_000_000);
  for (let i = 0; i < FLIPS; i++) {
    const size = i === 2 ? 40_000 : 300_000 + Math.floor(Math.random() * 3_000_000);
    const sent = await send(size, i % 2 === 1);
    const db = new DatabaseSync(join(command.env.PARLEY_DATA!, "parley.db"));
    const key = String(db.prepare("SELECT blob_key FROM attachments WHERE id = ?").get(sent.id)!.blob_key);
    // One file has no CRC, like older files, so only its SHA-256 shows the damage.
    if (i === 0) db.prepare("UPDATE attachments SET crc32 = NULL WHERE id = ?").run(sent.id);
    db.close();
    // An off-by-one error would miss the first or the last bit.
    const bit = i < 2 ? i * (size * 8 - 1) : Math.floor(Math.random() * size * 8);
    places.push(bit);
    await flipBit(join(command.env.PARLEY_DATA!, "blobs", key.slice(0, 2), key), bit);
    const answer = await fetch(sent.file_url);
    if (answer.status === 200) await assert.rejects(answer.arrayBuffer(), `bit ${bit} of ${size} bytes`);
    else {
      assert.equal(answer.status, 500);
      assert.equal(answer.headers.get("etag"), null);
    }
    // A client whose download was cut off requests the rest like this.
    const rest = await fetch(sent.file_url, { headers: { range: "bytes=1-" } });
    assert.equal(rest.status, 500, "the rest of a file that was found damaged");
    assert.ok(await isNamed(command, sent));
  }
  assert.deepEqual(Buffer.from(await (await fetch(whole.file_url)).arrayBuffer()), whole.bytes);
  t.diagnostic(`${FLIPS} files, one bit each: ${places.join(", ")}; each was cut and named`);
});

test("one bit flipped in a file while it is uploaded in parts: no clean 200, and check names the file", async (t) => {
  const { command, token } = await served(t);
  const client = new Client(command.url, token);
  t.after(() => client.close());
  const record = new AckRecord();
  const bytes = randomBytes(600_000);
  const { upload } = await beginUpload(client, "a.bin", bytes);
  assert.equal((await addPart(client, record, upload!, 300_000)).status, 204);
  const db = new DatabaseSync(join(command.env.PARLEY_DATA!, "parley.db"), { readOnly: true });
  const key = String(db.prepare("SELECT blob_key FROM uploads").get()!.blob_key);
  db.close();
  await flipBit(join(command.env.PARLEY_DATA!, "blobs", key.slice(0, 2), key), 299_999 * 8);
  assert.equal((await addPart(client, record, upload!, bytes.length)).status, 204);
  const { data } = await client.get<{ data: Omit<Sent, "bytes">[] }>("/v1/attachments");
  const answer = await fetch(data[0]!.file_url);
  if (answer.status === 200) await assert.rejects(answer.arrayBuffer());
  else assert.equal(answer.status, 500);
  assert.ok(await isNamed(command, data[0]!));
});

test("one bit flipped in a small file in the database: 500, and check names the file", async (t) => {
  const { command, send } = await served(t);
  const sent = await send(5000);
  const damaged = Buffer.from(sent.bytes);
  damaged[4999]! ^= 1;
  const db = new DatabaseSync(join(command.env.PARLEY_DATA!, "parley.db"));
  db.prepare("UPDATE small_files SET bytes = ? WHERE attachment_id = ?").run(damaged, sent.id);
  db.close();
  assert.equal((await fetch(sent.file_url)).status, 500);
  assert.equal((await fetch(sent.file_url, { headers: { range: "bytes=0-9" } })).status, 500);
  assert.ok(await isNamed(command, sent));
});
