// A queue that takes turns between owners.
import assert from "node:assert/strict";
import { test } from "node:test";
import { FairQueue } from "../../src/util/fair-queue.ts";

/** Returns the owners of all waiting entries, in the order of their turns. */
function drain(queue: FairQueue<string>): string {
  const order: string[] = [];
  for (let next = queue.take(); next; next = queue.take()) order.push(next);
  return order.join("");
}

const filled = (owners: string, cost: (owner: string) => number) => {
  const queue = new FairQueue<string>({ each: 100, all: 1000 });
  for (const owner of owners) assert.ok(queue.add(owner, owner, cost(owner)));
  return queue;
};

test("owners take turns, however many entries each has", () => {
  assert.equal(drain(filled("aaaabbc", () => 1)), "abcabaa");
});

test("an expensive entry takes turns by its cost and is not overtaken for ever", () => {
  assert.equal(drain(filled("DDcccccccc", (owner) => (owner === "D" ? 3 : 1))), "ccDcccDccc");
});

test("a new owner does not wait for a backlog and gets no credit for idle time", () => {
  const queue = filled("aaaaaaaa", () => 10);
  queue.take();
  queue.take();
  for (const owner of "bbb") queue.add(owner, owner, 10);
  assert.equal(queue.take(), "a");
  assert.equal(drain(queue), "bababaaa");
});

test("entries of one owner keep their order", () => {
  const queue = new FairQueue<string>({ each: 10, all: 10 });
  for (const [item, cost] of [
    ["1", 9],
    ["2", 1],
    ["3", 5],
  ] as const)
    queue.add(item, "a", cost);
  assert.equal(drain(queue), "123");
});

test("the queue limits entries per owner and in all, and taking one makes room", () => {
  const queue = new FairQueue<string>({ each: 2, all: 3 });
  const add = (owner: string) => queue.add(owner, owner, 1);
  assert.deepEqual([add("a"), add("a"), add("a")], [true, true, false]);
  assert.deepEqual([add("b"), add("c")], [true, false]);
  assert.equal(queue.take(), "a");
  assert.deepEqual([add("c"), add("a")], [true, false]);
});
