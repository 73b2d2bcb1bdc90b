// The bodies of receivers' answers: who sees them, how much is kept, and for how long.
import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import { createToken, DEFAULT_SCOPES, SCOPES } from "../../../src/core/people/tokens.ts";
import { deleteUser } from "../../../src/core/people/users.ts";
import { sql } from "../../../src/db/sql.ts";
import type { TestApp, TestUser } from "../../support/app.ts";
import { asker } from "../../support/asker.ts";
import { listen } from "../../support/event-stream.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { deliveries, hook, LIMITS, newest } from "../../support/hooks.ts";
import { ENGINES, onEachEngineWith, startOnEngine } from "../../support/on-engines.ts";
import { add, person } from "../../support/people.ts";
import { receiver } from "../../support/receiver.ts";

const SECRET = "the database of the payroll is down";

async function withScopes(
  server: TestApp,
  user: TestUser,
  scopes: readonly (typeof SCOPES)[number][],
): Promise<TestUser> {
  const { token } = await createToken(server.app.core, null, user.id, { scopes: [...scopes] });
  return { ...user, token, headers: { authorization: `Bearer ${token}` } };
}

/** Counts the rows that contain the body, in the tables that get results of requests. */
async function countKept({ app }: TestApp): Promise<number> {
  const row = await app.core.db.get<{ rows: number }>(
    sql`SELECT (SELECT COUNT(*) FROM deliveries WHERE response_body LIKE ${`%${SECRET}%`})
      + (SELECT COUNT(*) FROM idempotency WHERE result LIKE ${`%${SECRET}%`}) AS rows`,
  );
  return Number(row!.rows);
}

onEachEngineWith(
  LIMITS,
  "only a token with admin reads the body of an answer, also of its user's own webhooks",
  async (server, t) => {
    const ann = await person(server, "ann");
    const admin = await server.user({ scopes: SCOPES });
    const lesser = await withScopes(server, admin, DEFAULT_SCOPES);
    const to = await receiver(t, (response) => response.writeHead(410).end(SECRET));
    const [own, all] = [
      await hook(server, ann, to, { events: "contact.created" }),
      await hook(server, admin, to, { all_users: true, events: "contact.created" }),
    ];
    const streams = [await listen(t, server, ann), await listen(t, server, admin)];
    await add(server, ann, "bob");
    for (const [owner, webhook] of [
      [ann, own],
      [lesser, all],
    ] as const) {
      const seen = await newest(server, admin, webhook, { state: "failed", last_status: 410 });
      assert.deepEqual(await deliveries(server, owner, webhook), [{ ...seen, response_body: null }]);
      assert.equal(seen.response_body, SECRET);
    }
    const back = await withScopes(server, ann, [...DEFAULT_SCOPES, "act_as"]);
    const acting = (who: TestUser, { id }: TestUser) => ({
      ...who,
      headers: { ...who.headers, "parley-act-as": id },
    });
    assert.equal((await deliveries(server, acting(admin, ann), own))[0]!.response_body, SECRET);
    assert.equal((await deliveries(server, acting(back, admin), all))[0]!.response_body, null);
    for (const stream of streams) {
      assert.ok(await eventually(async () => stream.events.some(({ type }) => type === "webhook.disabled")));
      assert.ok(!JSON.stringify(stream.events).includes(SECRET));
    }
    const trail = await fetch(`${server.url}/v1/audit`, {
      headers: { ...admin.headers, accept: "application/x-ndjson" },
    });
    const exported = await trail.text();
    assert.match(exported, /webhook\.disabled/);
    assert.ok(!exported.includes(SECRET));
  },
);

/** An answer, and the body that is kept of it. */
const BODIES: Record<string, [answer: (response: ServerResponse) => unknown, kept: string | null]> = {
  "a text": [(response) => response.writeHead(500).end("Crème brûlée ☕\n"), "Crème brûlée ☕\n"],
  "a body of exactly the limit": [(response) => response.end("a".repeat(1024)), "a".repeat(1024)],
  "a long body": [(response) => response.end(`${"a".repeat(1024)}b`), "a".repeat(1024)],
  "a character that the limit cuts": [
    (response) => response.end("é".repeat(600).padStart(601, "a")),
    `a${"é".repeat(511)}`,
  ],
  "a character that the receiver has cut": [
    (response) => response.end(Buffer.from("caf\xc3", "latin1")),
    "caf\ufffd",
  ],
  "bytes that are no text": [
    (response) => response.end(Buffer.from([0, 255, 254, 65, 0])),
    "\ufffd\ufffd\ufffdA\ufffd",
  ],
  pieces: [
    async (response) => {
      for (const piece of ["one ", "two ", "three"]) {
        response.write(piece);
        await new Promise((resolve) => setImmediate(resolve));
      }
      return response.end();
    },
    "one two three",
  ],
  "no body": [(response) => response.writeHead(500).end(), null],
  "a body that never ends": [(response) => response.writeHead(500).write("begun"), "begun"],
  "a body that the receiver breaks off": [
    (response) => response.writeHead(500, { "content-length": 100 }).write("begun", () => response.destroy()),
    "begun",
  ],
  "no answer": [(response) => response.destroy(), null],
};

for (const engine of ENGINES) {
  test(`the first 1,024 bytes of a body are kept as text (${engine})`, async (t) => {
    // The clock stands still, so nothing is retried.
    const clock = () => Date.UTC(2026, 0, 1);
    const server = await startOnEngine(t, engine, { ...LIMITS, webhookTimeoutMs: 1000 }, { clock });
    const admin = await server.user({ scopes: SCOPES });
    for (const [name, [answer, kept]] of Object.entries(BODIES)) {
      const made = await hook(server, admin, await receiver(t, answer));
      await asker(server, admin)("POST", `/v1/webhooks/${made.id}/test`);
      const { response_body } = await newest(server, admin, made, { attempts: 1 });
      assert.equal(response_body, kept, name);
    }
  });

  test(`each attempt replaces the body of the one before (${engine})`, async (t) => {
    let now = Date.UTC(2026, 0, 1);
    const server = await startOnEngine(t, engine, LIMITS, { clock: () => now });
    const admin = await server.user({ scopes: SCOPES });
    const bodies = ["first", "second", undefined, "fourth"];
    const to = await receiver(t, (response) => response.writeHead(500).end(bodies[to.received.length - 1]));
    const made = await hook(server, admin, to);
    await asker(server, admin)("POST", `/v1/webhooks/${made.id}/test`);
    for (const [i, body] of bodies.entries()) {
      const { response_body } = await newest(server, admin, made, { attempts: i + 1 });
      assert.equal(response_body, body ?? null);
      now += 3_600_000;
    }
  });
}

onEachEngineWith(
  { ...LIMITS, webhookTimeoutMs: 1000 },
  "a body is erased by a redelivery, which stores no copy for its key, and with its delivery",
  async (server, t) => {
    const ann = await person(server, "ann");
    const admin = await server.user({ scopes: SCOPES });
    let isSilent = false;
    const to = await receiver(t, (response) => isSilent || response.end(SECRET));
    const made = await hook(server, ann, to);
    const send = async () => {
      await asker(server, ann)("POST", `/v1/webhooks/${made.id}/test`);
      return newest(server, admin, made, { state: "delivered", response_body: SECRET });
    };
    const { id } = await send();
    isSilent = true;
    const path = `/v1/webhooks/${made.id}/deliveries/${id}/redeliver`;
    for (let times = 0; times < 2; times++) {
      const { status, body } = await asker(server, admin)("POST", path, undefined, {
        "idempotency-key": "k",
      });
      assert.deepEqual([status, body.state, body.response_body], [200, "pending", null]);
    }
    assert.equal(await countKept(server), 0);
    isSilent = false;
    await send();
    assert.ok((await countKept(server)) > 0);
    await deleteUser(server.app.core, null, ann.id);
    assert.ok(await eventually(async () => (await countKept(server)) === 0));
  },
);
