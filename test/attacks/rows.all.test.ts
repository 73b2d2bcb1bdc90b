// How many rows one token can store: at most 1 MB per second at the default rate, without webhook deliveries.
import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { startApp, type TestApp, type TestUser, upload } from "../support/app.ts";
import { openSocket } from "../support/raw-socket.ts";

const TIMES = 200;
const DEFAULT_RATE = 500;
const MAX_BYTES_A_SECOND = 1_000_000 - 125_000;

/** Returns the size of the pages in use, in bytes. */
function rowBytes(db: DatabaseSync): number {
  const pragma = (name: string) => Object.values(db.prepare(`PRAGMA ${name}`).get()!)[0] as number;
  return (pragma("page_count") - pragma("freelist_count")) * pragma("page_size");
}

/** Returns text of this many four-byte characters, different for each number. */
function wide(characters: number, i: number): string {
  return "\u{1f600}".repeat(characters - 6) + String(i).padStart(6, "0");
}

const small = (i: number) => ({ username: `small-${i}`, phone_number: "555" });
const large = (i: number) => ({
  username: wide(128, i),
  phone_number: "5".repeat(64),
  display_name: wide(128, i),
  avatar_url: `http://a/${wide(2039, i)}`,
});

test("one token stores less than 1 MB of rows per second at the default rate", async (t) => {
  const now = Date.UTC(2026, 0, 1);
  // The clock stands still, so the rate limit does not refill.
  const server = await startApp(t, { requestsPerSecond: 1_000_000 }, { clock: () => now });
  const user = await server.user();
  const db = new DatabaseSync(join(server.config.dataFolder, "parley.db"), { readOnly: true });
  t.after(() => db.close());
  const send = asker(server, user);
  const left = async () =>
    Number(/r=(\d+)/.exec((await send("GET", "/v1/me")).headers.get("ratelimit")!)![1]);
  async function measure(what: string, write: (i: number) => Promise<Response>): Promise<string[]> {
    const ids: string[] = [];
    const [leftBefore, bytesBefore] = [await left(), rowBytes(db)];
    for (let i = 0; i < TIMES; i++) {
      const response = await write(i);
      assert.ok(response.ok, `${what}: ${response.status}`);
      ids.push(((await response.json()) as { id: string }).id);
    }
    const requests = leftBefore - (await left()) - 1;
    const bytes = rowBytes(db) - bytesBefore;
    const aSecond = (bytes / requests) * DEFAULT_RATE;
    t.diagnostic(
      `${what}: ${bytes / TIMES} bytes, as ${requests / TIMES} requests: ${Math.round(aSecond)} bytes a second`,
    );
    assert.ok(aSecond < MAX_BYTES_A_SECOND, `${what}: ${aSecond} bytes a second`);
    return ids;
  }
  const create = (fields: object, key?: string) =>
    send("POST", "/v1/contacts", fields, key === undefined ? {} : { "idempotency-key": key });
  await measure("small contacts", (i) => create(small(i)));
  await measure("small contacts with a key", (i) => create(small(TIMES + i), `a${i}`));
  const contacts = await measure("large contacts", (i) => create(large(i)));
  await measure("large contacts with a key", (i) => create(large(TIMES + i), `b${i}`));
  await measure("new names of large contacts", (i) =>
    send("PUT", `/v1/contacts/${contacts[i]}`, { display_name: wide(128, 7 * i) }),
  );
  const files = await measure("empty files", (i) => upload(server.url, user, new File([], `${i}`)));
  await measure("empty files with long names", (i) => upload(server.url, user, new File([], wide(64, i))));
  await measure("new names of files", (i) =>
    send("PUT", `/v1/attachments/${files[i]}`, { filename: wide(64, i) }),
  );
  const hook = (await (await send("POST", "/v1/webhooks", { url: "https://a.example/" })).json()) as {
    id: string;
  };
  await measure("new addresses of a webhook", (i) =>
    send("PUT", `/v1/webhooks/${hook.id}`, { url: `https://a.example/${"a".repeat(2000)}${i}` }),
  );
  await measure("new keys of a push subscription", (i) =>
    send("POST", "/v1/push_subscriptions", {
      endpoint: `https://a.example/${"a".repeat(2000)}`,
      p256dh: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
      auth: Buffer.alloc(16, `${i}`).toString("base64url"),
    }),
  );
});

test("a write counts against the rate even if its client disconnects", async (t) => {
  const now = Date.UTC(2026, 0, 1);
  const server = await startApp(t, { requestsPerSecond: 1_000_000 }, { clock: () => now });
  const user = await server.user();
  const send = asker(server, user);
  const left = async () =>
    Number(/r=(\d+)/.exec((await send("GET", "/v1/me")).headers.get("ratelimit")!)![1]);
  const before = await left();
  const body = JSON.stringify(large(0));
  const socket = await openSocket(server.url);
  socket.write(
    `POST /v1/contacts HTTP/1.1\r\nhost: x\r\nauthorization: ${user.headers.authorization}\r\n` +
      `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    () => socket.resetAndDestroy(),
  );
  const contacts = async () =>
    ((await (await send("GET", "/v1/contacts")).json()) as { data: unknown[] }).data.length;
  let asked = 0;
  while ((await contacts()) === 0 && asked < 500) asked++;
  assert.equal(await contacts(), 1);
  const used = before - (await left()) - asked - 3;
  assert.ok(used >= 15, `${used} requests were counted`);
});

function asker(server: TestApp, user: TestUser) {
  return (method: string, path: string, body?: object, headers: object = {}) =>
    fetch(server.url + path, {
      method,
      headers: { ...user.headers, ...headers, ...(body && { "content-type": "application/json" }) },
      ...(body && { body: JSON.stringify(body) }),
    });
}
