import assert from "node:assert/strict";
import { test } from "node:test";
import type { DueDelivery } from "../../src/db/queries/webhooks/deliveries.ts";
import { RoundRobin, Slots } from "../../src/jobs/webhook-slots.ts";

const hooks = (user_id: string, count: number) =>
  Array.from({ length: count }, (_, i) => ({ id: `${user_id}${i}`, user_id }));
const ids = (order: RoundRobin, due: { id: string; user_id: string }[]) =>
  order.inOrder(due).map(({ id }) => id);

test("a user with 20 webhooks gets one turn per round", () => {
  const due = [...hooks("a", 20), ...hooks("b", 1), ...hooks("c", 2)];
  const order = new RoundRobin();
  assert.deepEqual(ids(order, due).slice(0, 6), ["a0", "b0", "c0", "a1", "c1", "a2"]);
  assert.equal(ids(order, due).length, due.length);
});

test("users, and webhooks of one user, that were served move to the end", () => {
  const due = [...hooks("a", 3), ...hooks("b", 2)];
  const order = new RoundRobin();
  order.note(due[0]!);
  assert.deepEqual(ids(order, due), ["b0", "a1", "b1", "a2", "a0"]);
  order.note(due[3]!);
  assert.deepEqual(ids(order, due), ["a1", "b1", "a2", "b0", "a0"]);
});

test("a webhook is slow until it answers quickly, and skipped deliveries do not change that", () => {
  const [webhook] = hooks("a", 1);
  const delivery = (id: string) => ({ id }) as DueDelivery;
  const slots = new Slots();
  /** Returns how many attempts may start at once. */
  function room(): number {
    let taken = 0;
    for (; slots.hasRoomFor(webhook!); taken++) slots.take(delivery(`${taken}`), webhook!);
    for (let i = 0; i < taken; i++) slots.leave(delivery(`${i}`), webhook!, undefined);
    return taken;
  }
  assert.equal(room(), 1);
  for (const [wasQuick, expected] of [
    [true, 4],
    [undefined, 4],
    [false, 1],
    [undefined, 1],
  ] as const) {
    slots.take(delivery("x"), webhook!);
    slots.leave(delivery("x"), webhook!, wasQuick);
    assert.equal(room(), expected, `${wasQuick}`);
  }
});
