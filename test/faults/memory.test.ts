// F11: a file far larger than the heap goes up and comes back.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { request } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { test } from "node:test";
import { commandLine, tokenOf } from "../http/command.ts";
import { scaled } from "./scale.ts";
import { inMib, noProc, residentBytes } from "./usage.ts";

const MIB = 1024 * 1024;
// The bound is the same for both sizes.
const SIZE_MIB = scaled(1024, 10 * 1024);
const MAX_GROWTH = 100 * MIB;

/** A megabyte that is different for each number, so that a lost, doubled or moved piece shows. */
function piece(number: number): Buffer {
  const bytes = Buffer.alloc(MIB, number % 251);
  bytes.writeUInt32BE(number);
  return bytes;
}

test(`F11 ${SIZE_MIB} MiB go up and come back equal with a heap of 128 MB, RSS within ${inMib(MAX_GROWTH)} of idle`, {
  skip: noProc,
}, async (t) => {
  const command = await commandLine(t, {
    NODE_OPTIONS: "--max-old-space-size=128",
    PARLEY_MAX_FILE_SIZE: "0",
  });
  const server = await command.serve();
  const headers = { authorization: `Bearer ${tokenOf(server)}` };
  await fetch(`${command.url}/v1/contacts`, { headers });
  const idle = residentBytes(server.process.pid!);
  let peak = idle;
  const watch = setInterval(() => {
    peak = Math.max(peak, residentBytes(server.process.pid!));
  }, 20);
  const sent = createHash("sha256");
  async function* body() {
    yield Buffer.from('--b\r\nContent-Disposition: form-data; name="file"; filename="big.bin"\r\n\r\n');
    for (let i = 0; i < SIZE_MIB; i++) {
      const bytes = piece(i);
      sent.update(bytes);
      yield bytes;
    }
    yield Buffer.from("\r\n--b--\r\n");
  }
  const upload = request(`${command.url}/v1/attachments`, {
    method: "POST",
    headers: { ...headers, "content-type": "multipart/form-data; boundary=b" },
  });
  const answered = new Promise<string>((resolve, reject) => {
    upload.on("response", async (response) => resolve((await response.toArray()).join("")));
    upload.on("error", reject);
  });
  await pipeline(Readable.from(body()), upload);
  const attachment = JSON.parse(await answered);
  assert.equal(attachment.file_size, SIZE_MIB * MIB);
  const received = createHash("sha256");
  for await (const chunk of (await fetch(attachment.file_url)).body!) received.update(chunk);
  clearInterval(watch);
  assert.equal(received.digest("hex"), sent.digest("hex"));
  t.diagnostic(`RSS idle ${inMib(idle)}, peak ${inMib(peak)}`);
  assert.ok(peak - idle <= MAX_GROWTH, `RSS grew from ${inMib(idle)} to ${inMib(peak)}`);
});
