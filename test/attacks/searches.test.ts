// Searches of the texts that take longest to compare (CWE-407).
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Statement } from "../../src/db/sql.ts";
import { startApp } from "../support/app.ts";
import { read, send } from "../support/people.ts";

/** The first 20 texts are read in one turn if they are short. */
const NOTES = 30;

test("a search compares one long text per turn of the event loop, or many short ones", async (t) => {
  const server = await startApp(t);
  const { core } = server.app;
  const [long, short] = [await server.user(), await server.user()];
  for (const [user, count] of [
    [long, 10_000],
    [short, 10],
  ] as const) {
    const { conversation_id } = await read<{ conversation_id: string }>(
      send(server, user, "GET", "/v1/me"),
      200,
    );
    for (let i = 0; i < NOTES; i++)
      await read(
        send(server, user, "POST", "/v1/messages", { conversation_id, text: "😀".repeat(count) }),
        201,
      );
  }
  let turn = 0;
  let next = setImmediate(function count() {
    turn++;
    next = setImmediate(count);
  });
  t.after(() => clearImmediate(next));
  const turns: number[] = [];
  const { allValues } = core.db;
  core.db.allValues = (statement: Statement<unknown[]>) => {
    if (statement.sql.startsWith("SELECT m.id AS id, m.conversation_id")) turns.push(turn);
    return allValues.call(core.db, statement) as Promise<never>;
  };
  let reads = 0;
  const { background } = core.db;
  const readTexts = background.allValues;
  background.allValues = (statement: Statement<unknown[]>) => {
    if (statement.sql.includes("SELECT s.id, b.text")) reads++;
    return readTexts.call(background, statement) as Promise<never>;
  };
  const query = `/v1/messages?limit=${NOTES}&q=${encodeURIComponent("😀")}`;
  const { data } = await read<{ data: unknown[] }>(send(server, long, "GET", query), 200);
  assert.equal(data.length, NOTES);
  assert.equal(
    turns.length,
    NOTES,
    "messages that match are read in the turn in which their texts are compared",
  );
  assert.equal(new Set(turns).size, NOTES, "one text per turn");
  assert.equal(reads, 6, "five of 40,000 bytes at once");
  turns.length = 0;
  reads = 0;
  await read(send(server, short, "GET", query), 200);
  assert.deepEqual([turns.length, reads], [2, 2], "short texts share turns and reads");
});
