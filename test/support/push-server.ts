// A push server and its devices, which decrypt and verify pushes by RFC 8188, 8291 and 8292.
import assert from "node:assert/strict";
import { createDecipheriv, createECDH, createHmac, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { importJWK, type JWTPayload, jwtVerify } from "jose";
import { raw } from "../../src/db/sql.ts";
import type { TestApp, TestUser } from "./app.ts";
import { asker, type Json } from "./asker.ts";
import { eventually } from "./files-on-disk.ts";

/** A push as it arrived, with its decrypted event. */
export interface Push {
  path: string;
  headers: IncomingHttpHeaders;
  /** Of the encrypted body. */
  size: number;
  event: Json;
  /** Of the token that identifies the sender. */
  claims: JWTPayload;
  /** The public key that verifies that token. */
  key: string;
}

/** The fields with which a device subscribes. */
export interface Device {
  endpoint: string;
  p256dh: string;
  auth: string;
}

export interface PushServer {
  origin: string;
  /** In order of arrival. */
  pushed: Push[];
  /** Creates a device; `path` is that of its endpoint. */
  device(path?: string): Device;
  /** Resolves once this many have arrived. */
  wait(count: number): Promise<Push[]>;
}

const WAIT_MS = 60_000;

const hmac = (key: Uint8Array, ...parts: (string | Uint8Array)[]) => {
  const mac = createHmac("sha256", key);
  for (const part of parts) mac.update(part);
  return mac.digest();
};
const ONE = Buffer.of(1);

/** Returns the keys of a device. */
class Keys {
  readonly #pair = createECDH("prime256v1");
  readonly #secret = randomBytes(16);

  constructor() {
    this.#pair.generateKeys();
  }

  shown() {
    return { p256dh: this.#pair.getPublicKey("base64url"), auth: this.#secret.toString("base64url") };
  }

  open(body: Buffer): string {
    const [salt, size, length] = [body.subarray(0, 16), body.readUInt32BE(16), body[20]!];
    assert.ok(body.length <= size, "one record");
    const theirs = body.subarray(21, 21 + length);
    const first = hmac(this.#secret, this.#pair.computeSecret(theirs));
    const key = hmac(first, "WebPush: info\0", this.#pair.getPublicKey(), theirs, ONE);
    const both = hmac(salt, key);
    const content = hmac(both, "Content-Encoding: aes128gcm\0", ONE).subarray(0, 16);
    const nonce = hmac(both, "Content-Encoding: nonce\0", ONE).subarray(0, 12);
    const decipher = createDecipheriv("aes-128-gcm", content, nonce);
    decipher.setAuthTag(body.subarray(-16));
    const padded = Buffer.concat([decipher.update(body.subarray(21 + length, -16)), decipher.final()]);
    const end = padded.findLastIndex((byte) => byte !== 0);
    assert.equal(padded[end], 2, "the last record");
    return padded.subarray(0, end).toString();
  }
}

async function verify(authorization: string, origin: string): Promise<Pick<Push, "claims" | "key">> {
  const [, token, key] = /^vapid t=([\w.-]+), k=([\w-]+)$/.exec(authorization)!;
  const point = Buffer.from(key!, "base64url");
  assert.deepEqual([point.length, point[0]], [65, 4]);
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((each) => each.toString("base64url"));
  const jwk = await importJWK({ kty: "EC", crv: "P-256", x: x!, y: y! }, "ES256");
  // The test may have set the clock of the service.
  const { exp } = JSON.parse(Buffer.from(token!.split(".")[1]!, "base64url").toString());
  const { payload } = await jwtVerify(token!, jwk, {
    audience: origin,
    currentDate: new Date(exp * 1000 - 1),
  });
  return { claims: payload, key: key! };
}

/** Calls `answer` for each push. If that sends nothing, the answer is 201. */
export async function pushServer(
  t: TestContext,
  answer: (response: ServerResponse, push: Push) => unknown = () => {},
): Promise<PushServer> {
  const pushed: Push[] = [];
  const devices = new Map<string, Keys>();
  let origin = "";
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray());
    const path = request.url!;
    const event = JSON.parse(devices.get(path)!.open(body));
    const identity = await verify(String(request.headers.authorization), origin);
    const push = { path, headers: request.headers, size: body.length, event, ...identity };
    pushed.push(push);
    if ((await answer(response, push)) === undefined && !response.writableEnded)
      response.writeHead(201).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    origin,
    pushed,
    device(path = `/send/${randomBytes(8).toString("hex")}`) {
      const keys = new Keys();
      devices.set(path, keys);
      return { endpoint: origin + path, ...keys.shown() };
    },
    async wait(count) {
      const deadline = performance.now() + WAIT_MS;
      while (pushed.length < count && performance.now() < deadline) await sleep(5);
      if (pushed.length < count) throw new Error(`${pushed.length} of ${count} came`);
      return pushed;
    },
  };
}

/** Subscribes a device of a user. */
export async function subscribe(
  server: Pick<TestApp, "url">,
  user: TestUser,
  device: Device,
): Promise<Json & { id: string }> {
  const { status, body } = await asker(server, user)("POST", "/v1/push_subscriptions", device);
  assert.ok(status === 201 || status === 200, JSON.stringify(body));
  return body as Json & { id: string };
}

/** A push that was not accepted yet. */
export interface Pending {
  attempts: number;
  next_at: number;
}

export const pending = (server: TestApp) =>
  server.app.core.db.all<Pending>(raw("SELECT attempts, next_at FROM deliveries ORDER BY next_at") as never);

/** Resolves once the pushes of all events were sent or skipped. */
export async function settled(server: TestApp): Promise<void> {
  const { db } = server.app.core;
  const count = async (query: string) => (await db.get<{ found: number | null }>(raw(query) as never))?.found;
  const isDone = async () => {
    // In the order in which events pass through these tables.
    const unnumbered = await count("SELECT COUNT(*) AS found FROM outbox");
    const last = await count("SELECT MAX(position) AS found FROM events");
    const cursor = await count("SELECT position AS found FROM webhook_cursor");
    return (
      unnumbered === 0 &&
      last === cursor &&
      (await count("SELECT COUNT(*) AS found FROM deliveries WHERE state = 'pending'")) === 0
    );
  };
  assert.ok(await eventually(isDone));
}
