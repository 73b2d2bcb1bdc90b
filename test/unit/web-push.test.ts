import assert from "node:assert/strict";
import { createECDH, createPublicKey, verify } from "node:crypto";
import { test } from "node:test";
import {
  createPushKey,
  createSender,
  encryptPush,
  isPublicKey,
  PushIdentity,
} from "../../src/util/web-push.ts";

/** RFC 8291, section 5 and appendix A. */
const VECTOR = {
  text: "When I grow up, I want to be a watermelon",
  sender: "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw",
  salt: "DGv6ra1nlYgDCS1FRnbzlw",
  receiver: {
    publicKey: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
    secret: "BTBZMqHH6r4Tts7J_aSIgg",
  },
  body:
    "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_y" +
    "l95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN",
};

test("a text is encrypted as in the example of RFC 8291", () => {
  const sender = createECDH("prime256v1");
  sender.setPrivateKey(VECTOR.sender, "base64url");
  const salt = Buffer.from(VECTOR.salt, "base64url");
  const body = encryptPush(VECTOR.text, VECTOR.receiver, { sender, salt, length: VECTOR.text.length });
  assert.equal(Buffer.from(body).toString("base64url"), VECTOR.body);
});

test("every message has the same size and a new key", () => {
  const salt = new Uint8Array(16);
  const bodies = ["", "a", "ä".repeat(50)].map((text) =>
    Buffer.from(encryptPush(text, VECTOR.receiver, { sender: createSender(), salt, length: 100 })),
  );
  assert.deepEqual(
    bodies.map(({ length }) => length),
    Array(3).fill(16 + 4 + 1 + 65 + 100 + 1 + 16),
  );
  assert.equal(new Set(bodies.map((body) => body.toString("hex", 21, 86))).size, 3);
});

test("a public key is an uncompressed point on the curve", () => {
  const { publicKey } = VECTOR.receiver;
  assert.ok(isPublicKey(publicKey));
  const bytes = Buffer.from(publicKey, "base64url");
  for (const wrong of [
    "",
    `${publicKey}=`,
    ` ${publicKey}`,
    bytes.toString("base64"),
    bytes.subarray(0, 64).toString("base64url"),
    Buffer.alloc(65).toString("base64url"),
    Buffer.concat([bytes.subarray(0, 64), Buffer.of(bytes[64]! ^ 1)]).toString("base64url"),
    Buffer.concat([Buffer.of(6 + (bytes[64]! & 1)), bytes.subarray(1)]).toString("base64url"),
  ])
    assert.ok(!isPublicKey(wrong), wrong);
});

test("each new key has 32 bytes, also with leading zeros", () => {
  const keys = Array.from({ length: 1000 }, createPushKey);
  assert.deepEqual(new Set(keys.map((key) => Buffer.from(key, "base64url").length)), new Set([32]));
  assert.equal(new Set(keys).size, keys.length);
});

const SIX_HOURS_MS = 6 * 3600 * 1000;

function parts(authorization: string) {
  const [, token, key] = /^vapid t=([^,]+), k=(\S+)$/.exec(authorization)!;
  const [head, claims, signature] = token!.split(".");
  const read = (text: string) => JSON.parse(Buffer.from(text, "base64url").toString());
  const point = Buffer.from(key!, "base64url");
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((each) => each.toString("base64url"));
  const publicKey = createPublicKey({ key: { kty: "EC", crv: "P-256", x: x!, y: y! }, format: "jwk" });
  const isSigned = verify(
    "sha256",
    Buffer.from(`${head}.${claims}`),
    { key: publicKey, dsaEncoding: "ieee-p1363" },
    Buffer.from(signature!, "base64url"),
  );
  return { head: read(head!), claims: read(claims!), key, isSigned };
}

test("each push server gets its own signature, renewed before it expires by that server's clock", () => {
  let now = 1_700_000_000_000;
  const identity = new PushIdentity(
    createPushKey(),
    () => "https://chat.example.com",
    () => now,
  );
  const first = identity.authorization("https://push.example.com");
  assert.deepEqual(parts(first), {
    head: { typ: "JWT", alg: "ES256" },
    claims: {
      aud: "https://push.example.com",
      exp: now / 1000 + 12 * 3600,
      sub: "https://chat.example.com",
    },
    key: identity.publicKey,
    isSigned: true,
  });
  assert.ok(isPublicKey(identity.publicKey));
  const other = identity.authorization("https://other.example.com");
  assert.equal(parts(other).claims.aud, "https://other.example.com");
  now += SIX_HOURS_MS - 1;
  assert.equal(identity.authorization("https://push.example.com"), first);
  now += 1;
  const second = parts(identity.authorization("https://push.example.com"));
  assert.equal(second.claims.exp, now / 1000 + 12 * 3600);
  assert.ok(second.isSigned);
});

test("the cache of signatures is limited, whatever endpoints users choose", () => {
  const identity = new PushIdentity(
    createPushKey(),
    () => undefined,
    () => 0,
  );
  const first = identity.authorization("https://push.example.com");
  for (let i = 0; i < 999; i++) identity.authorization(`https://${i}.example.com`);
  assert.equal(identity.authorization("https://push.example.com"), first);
  identity.authorization("https://one-more.example.com");
  // A signature is randomized, so a new one differs.
  assert.notEqual(identity.authorization("https://push.example.com"), first);
});
