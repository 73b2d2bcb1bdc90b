// Frames by the rules of RFC 6455, each rule with all of its cases: reserved bits and opcodes, control frames, fragments,
// UTF-8, close codes. Text that is valid UTF-8 but no JSON closes with 4400, so the codes 1002 and 1007 are of the protocol.
import assert from "node:assert/strict";
import { once } from "node:events";
import type { Socket } from "node:net";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { startApp, type TestApp } from "../support/app.ts";
import { credentialsOf, openRawWebSocket, readCloseCode, toFrame } from "../support/event-socket.ts";
import { holds } from "../support/property.ts";

const TEXT = 1;
const CLOSE = 8;
const PING = 9;
const PONG = 10;
const UNLIMITED = { requestsPerSecond: 1_000_000 };

async function closeCode(t: TestContext, server: TestApp, ...frames: Uint8Array[]) {
  const socket = await openRawWebSocket(t, server);
  socket.write(Buffer.concat(frames));
  const code = await readCloseCode(socket);
  socket.destroy();
  return code;
}

/** Opens a raw WebSocket whose stream has started, and what reads its frames. */
async function openStarted(t: TestContext, server: TestApp) {
  const socket = await openRawWebSocket(t, server);
  socket.write(toFrame(JSON.stringify(credentialsOf(await server.user()))));
  await once(socket, "data");
  return { socket, take: reader(socket) };
}

interface Frame {
  opcode: number;
  payload: Buffer;
}

/** Yields the frames that the server sends; all are shorter than 126 bytes here. */
async function* framesOf(socket: Socket): AsyncGenerator<Frame, undefined> {
  let bytes = Buffer.alloc(0);
  for await (const chunk of socket) {
    bytes = Buffer.concat([bytes, chunk as Buffer]);
    while (bytes.length >= 2 && bytes.length >= 2 + bytes[1]!) {
      assert.ok(bytes[1]! < 126);
      yield { opcode: bytes[0]! & 0x0f, payload: Buffer.from(bytes.subarray(2, 2 + bytes[1]!)) };
      bytes = bytes.subarray(2 + bytes[1]!);
    }
  }
  return undefined;
}

/** Returns a function that reads the next frames. */
function reader(socket: Socket) {
  const frames = framesOf(socket);
  return async (count: number) => {
    const found: Frame[] = [];
    while (found.length < count) found.push((await frames.next()).value!);
    return found;
  };
}

test("reserved bits and opcodes close the WebSocket (RFC 6455, section 5.2)", async (t) => {
  const server = await startApp(t, UNLIMITED);
  for (const bits of [1, 2, 3, 4, 5, 6, 7])
    for (const opcode of [0, TEXT, 2, CLOSE, PING, PONG])
      assert.equal(
        await closeCode(t, server, toFrame("x", { opcode, reserved: bits << 4 })),
        1002,
        `bits ${bits}, opcode ${opcode}`,
      );
  for (const opcode of [3, 4, 5, 6, 7, 11, 12, 13, 14, 15])
    for (const payload of ["", "x"])
      assert.equal(await closeCode(t, server, toFrame(payload, { opcode })), 1002, `opcode ${opcode}`);
});

test("control frames are short, whole, and allowed between fragments (section 5.5)", async (t) => {
  const server = await startApp(t, UNLIMITED);
  for (const opcode of [CLOSE, PING, PONG]) {
    assert.equal(await closeCode(t, server, toFrame("", { opcode, isFinal: false })), 1002);
    for (const length of [126, 65_536])
      assert.equal(await closeCode(t, server, toFrame("x".repeat(length), { opcode })), 1002);
  }
  const { socket, take } = await openStarted(t, server);
  const payloads = ["", "x", "\u0000\u0001", "y".repeat(125)];
  socket.write(
    Buffer.concat([
      ...payloads.map((payload) => toFrame(payload, { opcode: PING })),
      toFrame("nobody has asked", { opcode: PONG }),
      toFrame('{"type"', { isFinal: false }),
      toFrame("between", { opcode: PING }),
      toFrame("", { opcode: 0, isFinal: false }),
      toFrame(':"ping"}', { opcode: 0 }),
    ]),
  );
  const expected = [...payloads, "between"].map((payload) => ({
    opcode: PONG,
    payload: Buffer.from(payload),
  }));
  assert.deepEqual(await take(expected.length + 1), [
    ...expected,
    { opcode: TEXT, payload: Buffer.from('{"type":"pong"}') },
  ]);
});

const VALID_UTF8 = [
  "00",
  "7f",
  "c280",
  "dfbf",
  "e0a080",
  "ed9fbf",
  "ee8080",
  "efbfbf",
  "efbbbf",
  "f0908080",
  "f48fbfbf",
];
const INVALID_UTF8 = [
  ...[
    "80",
    "bf",
    "c0",
    "c080",
    "c1bf",
    "c2",
    "c241",
    "df",
    "e0",
    "e08080",
    "e09fbf",
    "e0a0",
    "eda080",
    "edbfbf",
  ],
  ...[
    "edadbfedb080",
    "ef",
    "efbf",
    "f0",
    "f0808080",
    "f08fbfbf",
    "f09080",
    "f4908080",
    "f5808080",
    "f888808080",
  ],
  ...["fc8480808080", "fe", "ff", "cebae1bdb9cf83cebcceb5f4908080656469746564"],
];

test("text must be UTF-8, in one frame and in fragments (section 8.1)", async (t) => {
  const server = await startApp(t, UNLIMITED);
  const codes = async (bytes: Buffer, expected: number, name: string) => {
    assert.equal(await closeCode(t, server, toFrame(bytes)), expected, name);
    for (let at = 1; at < bytes.length; at++) {
      const parts = [
        toFrame(bytes.subarray(0, at), { isFinal: false }),
        toFrame(bytes.subarray(at), { opcode: 0 }),
      ];
      assert.equal(await closeCode(t, server, ...parts), expected, `${name}, in fragments at ${at}`);
    }
  };
  for (const hex of VALID_UTF8) await codes(Buffer.from(hex, "hex"), 4400, hex);
  for (const hex of INVALID_UTF8) await codes(Buffer.from(hex, "hex"), 1007, hex);
  const isValid = (bytes: Uint8Array) => {
    try {
      new TextDecoder("utf-8", { fatal: true }).decode(bytes);
      return true;
    } catch {
      return false;
    }
  };
  const lead = fc.constantFrom(0x41, 0x80, 0xbf, 0xc2, 0xe0, 0xed, 0xf0, 0xf4, 0xff);
  await holds(
    fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 8 }), lead, async (rest, first) => {
      const bytes = Buffer.from([first, ...rest]);
      assert.equal(await closeCode(t, server, toFrame(bytes)), isValid(bytes) ? 4400 : 1007);
    }),
  );
});

test("close frames have a valid code and reason, which the server repeats (sections 5.5.1 and 7.4)", async (t) => {
  const server = await startApp(t, UNLIMITED);
  const close = (code: number, reason: Uint8Array | string = "") => {
    const bytes = Buffer.concat([Buffer.from([code >> 8, code & 0xff]), Buffer.from(reason as string)]);
    return closeCode(t, server, toFrame(bytes, { opcode: CLOSE }));
  };
  for (const code of [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999]) {
    assert.equal(await close(code), code);
    assert.equal(await close(code, "bye"), code);
    assert.equal(await close(code, "x".repeat(123)), code);
    assert.equal(await close(code, Buffer.from([0xce, 0xba, 0xe1, 0xbd])), 1007);
  }
  for (const code of [0, 1, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65_535])
    assert.equal(await close(code), 1002, String(code));
  assert.equal(await closeCode(t, server, toFrame("x", { opcode: CLOSE })), 1002);
  // Nothing after a close frame is read.
  const bye = toFrame(Buffer.from([0x03, 0xe8]), { opcode: CLOSE });
  assert.equal(await closeCode(t, server, bye, toFrame("x", { opcode: 3 }), toFrame("x")), 1000);
});

test("valid frames, cut anywhere, are all answered in their order", async (t) => {
  const server = await startApp(t, UNLIMITED);
  const { socket, take } = await openStarted(t, server);
  const ping = fc.string({ maxLength: 20 }).map((payload) => ({
    frames: [toFrame(payload, { opcode: PING })],
    answer: { opcode: PONG, payload: Buffer.from(payload) },
  }));
  const text = fc.array(fc.nat(15), { maxLength: 4 }).map((cuts) => {
    const whole = '{"type":"ping"}';
    const ends = [...cuts.sort((a, b) => a - b), whole.length];
    const frames = ends.map((end, i) =>
      toFrame(whole.slice(ends[i - 1] ?? 0, end), {
        opcode: i === 0 ? TEXT : 0,
        isFinal: i === ends.length - 1,
      }),
    );
    return { frames, answer: { opcode: TEXT, payload: Buffer.from('{"type":"pong"}') } };
  });
  await holds(
    fc.asyncProperty(
      fc.array(fc.oneof(ping, text), { minLength: 1, maxLength: 10 }),
      fc.array(fc.nat(300), { maxLength: 5 }),
      async (messages, cuts) => {
        const bytes = Buffer.concat(messages.flatMap(({ frames }) => frames));
        const answers = take(messages.length);
        let sent = 0;
        for (const cut of [...cuts.sort((a, b) => a - b), bytes.length]) {
          socket.write(bytes.subarray(sent, cut));
          sent = Math.min(cut, bytes.length);
          await new Promise(setImmediate);
        }
        const expected = messages.map(({ answer }) => answer);
        const byKind = (frames: readonly Frame[], kind: number) =>
          frames.filter(({ opcode }) => opcode === kind);
        const found = await answers;
        // Pings are answered by the library at once, texts after those before them.
        for (const kind of [PONG, TEXT]) assert.deepEqual(byKind(found, kind), byKind(expected, kind));
      },
    ),
  );
});
