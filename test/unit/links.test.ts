import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { createLinks, fileSubject } from "../../src/core/node/links.ts";
import type { CarriedSecret } from "../../src/db/queries/upkeep/tables.ts";
import { holds } from "../support/property.ts";

const HOUR = 3600;
const ID = "att_01h455vb4pex5vsknk084sn02q";
const OTHER_ID = "att_01h455vb4pex5vsknk084sn02r";
const USER = "usr_01h455vb4pex5vsknk084sn02q";
const SUBJECT = fileSubject(ID, USER);
const ORIGIN = "https://parley.example";
const NOW = 1_700_000_000;
const [FIRST, SECOND, THIRD] = ["a", "b", "c"].map((each) => each.repeat(32)) as [string, string, string];

/** Returns links with a settable clock, in seconds. */
function service(secrets: string[] = [FIRST], seconds = NOW, carried: CarriedSecret[] = []) {
  let now = seconds;
  const origin = () => ORIGIN;
  const links = createLinks(secrets, carried, origin, () => now * 1000);
  const at = (time: number): void => {
    now = time;
  };
  return { links, at };
}

function partsOf(url: string) {
  const query = new URL(url).searchParams;
  return { expires: query.get("expires")!, signature: query.get("signature")! };
}

test("a link is the server's address with the id and percent-encoded name of the file", () => {
  const { links } = service();
  assert.equal(links.fileAddress(ID, "a b/ü?#%.txt"), `${ORIGIN}/files/${ID}/a%20b%2F%C3%BC%3F%23%25.txt`);
  const url = links.fileUrl(USER, ID, "a b.txt");
  assert.match(
    url,
    new RegExp(`^${ORIGIN}/files/${ID}/a%20b\\.txt\\?user=${USER}&expires=[0-9]+&signature=[\\w-]{43}$`),
  );
});

test("a name in any script round-trips through the path of a link", () =>
  holds(
    fc.property(fc.string({ unit: "binary", minLength: 1 }), (name) => {
      const path = service().links.fileAddress(ID, name).slice(`${ORIGIN}/files/${ID}/`.length);
      assert.match(path, /^[\w.~!*'()%-]+$/);
      assert.equal(decodeURIComponent(path), name);
    }),
  ));

test("the server's address is read when a link is made", () => {
  let origin = "http://before.example";
  const links = createLinks(
    [FIRST],
    [],
    () => origin,
    () => NOW * 1000,
  );
  origin = "http://after.example";
  assert.ok(links.fileUrl(USER, ID, "a").startsWith("http://after.example/files/"));
});

test("the signature is the HMAC-SHA256 of user, id and expiry", () => {
  const { expires, signature } = partsOf(service().links.fileUrl(USER, ID, "a"));
  const expected = createHmac("sha256", FIRST).update(`file.${USER}.${ID}.${expires}`).digest("base64url");
  assert.equal(signature, expected);
});

const times = fc.integer({ min: 0, max: 10 ** 11 });

test("a link lives for more than one hour and at most two", () =>
  holds(
    fc.property(times, fc.nat(999), (seconds, milliseconds) => {
      const { links, at } = service();
      at(seconds + milliseconds / 1000);
      const { expires } = partsOf(links.fileUrl(USER, ID, "a"));
      const lifetime = Number(expires) - seconds;
      assert.ok(lifetime > HOUR && lifetime <= 2 * HOUR, `${lifetime} s`);
      assert.equal(links.secondsLeft(expires), lifetime);
    }),
  ));

test("a link stays the same for a window of one hour, and changes with the next", () =>
  holds(
    fc.property(times, fc.nat(HOUR - 1), fc.nat(HOUR - 1), (seconds, one, two) => {
      const { links, at } = service();
      const start = seconds - (seconds % HOUR);
      const urlAt = (time: number) => {
        at(time);
        return links.fileUrl(USER, ID, "a");
      };
      assert.equal(urlAt(start + one), urlAt(start + two));
      assert.notEqual(urlAt(start + one), urlAt(start + HOUR));
      assert.notEqual(urlAt(start + HOUR - 0.001), urlAt(start + HOUR));
    }),
  ));

test("the number of the window changes exactly when the links do", () =>
  holds(
    fc.property(times, fc.nat(2 * HOUR), (seconds, more) => {
      const { links, at } = service();
      at(seconds);
      const before = { window: links.window(), url: links.fileUrl(USER, ID, "a") };
      at(seconds + more);
      assert.equal(links.window() === before.window, links.fileUrl(USER, ID, "a") === before.url);
    }),
  ));

test("a signature is valid until its link expires", () =>
  holds(
    fc.property(times, (seconds) => {
      const { links, at } = service();
      at(seconds);
      const { expires, signature } = partsOf(links.fileUrl(USER, ID, "a"));
      const validAt = (time: number) => {
        at(time);
        return links.verify(SUBJECT, expires, signature);
      };
      const end = Number(expires);
      assert.deepEqual([seconds, end - 1, end - 0.001, end, end + 0.001, end + HOUR].map(validAt), [
        true,
        true,
        true,
        false,
        false,
        false,
      ]);
    }),
  ));

test("a link made while the clock was far ahead is invalid until shortly before its time", () =>
  holds(
    fc.property(times, fc.integer({ min: 1, max: 10 ** 9 }), (seconds, ahead) => {
      const { links, at } = service();
      at(seconds + ahead);
      const { expires, signature } = partsOf(links.fileUrl(USER, ID, "a"));
      at(seconds);
      assert.equal(links.verify(SUBJECT, expires, signature), links.secondsLeft(expires) <= 3 * HOUR);
      if (ahead <= HOUR)
        assert.ok(links.verify(SUBJECT, expires, signature), "a clock that was set back a little");
    }),
  ));

test("a link to a file is invalid for any other file", () => {
  const { links } = service();
  const { expires, signature } = partsOf(links.fileUrl(USER, ID, "a"));
  assert.ok(links.verify(SUBJECT, expires, signature));
  for (const id of [OTHER_ID, "", ID.slice(1), `${ID}.`, ID.toUpperCase()]) {
    assert.equal(links.verify(fileSubject(id, USER), expires, signature), false, id);
  }
});

test("a link of one user is invalid for another user and without one", () => {
  const { links } = service();
  const { expires, signature } = partsOf(links.fileUrl(USER, ID, "a"));
  assert.ok(links.verify(SUBJECT, expires, signature));
  for (const subject of [fileSubject(ID, OTHER_ID), fileSubject(ID, ""), ID, `${USER}.${ID}`, ""])
    assert.equal(links.verify(subject, expires, signature), false, subject);
});

test("a link with another expiry is invalid", () => {
  const { links } = service();
  const { expires, signature } = partsOf(links.fileUrl(USER, ID, "a"));
  const later = String(Number(expires) + HOUR);
  for (const changed of [
    later,
    `0${expires}`,
    `${expires}0`,
    `+${expires}`,
    `${expires}.0`,
    ` ${expires}`,
    "",
  ]) {
    assert.equal(links.verify(SUBJECT, changed, signature), false, changed);
  }
});

test("an expiry that is not a plain number is invalid, even if signed", () => {
  const sign = (expires: string) =>
    createHmac("sha256", FIRST).update(`file.${USER}.${ID}.${expires}`).digest("base64url");
  const { links } = service();
  const plain = String(NOW + HOUR);
  assert.ok(links.verify(SUBJECT, plain, sign(plain)));
  for (const odd of [
    "1700003600.0",
    "17000036e2",
    "01700003600e0",
    "Infinity",
    "NaN",
    "",
    "9".repeat(13),
    "0xffffffffff",
    "9999999999.5",
    "-1",
    "٩٩٩٩٩٩٩٩٩٩٩٩",
  ]) {
    assert.equal(links.verify(SUBJECT, odd, sign(odd)), false, odd);
  }
});

test("a link with a changed character in its signature is invalid", () => {
  const { links } = service();
  const { expires, signature } = partsOf(links.fileUrl(USER, ID, "a"));
  for (let i = 0; i < signature.length; i++) {
    // The last of 43 characters holds only four bits, so several characters decode to the same bytes.
    for (const character of ["A", "B", "_", "é"]) {
      const changed = signature.slice(0, i) + character + signature.slice(i + 1);
      assert.equal(links.verify(SUBJECT, expires, changed), changed === signature, changed);
    }
  }
});

test("a signature that is empty, cut, too long or not ASCII is invalid", () => {
  const { links } = service();
  const { expires, signature } = partsOf(links.fileUrl(USER, ID, "a"));
  const twoBytes = `é${signature.slice(2)}`;
  assert.equal(Buffer.byteLength(twoBytes), signature.length);
  const wrong = [
    "",
    signature.slice(1),
    signature.slice(0, -1),
    `${signature}=`,
    `${signature}A`,
    ` ${signature}`,
  ];
  for (const each of [
    ...wrong,
    twoBytes,
    "é".repeat(43),
    "\0".repeat(43),
    "\ud800",
    signature.toLowerCase(),
  ]) {
    assert.equal(links.verify(SUBJECT, expires, each), false, each);
  }
});

test("a secret from a move verifies until its time and signs nothing", () => {
  const { expires, signature } = partsOf(service([SECOND]).links.fileUrl(USER, ID, "a"));
  const { links, at } = service([FIRST], NOW, [{ secret: SECOND, until: (NOW + 60) * 1000 }]);
  assert.deepEqual(
    partsOf(links.fileUrl(USER, ID, "a")),
    partsOf(service([FIRST]).links.fileUrl(USER, ID, "a")),
  );
  at(NOW + 61);
  assert.ok(!links.verify(SUBJECT, expires, signature));
  at(NOW + 59);
  assert.ok(links.verify(SUBJECT, expires, signature));
});

test("the first of several secrets signs, and all verify", () => {
  const now = service([SECOND, FIRST]).links;
  for (const secret of [FIRST, SECOND]) {
    const { expires, signature } = partsOf(service([secret]).links.fileUrl(USER, ID, "a"));
    assert.ok(now.verify(SUBJECT, expires, signature));
  }
  const { expires, signature } = partsOf(now.fileUrl(USER, ID, "a"));
  assert.ok(service([SECOND]).links.verify(SUBJECT, expires, signature));
  assert.equal(service([FIRST]).links.verify(SUBJECT, expires, signature), false);
});

test("a removed secret no longer verifies", () => {
  const { expires, signature } = partsOf(service([FIRST]).links.fileUrl(USER, ID, "a"));
  assert.equal(service([SECOND, THIRD]).links.verify(SUBJECT, expires, signature), false);
});
