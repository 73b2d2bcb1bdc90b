// Read errors of a disk: requests that need the data fail, and the server keeps running.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { scaled } from "../support/scale.ts";
import { noStrace, trace } from "../support/strace.ts";
import { Writes } from "../support/writers.ts";
import { Subject } from "./subject.ts";

test("F4 EIO on reads of the database is 500 for requests that need the data, and the server keeps running", {
  skip: noStrace,
}, async (t) => {
  const cycles = scaled(2, 10);
  const subject = await Subject.start(t);
  const { client, record } = subject;
  const writes = new Writes(subject, record);
  let failed = 0;
  for (let i = 0; i < cycles; i++) {
    await Promise.all(Array.from({ length: 50 }, () => writes.makeContact()));
    // Waits until the log is empty, so that the next read comes from the database file.
    await sleep(3000);
    const fault = ["-e", "trace=pread64", "-e", "inject=pread64:error=EIO"];
    const detach = await trace(t, subject.server, "-P", join(subject.data, "parley.db"), ...fault);
    for (let j = 0; j < 5; j++) {
      const { status } = await client.send("GET", "/v1/contacts?limit=100");
      assert.ok([200, 500].includes(status), String(status));
      if (status === 500) failed++;
    }
    await detach();
    assert.equal((await client.send("GET", "/v1/contacts?limit=100")).status, 200);
  }
  assert.ok(failed > 0, "no read failed");
  t.diagnostic(`${failed} reads failed, and the server went on`);
});
