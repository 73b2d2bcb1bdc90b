// A disk that cannot be read in places: whoever needs those is told, and the server goes on.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { scaled } from "../support/scale.ts";
import { noStrace, trace } from "../support/strace.ts";
import { Writes } from "../support/writers.ts";
import { Subject } from "./subject.ts";

test("F4 EIO while the database is read: 500 for who needs it, and the process goes on", {
  skip: noStrace,
}, async (t) => {
  const cycles = scaled(2, 10);
  const subject = await Subject.start(t);
  const { client, record } = subject;
  const writes = new Writes(subject, record);
  let failed = 0;
  for (let i = 0; i < cycles; i++) {
    await Promise.all(Array.from({ length: 50 }, () => writes.makeContact()));
    // Until the log is emptied: then the next read takes its pages from the file.
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
