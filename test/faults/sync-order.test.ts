// F2: what a power cut leaves is decided by the order of the syncs. Where one takes others with it, as that of the log does on
// ext4, no cut shows that one is missing. Here the kernel tells.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { addPart, beginUpload } from "../support/resuming.ts";
import { noStrace, trace } from "../support/strace.ts";
import { Subject } from "./subject.ts";

const TOO_LARGE_FOR_THE_DATABASE = 40_000;
const CALLS = "trace=fsync,fdatasync,link,linkat,write,writev,sendto,sendmsg";

/** What a line of strace tells, by its path or its first bytes. */
const STEPS: [step: string, call: RegExp][] = [
  ["grown", /f(?:data)?sync\(.*\/blobs\/[0-9a-f]{2}\/[0-9a-f]{32}>/],
  ["file", /f(?:data)?sync\(.*\/tmp\/[0-9a-f]{32}>/],
  ["link", /link(?:at)?\(.*\/blobs\//],
  ["folder", /f(?:data)?sync\(.*\/blobs\/[0-9a-f]{2}>/],
  ["log", /f(?:data)?sync\(.*\/parley\.db-wal>/],
  ["201", /"HTTP\/1\.1 201/],
  ["204", /"HTTP\/1\.1 204/],
];

/** The returned function ends the trace and tells the steps of all calls since. */
async function watchSteps(t: TestContext, { server, client, data }: Subject): Promise<() => Promise<string>> {
  const log = join(data, "..", "calls");
  // With the paths of descriptors, and each call in one line, when it has succeeded.
  const detach = await trace(t, server, "-y", "-z", "-s", "16", "-e", CALLS, "-o", log);
  return async () => {
    // An answer can arrive before the call that sent it is over, and so told. Before another one is sent, it is.
    await client.send("GET", "/readyz");
    await detach();
    const calls = (await readFile(log, "utf8")).split("\n");
    return calls.flatMap((line) => STEPS.find(([, call]) => call.test(line))?.[0] ?? []).join(" ");
  };
}

test("F2 an upload is answered after its file, the folder and the log were synced, and a delete after the log was", {
  skip: noStrace,
}, async (t) => {
  const subject = await Subject.start(t);
  const { client } = subject;
  const steps = await watchSteps(t, subject);
  const made = await client.upload("a", Buffer.alloc(TOO_LARGE_FOR_THE_DATABASE, "x"));
  assert.equal(made.status, 201);
  const { id } = JSON.parse(made.body.toString()) as { id: string };
  assert.equal((await client.send("DELETE", `/v1/attachments/${id}`)).status, 204);
  // Who was seen last is written now and then, too.
  assert.match(await steps(), /^(?:log )*file (?:log )*link (?:log )*folder (?:log )+201 (?:log )+204\b/);
});

test("F2 an offset is told after its bytes, their folder and the log were synced", {
  skip: noStrace,
}, async (t) => {
  const subject = await Subject.start(t);
  const { client, record } = subject;
  const steps = await watchSteps(t, subject);
  const { upload } = await beginUpload(client, "a", Buffer.alloc(3000, "x"));
  assert.equal((await addPart(client, record, upload!, 1000)).status, 204);
  assert.equal((await addPart(client, record, upload!, 3000)).status, 204);
  assert.match(
    await steps(),
    /^(?:log )+201 (?:log )*grown (?:log )*folder (?:log )+204 (?:log )*grown (?:log )+204\b/,
  );
});
