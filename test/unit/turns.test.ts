import assert from "node:assert/strict";
import { test } from "node:test";
import { searchNames } from "../../src/core/resource/name-search.ts";
import { CHARACTERS_PER_TURN, nextTurn, Turns } from "../../src/core/resource/turns.ts";
import { ParleyError } from "../../src/errors.ts";
import { foldedLength } from "../../src/util/text.ts";

const LIMITS = { searchesPerUser: 2 };
const never = () => false;

function isRefused(error: unknown): boolean {
  assert.ok(error instanceof ParleyError);
  assert.equal(error.code, "rate_limited");
  assert.equal(error.header, "1");
  return true;
}

/** Returns the error codes of promises that all reject. */
async function codes(waiting: Promise<void>[]): Promise<string[]> {
  return (await Promise.allSettled(waiting)).map((each) => each.status === "rejected" && each.reason.code);
}

test("users take turns, however many steps one of them has waiting", async () => {
  const order: string[] = [];
  const take = (user: string) => nextTurn(user).then(() => order.push(user));
  const first = Array.from({ length: 5 }, () => take("a"));
  await Promise.all([...first, take("b"), take("b"), take("c")]);
  assert.equal(order.join(""), "abcabaaa");
});

test("a user who returns after each step waits for one step of each other user", async () => {
  const order: string[] = [];
  const walk = async (user: string, steps: number) => {
    for (; steps > 0; steps--) {
      await nextTurn(user);
      order.push(user);
    }
  };
  await Promise.all([walk("a", 4), walk("a", 4), walk("a", 4), walk("b", 4)]);
  assert.equal(order.join(""), "ababababaaaaaaaa");
});

test("each turn of the event loop runs one step", async () => {
  let loops = 0;
  let next = setImmediate(function count() {
    loops++;
    next = setImmediate(count);
  });
  const seen: number[] = [];
  await Promise.all(["a", "a", "b", "c"].map((user) => nextTurn(user).then(() => seen.push(loops))));
  clearImmediate(next);
  assert.equal(new Set(seen).size, seen.length, seen.join());
});

test("a user has one background read at a time, also after a failure, and does not wait for other users", async () => {
  const begun: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<void>>();
  const read = (user: string, name: string) =>
    new Turns(LIMITS, user, never).read(() => {
      begun.push(name);
      ends.set(name, Promise.withResolvers());
      return ends.get(name)!.promise;
    });
  const first = [read("reader", "a1"), read("reader", "a2"), read("reader", "a3")];
  const other = read("another", "b1");
  assert.deepEqual(begun, ["a1", "b1"]);
  ends.get("a1")!.reject(new Error("no table"));
  await assert.rejects(first[0]!, /no table/);
  assert.deepEqual(begun, ["a1", "b1", "a2"]);
  ends.get("a2")!.resolve();
  await first[1];
  assert.deepEqual(begun, ["a1", "b1", "a2", "a3"]);
  for (const name of ["a3", "b1"]) ends.get(name)!.resolve();
  await Promise.all([...first.slice(2), other]);
});

test("searches per user are limited, and a finished search makes room", async () => {
  const [one, two, three] = [1, 2, 3].map(() => new Turns(LIMITS, "user", never)) as [Turns, Turns, Turns];
  await Promise.all([one.next(), two.next()]);
  await assert.rejects(three.next(), isRefused);
  await new Turns(LIMITS, "other", never).next();
  await Promise.all([one.next(), two.next()]);
  three.end();
  await assert.rejects(new Turns(LIMITS, "user", never).next(), isRefused);
  one.end();
  await three.next();
});

test("a request that needs no turn is not counted as a search", async () => {
  for (let i = 0; i < 10; i++) new Turns(LIMITS, "cheap", never).end();
  const searches = [1, 2].map(() => new Turns(LIMITS, "cheap", never));
  await Promise.all(searches.map((each) => each.next()));
});

test("a waiting search stops counting when its client disconnects, and then ends", async () => {
  let isGone = false;
  const gone = [1, 2].map(() => new Turns(LIMITS, "leaving", () => isGone));
  const waiting = gone.map((each) => each.next());
  await assert.rejects(new Turns(LIMITS, "leaving", never).next(), isRefused);
  isGone = true;
  const others = [1, 2].map(() => new Turns(LIMITS, "leaving", never));
  const taken = others.map((each) => each.next());
  assert.deepEqual(await codes(waiting), ["unavailable", "unavailable"]);
  await Promise.all(taken);
});

test("a running search counts until its next turn after its client disconnects", async () => {
  let isGone = false;
  const working = [1, 2].map(() => new Turns(LIMITS, "working", () => isGone));
  await Promise.all(working.map((each) => each.next()));
  isGone = true;
  await assert.rejects(new Turns(LIMITS, "working", never).next(), isRefused);
  const last = codes(working.map((each) => each.next()));
  await new Turns(LIMITS, "working", never).next();
  assert.deepEqual(await last, ["unavailable", "unavailable"]);
});

test("names that NFKC lengthens are compared in more turns", async (t) => {
  let loop = 0;
  let next = setImmediate(function count() {
    loop++;
    next = setImmediate(count);
  });
  t.after(() => clearImmediate(next));
  const name = "\ufdfa".repeat(80);
  assert.equal(foldedLength(name), 80 * 18);
  const compared = new Map<number, number>();
  const list = {
    listNames: async () => Array.from({ length: 20 }, (_, i) => ({ id: `${i}` })),
    isMatch() {
      compared.set(loop, (compared.get(loop) ?? 0) + foldedLength(name));
      return false;
    },
    lengthOf: () => foldedLength(name),
    findRows: async () => [],
  };
  const turns = new Turns(LIMITS, "names", never);
  await searchNames({ cursor: "", newer: true, limit: 10 }, list, turns);
  turns.end();
  assert.ok(Math.max(...compared.values()) <= CHARACTERS_PER_TURN, [...compared.values()].join());
});
