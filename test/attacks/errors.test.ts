// Answers that tell of the inside of the service, or give back a secret that they were asked with (CWE-209). What logs tell is
// in test/http/upkeep/logs.test.ts.
import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { startApp } from "../support/app.ts";
import { attack } from "./attack.ts";

test("of what goes wrong inside an answer tells the id of the request alone", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const read = { method: "GET", path: "/v1/contacts", headers: [] };
  assert.equal((await attack(server, user, read)).status, 200);
  const db = new DatabaseSync(join(server.config.dataFolder, "parley.db"));
  db.exec("ALTER TABLE contacts RENAME TO nobodys_table");
  db.close();
  const answer = await attack(server, user, read);
  assert.equal(answer.status, 500);
  const { request_id, ...told } = JSON.parse(answer.body) as Record<string, unknown>;
  assert.equal(request_id, new Map(answer.headers).get("request-id"));
  assert.deepEqual(told, {
    type: `${server.url}/docs/errors/internal_error`,
    title: "Internal server error",
    status: 500,
    code: "internal_error",
    detail:
      "The request failed because of an error in the server. Its log has the details under the `request_id`.",
  });
});

test("no secret that a request has comes back in its refusal", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const canary = "canary".repeat(7);
  const authorization = `Bearer parley_${canary}`;
  const asked: [path: string, ...headers: [name: string, value: string][]][] = [
    ["/v1/contacts", ["authorization", authorization]],
    ["/v1/contacts", ["authorization", `Basic ${canary}`]],
    [`/v1/contacts?access_token=${canary}`, ["authorization", user.headers.authorization]],
    [`/files/att_x/a?expires=1&signature=${canary}`],
    [`/files/att_x/a?expires=${canary}&signature=x`, ["authorization", authorization]],
    ["/nowhere", ["authorization", authorization]],
  ];
  for (const [path, ...headers] of asked) {
    const answer = await attack(server, undefined, { method: "GET", path, headers });
    assert.ok(answer.status >= 400 && answer.status < 500, `${path}: ${answer.status}`);
    assert.ok(!JSON.stringify(answer).includes(canary), `${path}: ${answer.body}`);
  }
});
