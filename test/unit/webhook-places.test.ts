import assert from "node:assert/strict";
import { test } from "node:test";
import type { DueDelivery } from "../../src/db/queries/webhooks/deliveries.ts";
import { Places, Turns } from "../../src/jobs/webhook-places.ts";

const hooks = (user_id: string, count: number) =>
  Array.from({ length: count }, (_, i) => ({ id: `${user_id}${i}`, user_id }));
const ids = (turns: Turns, due: { id: string; user_id: string }[]) => turns.inOrder(due).map(({ id }) => id);

test("a user with 20 webhooks gets one turn per round", () => {
  const due = [...hooks("a", 20), ...hooks("b", 1), ...hooks("c", 2)];
  const turns = new Turns();
  assert.deepEqual(ids(turns, due).slice(0, 6), ["a0", "b0", "c0", "a1", "c1", "a2"]);
  assert.equal(ids(turns, due).length, due.length);
});

test("users, and webhooks of one user, that were served move to the end", () => {
  const due = [...hooks("a", 3), ...hooks("b", 2)];
  const turns = new Turns();
  turns.note(due[0]!);
  assert.deepEqual(ids(turns, due), ["b0", "a1", "b1", "a2", "a0"]);
  turns.note(due[3]!);
  assert.deepEqual(ids(turns, due), ["a1", "b1", "a2", "b0", "a0"]);
});

test("a webhook is slow until it answers quickly, and skipped deliveries do not change that", () => {
  const [webhook] = hooks("a", 1);
  const delivery = (id: string) => ({ id }) as DueDelivery;
  const places = new Places();
  /** Returns how many attempts may start at once. */
  function room(): number {
    let taken = 0;
    for (; places.hasRoomFor(webhook!); taken++) places.take(delivery(`${taken}`), webhook!);
    for (let i = 0; i < taken; i++) places.leave(delivery(`${i}`), webhook!, undefined);
    return taken;
  }
  assert.equal(room(), 1);
  for (const [wasQuick, expected] of [
    [true, 4],
    [undefined, 4],
    [false, 1],
    [undefined, 1],
  ] as const) {
    places.take(delivery("x"), webhook!);
    places.leave(delivery("x"), webhook!, wasQuick);
    assert.equal(room(), expected, `${wasQuick}`);
  }
});
