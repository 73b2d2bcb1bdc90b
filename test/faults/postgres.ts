// Helpers of the tests of PostgreSQL faults.
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { administer, PASSWORD, settingsOn } from "../support/engines/postgres.ts";
import { eventually } from "../support/files-on-disk.ts";
import type { Writers } from "../support/writers.ts";
import { Subject } from "./subject.ts";

/** Reports whether the server is ready. */
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
 * Ends the load, restarts the server and compares; `url` is that of PostgreSQL itself. After a crash of PostgreSQL the
 * outcome of a commit may stay unknown, and the bytes of such an upload remain until the next start.
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
