// URLs that clients give, and that could make the server send requests (CWE-918). The server requests only those of
// webhooks, which are in test/http/webhooks/webhooks-ssrf.test.ts.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { test } from "node:test";
import { SCOPES } from "../../src/core/people/tokens.ts";
import { startApp } from "../support/app.ts";
import { asker, type Json } from "../support/asker.ts";

test("avatar_url is stored and never fetched", async (t) => {
  let connections = 0;
  const canary = createServer((socket) => {
    connections++;
    socket.destroy();
  }).listen(0, "127.0.0.1");
  await once(canary, "listening");
  t.after(() => canary.close());
  const { port } = canary.address() as { port: number };
  const server = await startApp(t);
  const ask = asker(server, await server.user({ scopes: SCOPES }));
  for (const [i, host] of ["127.0.0.1", "localhost"].entries()) {
    const avatar_url = `http://${host}:${port}/picture.png`;
    const made = await ask("POST", "/v1/contacts", { username: `c${i}`, phone_number: "555", avatar_url });
    assert.deepEqual([made.status, made.body.avatar_url], [201, avatar_url]);
    const user = await ask("POST", "/v1/users", { username: `u${i}`, avatar_url });
    assert.deepEqual([user.status, user.body.avatar_url], [201, avatar_url]);
    assert.equal((await ask("GET", `/v1/contacts/${made.body.id}`)).status, 200);
  }
  assert.equal(((await ask("GET", "/v1/contacts")).body.data as Json[]).length, 2);
  // Stopping the server also ends its background work.
  await server.app.stop();
  assert.equal(connections, 0);
});
