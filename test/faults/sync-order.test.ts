// F2: the order of syncs decides what survives a power cut. A sync of the log on ext4 also writes other files, so no
// power cut shows that one of their syncs is missing. strace does.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { addPart, beginUpload } from "../support/resuming.ts";
import { noStrace, trace } from "../support/strace.ts";
import { Subject } from "./subject.ts";

const TOO_LARGE_FOR_THE_DATABASE = 40_000;
const CALLS = "trace=fsync,fdatasync,link,linkat,write,writev,sendto,sendmsg";

/** The steps in lines of strace, recognized by path or first bytes. */
const STEPS: [step: string, call: RegExp][] = [
  ["grown", /f(?:data)?sync\(.*\/blobs\/[0-9a-f]{2}\/[0-9a-f]{32}>/],
  ["file", /f(?:data)?sync\(.*\/tmp\/[0-9a-f]{32}>/],
  ["link", /link(?:at)?\(.*\/blobs\//],
  ["folder", /f(?:data)?sync\(.*\/blobs\/[0-9a-f]{2}>/],
  ["log", /f(?:data)?sync\(.*\/parley\.db-wal>/],
  ["201", /"HTTP\/1\.1 201/],
  ["204", /"HTTP\/1\.1 204/],
];

/** Starts a trace. The returned function ends it and returns the steps of all calls since. */
async function watchSteps(t: TestContext, { server, client, data }: Subject): Promise<() => Promise<string>> {
  const log = join(data, "..", "calls");
  // Shows the paths of descriptors, and only successful calls, each on one line.
  const detach = await trace(t, server, "-y", "-z", "-s", "16", "-e", CALLS, "-o", log);
  return async () => {
    // An answer can arrive before strace prints the call that sent it, but not after the next answer.
    await client.send("GET", "/readyz");
    await detach();
    const calls = (await readFile(log, "utf8")).split("\n");
    return calls.flatMap((line) => STEPS.find(([, call]) => call.test(line))?.[0] ?? []).join(" ");
  };
}

test("F2 an upload is answered after syncs of its file, the folder and the log, and a delete after a sync of the log", {
  skip: noStrace,
}, async (t) => {
  const subject = await Subject.start(t);
  const { client } = subject;
  const steps = await watchSteps(t, subject);
  const made = await client.upload("a", Buffer.alloc(TOO_LARGE_FOR_THE_DATABASE, "x"));
  assert.equal(made.status, 201);
  const { id } = JSON.parse(made.body.toString()) as { id: string };
  assert.equal((await client.send("DELETE", `/v1/attachments/${id}`)).status, 204);
  // The time when a user was last seen is also written now and then.
  assert.match(await steps(), /^(?:log )*file (?:log )*link (?:log )*folder (?:log )+201 (?:log )+204\b/);
});

test("F2 an offset is acknowledged after syncs of its bytes, their folder and the log", {
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
