import assert from "node:assert/strict";
import { randomFillSync } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import {
  bitsOfId,
  createIds,
  type IdKind,
  idBound,
  idOfBits,
  idPattern,
  isId,
  laterId,
  timeOfId,
} from "../../src/util/ids.ts";
import { holds } from "../support/property.ts";
import { isLong } from "../support/scale.ts";

const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
const KINDS: IdKind[] = ["con", "att", "msg", "cnv", "usr", "tok", "req", "aud"];
const NOW = 1_700_000_000_123;
const LATEST = 2 ** 48 - 1;

const randomly = (bytes: Uint8Array): void => void randomFillSync(bytes);
const allOnes = (bytes: Uint8Array): void => void bytes.fill(0xff);
const allZeros = (bytes: Uint8Array): void => void bytes.fill(0);

/** Decodes the UUIDv7 inside an id, by the layout of RFC 9562. */
function decode(id: string) {
  let uuid = 0n;
  for (const digit of id.slice(4)) uuid = uuid * 32n + BigInt(ALPHABET.indexOf(digit));
  const bits = (from: bigint, count: bigint) => Number((uuid >> from) & ((1n << count) - 1n));
  return {
    beyond: uuid >> 128n,
    time: bits(80n, 48n),
    version: bits(76n, 4n),
    variant: bits(62n, 2n),
    counter: bits(64n, 12n) * 2 ** 14 + bits(48n, 14n),
    random: bits(0n, 48n),
  };
}

test("an id is its kind and a UUIDv7 of the clock's time in base 32", () =>
  holds(
    fc.property(fc.constantFrom(...KINDS), fc.integer({ min: 0, max: LATEST }), (kind, now) => {
      const id = createIds(() => now, randomly)(kind);
      assert.match(id, new RegExp(`^${kind}_[${ALPHABET}]{26}$`));
      const { beyond, time, version, variant } = decode(id);
      assert.deepEqual({ beyond, time, version, variant }, { beyond: 0n, time: now, version: 7, variant: 2 });
    }),
  ));

test("the random bits of an id come from the random source", () => {
  const { counter, random } = decode(createIds(() => NOW, allOnes)("con"));
  assert.deepEqual({ counter, random }, { counter: 2 ** 25 - 1, random: 2 ** 48 - 1 });
  const zero = decode(createIds(() => NOW, allZeros)("con"));
  assert.deepEqual({ counter: zero.counter, random: zero.random }, { counter: 0, random: 0 });
});

test("random bytes are used for one id only", () => {
  const newId = createIds(() => NOW, randomly);
  const seen = new Set(Array.from({ length: 10_000 }, () => decode(newId("con")).random));
  assert.equal(seen.size, 10_000);
});

test("each millisecond starts with another count", () => {
  let now = NOW;
  const newId = createIds(() => now++, randomly);
  const seen = new Set(Array.from({ length: 100 }, () => decode(newId("con")).counter));
  assert.ok(seen.size > 90, `${seen.size} of 100 counts differ`);
});

test("200,000 ids of one millisecond are strictly increasing", () => {
  const newId = createIds(() => NOW, randomly);
  let last = "";
  for (let i = 0; i < 200_000; i++) {
    const id = newId("con");
    if (id <= last) assert.fail(`${id} follows ${last}`);
    last = id;
  }
  assert.equal(decode(last).time, NOW);
});

const step = fc.record({
  jump: fc.oneof(
    fc.constantFrom(0, 1, -1),
    fc.integer({ min: -5, max: 5 }),
    fc.integer({ min: -1e9, max: 1e9 }),
  ),
  ids: fc.integer({ min: 1, max: 400 }),
});

test("ids strictly increase while the clock advances, stops, steps back or jumps", () =>
  holds(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      let now = NOW;
      let highest = 0;
      let last = "";
      const newId = createIds(() => now, randomly);
      for (const { jump, ids } of steps) {
        now += jump;
        highest = Math.max(highest, now);
        for (let i = 0; i < ids; i++) {
          const id = newId("att");
          if (id <= last) assert.fail(`${id} follows ${last}`);
          last = id;
        }
        assert.equal(decode(last).time, highest);
      }
    }),
    100,
  ));

test("ids of different kinds increase together", () => {
  const newId = createIds(() => NOW, randomly);
  const made = Array.from({ length: 1000 }, (_, i) => newId(KINDS[i % KINDS.length]!).slice(4));
  assert.deepEqual(made, made.toSorted());
  assert.equal(new Set(made).size, made.length);
});

// 33 million ids, only in the long version (PARLEY_FAULTS=long).
if (isLong) {
  test("ids continue in the next millisecond when the counter overflows", () => {
    let now = NOW;
    const newId = createIds(() => now, allOnes);
    let before = "";
    for (let count = 2 ** 25 - 1; count < 2 ** 26; count++) before = newId("con");
    assert.deepEqual([decode(before).time, decode(before).counter], [NOW, 2 ** 26 - 1]);

    const over = newId("con");
    assert.deepEqual([decode(over).time, decode(over).counter], [NOW + 1, 2 ** 25 - 1]);
    assert.ok(over > before);

    now = NOW + 1;
    const caughtUp = newId("con");
    assert.deepEqual([decode(caughtUp).time, decode(caughtUp).counter], [NOW + 1, 2 ** 25]);
  });
}

test("isId accepts generated ids of the same kind only", () =>
  holds(
    fc.property(fc.constantFrom(...KINDS), fc.integer({ min: 0, max: LATEST }), (kind, now) => {
      const id = createIds(() => now, randomly)(kind);
      assert.deepEqual(
        KINDS.filter((each) => isId(each, id)),
        [kind],
      );
    }),
  ));

const SUFFIX = "01h455vb4pex5vsknk084sn02q";

const FORMS: [accepted: boolean, what: string, id: string][] = [
  [true, "a well-formed id", `con_${SUFFIX}`],
  [true, "the greatest id", `con_7${"z".repeat(25)}`],
  [true, "the least id", `con_${"0".repeat(26)}`],
  [false, "nothing", ""],
  [false, "a prefix alone", "con_"],
  [false, "another prefix", `att_${SUFFIX}`],
  [false, "no prefix", SUFFIX],
  [false, "a prefix in upper case", `CON_${SUFFIX}`],
  [false, "another separator", `con-${SUFFIX}`],
  [false, "a character too few", `con_${SUFFIX.slice(1)}`],
  [false, "a character too many", `con_0${SUFFIX}`],
  [false, "a suffix in upper case", `con_${SUFFIX.toUpperCase()}`],
  [false, "a first character above 7", `con_8${SUFFIX.slice(1)}`],
  [false, "a letter for the first character", `con_a${SUFFIX.slice(1)}`],
  [false, "a character beyond ASCII", `con_${SUFFIX.slice(0, 25)}é`],
  [false, "a digit of another script", `con_${SUFFIX.slice(0, 25)}\u0663`],
  [false, "a surrogate pair for two characters", `con_${SUFFIX.slice(0, 24)}😀`],
  [false, "a line end after it", `con_${SUFFIX}\n`],
  [false, "a line end for the last character", `con_${SUFFIX.slice(0, 25)}\n`],
  [false, "a character before it", `xcon_${SUFFIX}`],
  [false, "a space before it", ` con_${SUFFIX.slice(0, 25)}`],
  ...[..."ilou"].map((letter): [boolean, string, string] => [
    false,
    `the letter ${letter}`,
    `con_${SUFFIX.slice(0, 25)}${letter}`,
  ]),
];

for (const [accepted, what, id] of FORMS) {
  test(`isId ${accepted ? "accepts" : "refuses"} ${what}, and so does the pattern`, () => {
    assert.equal(isId("con", id), accepted);
    assert.equal(new RegExp(idPattern("con"), "u").test(id), accepted);
  });
}

test("the bound of a time sorts after all older ids and before all others", () => {
  for (const random of [allZeros, allOnes]) {
    for (const time of [0, 1, NOW, LATEST - 1]) {
      const [older, same] = [-1, 0].map((step) => createIds(() => time + step, random)("aud"));
      if (time > 0) assert.ok(older! < idBound("aud", time));
      assert.ok(idBound("aud", time) < same!);
    }
  }
  assert.equal(idBound("aud", -1), idBound("aud", 0));
});

/** Generates ids that are often equal, neighbours, or the last one of their millisecond. */
const someIds = fc
  .tuple(
    fc.oneof(
      fc.constantFrom(0, 1, NOW, NOW + 1, LATEST - 1),
      fc.integer({ min: NOW - 60_000, max: NOW + 60_000 }),
      fc.integer({ min: 0, max: LATEST - 1 }),
    ),
    fc.oneof(
      fc.constantFrom(0n, 1n, 2n ** 62n - 1n, 2n ** 62n, 2n ** 74n - 2n, 2n ** 74n - 1n),
      fc.bigInt({ min: 0n, max: 2n ** 74n - 1n }),
    ),
  )
  .map(([time, bits]) => idOfBits("msg", time, bits));

test("laterId returns the requested id or the next one after the last, well-formed and with its time", () =>
  holds(
    fc.property(someIds, someIds, (id, last) => {
      const later = laterId(id, last);
      assert.ok(later > last && later >= id, `${later} after ${id} and ${last}`);
      assert.ok(isId("msg", later));
      const { version, variant } = decode(later);
      assert.deepEqual({ version, variant }, { version: 7, variant: 2 });
      if (id > last) return assert.equal(later, id);
      const isFull = bitsOfId(last) === 2n ** 74n - 1n;
      assert.equal(timeOfId(later), timeOfId(last) + (isFull ? 1 : 0));
      assert.equal(bitsOfId(later), isFull ? 0n : bitsOfId(last) + 1n);
    }),
    2000,
  ));

test("nodes with differing clocks give one conversation increasing ids with times of their clocks", () =>
  holds(
    fc.property(
      fc.array(fc.integer({ min: -60_000, max: 60_000 }), { minLength: 1, maxLength: 4 }),
      fc.array(fc.tuple(fc.nat(3), fc.integer({ min: -5000, max: 5000 })), { maxLength: 60 }),
      (offsets, sends) => {
        const clocks = offsets.map((offset) => ({ now: NOW + offset }));
        const nodes = clocks.map((clock) => createIds(() => clock.now, randomly));
        let last = "";
        let newest = 0;
        for (const [which, jump] of sends) {
          const node = which % nodes.length;
          clocks[node]!.now += jump;
          newest = Math.max(newest, clocks[node]!.now);
          const id = laterId(nodes[node]!("msg"), last);
          if (id <= last) assert.fail(`${id} follows ${last}`);
          assert.ok(timeOfId(id) <= newest, "a time that a node had");
          assert.ok(last === "" || timeOfId(id) >= timeOfId(last), "time never falls");
          last = id;
        }
      },
    ),
  ));

test("ids after one in the far future are its successors, and their time does not advance", () => {
  const future = idOfBits("msg", LATEST - 1, 7n);
  let last = future;
  const newId = createIds(() => NOW, randomly);
  for (let i = 1; i <= 1000; i++) {
    last = laterId(newId("msg"), last);
    assert.deepEqual([timeOfId(last), bitsOfId(last)], [LATEST - 1, 7n + BigInt(i)]);
  }
});
