// WebSockets of the server, opened with the client of `ws` and with raw bytes.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { Socket } from "node:net";
import type { TestContext } from "node:test";
import { type ClientOptions, WebSocket } from "ws";
import type { TestApp, TestUser } from "./app.ts";
import { openSocket } from "./raw-socket.ts";

export type Frame = Record<string, unknown>;

export interface EventSocket {
  ws: WebSocket;
  /** The frames so far, and their texts. */
  frames: Frame[];
  texts: string[];
  /** Resolves to the first frame of this type. */
  find(type: string): Promise<Frame>;
  send(frame: object): void;
  /** Resolves to the code with which the server closes the connection. Rejects if it stays open. */
  closing(): Promise<number>;
  /** The same, however long it takes. */
  closed: Promise<number>;
}

type Server = Pick<TestApp, "url">;

/** The longest wait, so that a test fails instead of hanging. */
const PATIENCE_MS = 20_000;

const addressOf = ({ url }: Server) => `${url.replace("http", "ws")}/v1/events`;

/** Opens a WebSocket that has sent no frame yet. */
export async function openWebSocket(
  t: TestContext,
  server: Server,
  options: ClientOptions = {},
): Promise<EventSocket> {
  const ws = new WebSocket(addressOf(server), ["parley.1"], options);
  t.after(() => ws.terminate());
  const frames: Frame[] = [];
  const texts: string[] = [];
  const waiting = new Set<() => void>();
  ws.on("message", (data, isBinary) => {
    assert.equal(isBinary, false);
    texts.push(String(data));
    frames.push(JSON.parse(String(data)));
    for (const look of waiting) look();
  });
  ws.on("error", () => {});
  const closed = new Promise<number>((resolve) => {
    ws.once("close", (code) => {
      resolve(code);
      for (const look of waiting) look();
    });
  });
  await once(ws, "open");
  return {
    ws,
    frames,
    texts,
    closed,
    async closing() {
      const { promise, reject } = Promise.withResolvers<never>();
      const timer = setTimeout(() => reject(new Error(`it stays open: ${texts}`)), PATIENCE_MS);
      return Promise.race([closed, promise]).finally(() => clearTimeout(timer));
    },
    send: (frame) => ws.send(JSON.stringify(frame)),
    find: (type) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error(`no ${type}: ${texts}`)), PATIENCE_MS);
        const look = () => {
          const found = frames.find((frame) => frame.type === type);
          if (found) resolve(found);
          else if (ws.readyState !== WebSocket.CLOSED) return;
          else reject(new Error(`closed without ${type}: ${JSON.stringify(frames)}`));
          clearTimeout(timer);
          waiting.delete(look);
        };
        waiting.add(look);
        look();
      }),
  };
}

/** Opens a WebSocket and starts its stream. Resolves once it is ready. */
export async function startSocket(
  t: TestContext,
  server: Server,
  user: Pick<TestUser, "headers">,
  fields: object = {},
): Promise<EventSocket> {
  const socket = await openWebSocket(t, server);
  socket.send({ ...credentialsOf(user), ...fields });
  await socket.find("ready");
  return socket;
}

/** Returns the fields that stand for the headers of a user. */
export function credentialsOf({ headers }: { headers: Record<string, string> }): object {
  const { authorization, "parley-act-as": act_as } = headers;
  return { token: authorization!.replace("Bearer ", ""), act_as };
}

/** The head of a request for a WebSocket. */
export function upgradeHead(headers: Record<string, string> = {}, line = "GET /v1/events"): string {
  const lines = Object.entries({
    host: "x",
    connection: "Upgrade",
    upgrade: "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": randomBytes(16).toString("base64"),
    "sec-websocket-protocol": "parley.1",
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${line} HTTP/1.1\r\n${lines.join("")}\r\n`;
}

/** Opens a WebSocket for raw bytes. Resolves after the answer 101. */
export async function openRawWebSocket(t: TestContext, server: Server): Promise<Socket> {
  const socket = await openSocket(server.url, true);
  t.after(() => socket.destroy());
  socket.on("error", () => {});
  socket.write(upgradeHead());
  const [head] = (await once(socket, "data")) as [Buffer];
  assert.match(String(head), /^HTTP\/1\.1 101 /);
  return socket;
}

interface Shape {
  opcode?: number;
  isFinal?: boolean;
  isMasked?: boolean;
  reserved?: number;
  /** Announces this length. */
  length?: number;
}

/** Makes a frame as clients send it (RFC 6455, section 5.2), or one that breaks the protocol. */
export function toFrame(payload: Uint8Array | string, shape: Shape = {}): Buffer {
  const bytes = Buffer.from(payload as string);
  const { opcode = 1, isFinal = true, isMasked = true, reserved = 0, length = bytes.length } = shape;
  const first = (isFinal ? 0x80 : 0) | reserved | opcode;
  const maskBit = isMasked ? 0x80 : 0;
  const head =
    length < 126
      ? Buffer.from([first, maskBit | length])
      : length < 65_536
        ? Buffer.from([first, maskBit | 126, length >> 8, length & 0xff])
        : Buffer.concat([Buffer.from([first, maskBit | 127]), toLength(length)]);
  if (!isMasked) return Buffer.concat([head, bytes]);
  const mask = randomBytes(4);
  return Buffer.concat([head, mask, bytes.map((byte, i) => byte ^ mask[i % 4]!)]);
}

function toLength(length: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(length));
  return bytes;
}

/** Reads until the server closes a raw WebSocket. Returns the code of its close frame; undefined without one. Rejects if it stays open. */
export async function readCloseCode(socket: Socket): Promise<number | undefined> {
  const timer = setTimeout(() => socket.destroy(new Error("it stays open")), PATIENCE_MS);
  socket.once("close", () => clearTimeout(timer));
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  let bytes = Buffer.concat(chunks);
  while (bytes.length >= 2) {
    const short = bytes[1]! & 0x7f;
    const [start, length] = short === 126 ? [4, bytes.readUInt16BE(2)] : [2, short];
    if ((bytes[0]! & 0x0f) === 8) return bytes.readUInt16BE(start);
    bytes = bytes.subarray(start + length);
  }
  return undefined;
}
