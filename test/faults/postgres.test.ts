// F6: PostgreSQL crashes and its connections end under load.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { administer, startPostgres, testDatabase } from "../support/engines/postgres.ts";
import { eventually } from "../support/files-on-disk.ts";
import { scaled } from "../support/scale.ts";
import { endAndCheck, endOfStory, isReady, startSubject } from "./postgres.ts";

test("F6 PostgreSQL crashes at random moments under load: no acknowledged write is lost or executed twice", async (t) => {
  const cycles = scaled(2, 60);
  const postgres = await startPostgres();
  t.after(() => postgres.remove());
  const subject = await startSubject(t, postgres.url);
  for (let i = 0; i < cycles; i++) {
    const writers = subject.write({ mixed: 8 });
    const after = 20 + subject.chance() * 500;
    await sleep(after);
    await postgres.stop("immediate");
    assert.ok(await eventually(async () => !(await isReady(subject))), "it stays ready without PostgreSQL");
    await sleep(subject.chance() * 300);
    await postgres.start();
    await endAndCheck(subject, writers, postgres.url, `cycle ${i}, crashed after ${after} ms`);
  }
  endOfStory(t, subject, `${cycles} crashes`);
  assert.ok(subject.record.total() > cycles);
});

const OURS = "FROM pg_stat_activity WHERE application_name = 'parley' AND datname = current_database()";

test("F6 all connections are terminated repeatedly under load, and the pool recovers each time", async (t) => {
  const rounds = scaled(10, 400);
  const url = await testDatabase(t);
  const subject = await startSubject(t, url);
  const writers = subject.write({ mixed: 8, contacts: 4 });
  let ended = 0;
  for (let i = 0; i < rounds; i++) {
    await sleep(subject.chance() * 150);
    ended += (await administer(url, `SELECT pg_terminate_backend(pid) ${OURS}`)).length;
  }
  await endAndCheck(subject, writers, url, `${rounds} rounds`);
  endOfStory(t, subject, `${ended} connections ended`);
  assert.ok(ended > rounds && subject.record.total() > rounds);
  await subject.end("SIGTERM");
});

test("F6 PostgreSQL's processes are frozen for a while: waiting requests succeed or are refused", async (t) => {
  const rounds = scaled(1, 20);
  // A separate server, because a frozen process may hold locks that stall the databases of other tests.
  const postgres = await startPostgres();
  t.after(() => postgres.remove());
  const { url } = postgres;
  const subject = await startSubject(t, url);
  for (let i = 0; i < rounds; i++) {
    const writers = subject.write({ mixed: 8 });
    await sleep(100 + subject.chance() * 200);
    const pids = (await administer(url, `SELECT pid ${OURS}`)) as number[];
    const signal = (name: "SIGSTOP" | "SIGCONT") => {
      for (const pid of pids) {
        try {
          process.kill(pid, name);
        } catch {
          // The process has ended meanwhile.
        }
      }
    };
    signal("SIGSTOP");
    await sleep(500 + subject.chance() * 1000).finally(() => signal("SIGCONT"));
    await endAndCheck(subject, writers, url, `round ${i}`);
  }
  endOfStory(t, subject, `${rounds} times frozen`);
  await subject.end("SIGTERM");
});
