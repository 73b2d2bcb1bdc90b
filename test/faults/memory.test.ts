// F11: a file far larger than the heap is uploaded and downloaded.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { request } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type TestContext, test } from "node:test";
import { type CommandLine, commandLine, tokenOf } from "../support/command.ts";
import { credentials, noS3, storeUrl, testBucket } from "../support/engines/s3.ts";
import { scaled } from "../support/scale.ts";
import { inMib, noProc, residentBytes } from "../support/usage.ts";

const MIB = 1024 * 1024;
/** A megabyte that differs for each number, so that a lost, repeated or moved piece is noticed. */
function piece(number: number): Buffer {
  const bytes = Buffer.alloc(MIB, number % 251);
  bytes.writeUInt32BE(number);
  return bytes;
}

interface Case {
  skip: string | false;
  sizeMib: number;
  /** The limit is the same for all sizes. */
  maxGrowth: number;
  settings(t: TestContext): Record<string, string>;
}

const CASES: Record<string, Case> = {
  disk: { skip: noProc, sizeMib: scaled(256, 10 * 1024), maxGrowth: 100 * MIB, settings: () => ({}) },
  S3: {
    skip: noProc || noS3,
    sizeMib: scaled(256, 10 * 1024),
    maxGrowth: 150 * MIB,
    settings: (t) => ({ PARLEY_STORE: storeUrl(testBucket(t)), ...credentials() }),
  },
};

/** How a file is sent: the request, and the bytes before and after the file. */
interface Way {
  path: string;
  headers: Record<string, string>;
  head: string;
  tail: string;
}

const WAYS: Record<string, Way> = {
  "in a form": {
    path: "/v1/attachments",
    headers: { "content-type": "multipart/form-data; boundary=b" },
    head: '--b\r\nContent-Disposition: form-data; name="file"; filename="big.bin"\r\n\r\n',
    tail: "\r\n--b--\r\n",
  },
  "as a resumable upload": {
    path: "/v1/uploads?filename=big.bin",
    headers: { "upload-complete": "?1" },
    head: "",
    tail: "",
  },
};

const BOTH = Object.entries(CASES).flatMap(([name, each]) =>
  Object.entries(WAYS).map(([how, way]) => ({ ...each, way, where: `to ${name} ${how}` })),
);
for (const { skip, sizeMib, maxGrowth, settings, way, where } of BOTH) {
  const what = `${sizeMib} MiB are uploaded ${where} and downloaded unchanged with a heap of 128 MB`;
  test(`F11 ${what}, RSS within ${inMib(maxGrowth)} of idle`, { skip }, async (t) => {
    const command = await commandLine(t, {
      NODE_OPTIONS: "--max-old-space-size=128",
      PARLEY_MAX_FILE_SIZE: "0",
      ...settings(t),
    });
    const growth = await grow(t, command, sizeMib, way);
    assert.ok(growth <= maxGrowth, `RSS grew by ${inMib(growth)}`);
  });
}

/** Uploads and downloads a file of this size. Returns how many bytes the server has grown. */
async function grow(t: TestContext, command: CommandLine, sizeMib: number, way: Way): Promise<number> {
  const server = await command.serve();
  const headers = { authorization: `Bearer ${tokenOf(server)}` };
  await fetch(`${command.url}/v1/contacts`, { headers });
  const idle = residentBytes(server.process.pid!);
  let peak = idle;
  const watch = setInterval(() => {
    peak = Math.max(peak, residentBytes(server.process.pid!));
  }, 20);
  t.after(() => clearInterval(watch));
  const sent = createHash("sha256");
  async function* body() {
    yield Buffer.from(way.head);
    for (let i = 0; i < sizeMib; i++) {
      const bytes = piece(i);
      sent.update(bytes);
      yield bytes;
    }
    yield Buffer.from(way.tail);
  }
  const upload = request(command.url + way.path, { method: "POST", headers: { ...headers, ...way.headers } });
  const answered = new Promise<string>((resolve, reject) => {
    upload.on("response", async (response) => resolve((await response.toArray()).join("")));
    upload.on("error", reject);
  });
  await pipeline(Readable.from(body()), upload);
  const attachment = JSON.parse(await answered);
  assert.equal(attachment.file_size, sizeMib * MIB);
  const received = createHash("sha256");
  for await (const chunk of (await fetch(attachment.file_url)).body!) received.update(chunk);
  assert.equal(received.digest("hex"), sent.digest("hex"));
  // The measurement reads /proc, so it ends before the process.
  clearInterval(watch);
  t.diagnostic(`RSS idle ${inMib(idle)}, peak ${inMib(peak)}`);
  return peak - idle;
}
