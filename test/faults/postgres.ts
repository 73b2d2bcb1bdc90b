// What the suites of PostgreSQL's faults share.
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { administer, PASSWORD, settingsOn } from "../support/engines/postgres.ts";
import { eventually } from "../support/files-on-disk.ts";
import type { Writers } from "../support/writers.ts";
import { Subject } from "./subject.ts";

/** Whether the server says that it can do its work. */
export async function isReady(subject: Subject): Promise<boolean> {
  const { status, headers } = await subject.client.send("GET", "/readyz");
  if (status === 200) return true;
  assert.equal(status, 503);
  assert.ok(headers["retry-after"]);
  return false;
}

async function isReadyAgain(subject: Subject): Promise<void> {
  assert.ok(await eventually(() => isReady(subject)), "it does not become ready again by itself");
}

/**
 * Ends the load, starts the server again, and compares: `url` leads to PostgreSQL itself. After a crash of PostgreSQL it may
 * not be told what became of a commit, and the bytes of such an upload stay until the next start.
 */
export async function endAndCheck(
  subject: Subject,
  writers: Writers,
  url: string,
  when: string,
): Promise<void> {
  await isReadyAgain(subject);
  await writers.stop();
  assert.ok(!subject.isGone, `the server has ended: ${subject.server.stderr().slice(-2000)}`);
  const odd = [...writers.statuses.keys()].filter((status) => status >= 500 && status !== 503);
  assert.deepEqual(odd, [], when);
  await subject.end("SIGTERM");
  assert.deepEqual(await subject.begin((sql) => administer(url, sql)), [], when);
}

export function startSubject(t: TestContext, url: string): Promise<Subject> {
  return Subject.start(t, settingsOn(url));
}

export function endOfStory(t: TestContext, subject: Subject, what: string): void {
  assert.ok(!subject.server.stderr().includes(PASSWORD), "the log has the password");
  t.diagnostic(`${what}, ${subject.record}, ${subject.record.notMade.size} refused, lost = 0`);
}
