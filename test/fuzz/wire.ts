// Raw HTTP/1.1: sends requests that no library would send, and reads answers strictly.
import assert from "node:assert/strict";
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { catalogue } from "../../src/errors.ts";
import { openSocket } from "../support/raw-socket.ts";

/**
 * The longest time of an exchange, far above every limit of the server, because other work may keep the machine busy.
 */
const BOUND_MS = 15_000;

/** In characters. With its other headers a request may exceed the limit. */
export const LONG_HEAD = 15_000;

export interface Answer {
  status: number;
  headers: ReadonlyMap<string, string>;
  body: Buffer;
}

/** What the client does after sending: waits, half-closes, resets the connection, or waits for the first bytes only. */
export type Ending = "wait" | "half-close" | "reset" | "first";

export interface Request {
  method?: string;
  target: string;
  headers?: Readonly<Record<string, string>>;
  /** Sent with a Content-Length, unless `headers` say otherwise. */
  body?: Buffer;
}

/** Encodes a request, with its body unchanged. */
export function encode({ method = "GET", target, headers = {}, body }: Request): Buffer {
  const named = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
  const framed = body === undefined || named.has("content-length") || named.has("transfer-encoding");
  const all = {
    ...(named.has("host") ? {} : { host: "fuzz" }),
    ...headers,
    ...(framed ? {} : { "content-length": String(body.length) }),
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines.join("")}\r\n`);
  return Buffer.concat([head, body ?? Buffer.alloc(0)]);
}

/** Sends pieces one by one. Returns all that arrives until the connection closes, which must be in time. */
export async function exchange(url: string, pieces: readonly Buffer[], ending: Ending): Promise<Buffer> {
  const begun = performance.now();
  const socket = await openSocket(url);
  const received: Buffer[] = [];
  socket.setNoDelay(true).on("error", () => {});
  socket.on("data", (chunk) => {
    received.push(chunk);
    if (ending === "first") socket.destroy();
  });
  const closed = new Promise<void>((resolve) => void socket.on("close", () => resolve()));
  for (const piece of pieces) {
    if (socket.writable) socket.write(piece);
    await setImmediate();
  }
  if (ending === "half-close") socket.end();
  if (ending === "reset") socket.resetAndDestroy();
  const patience = new AbortController();
  const late = sleep(BOUND_MS, undefined, { signal: patience.signal }).then(
    () => socket.destroy(),
    () => {},
  );
  await Promise.race([closed, late]);
  patience.abort();
  const took = performance.now() - begun;
  assert.ok(took < BOUND_MS, `${took} ms for ${preview(Buffer.concat(pieces))}`);
  return Buffer.concat(received);
}

/** Returns the only answer to a whole request. With "first" it has only headers, because a stream never ends. */
export async function ask(url: string, request: Request, ending: Ending = "wait"): Promise<Answer> {
  const sent = encode({ ...request, headers: { connection: "close", ...request.headers } });
  const bytes = await exchange(url, [sent], ending);
  const isHead = request.method === "HEAD" || ending === "first";
  const whole = ending === "first" ? bytes.subarray(0, bytes.indexOf("\r\n\r\n") + 4) : bytes;
  const { answers, rest } = readAnswers(whole, isHead);
  const final = answers.filter(({ status }) => status >= 200);
  assert.equal(final.length, 1, `${final.length} answers to ${preview(sent)}`);
  assert.equal(rest.length, 0, `${preview(rest)} after the answer to ${preview(sent)}`);
  isProper(final[0]!, isHead, sent);
  return final[0]!;
}

export function json<T = Record<string, never>>({ body }: Pick<Answer, "body">): T {
  return JSON.parse(body.toString()) as T;
}

export function preview(bytes: Buffer): string {
  const text = bytes.toString("latin1");
  return JSON.stringify(text.length > 1500 ? `${text.slice(0, 1500)}… (${text.length} bytes)` : text);
}

/** Asserts that the answer is no server error, and that an error has the shape of all errors. */
export function isProper({ status, headers, body }: Answer, isHead: boolean, sent: Buffer): void {
  const about = `${status} ${preview(body)} to ${preview(sent)}`;
  assert.ok(status < 500, about);
  assert.ok(headers.has("request-id"), about);
  if (status < 400 || isHead) return;
  assert.equal(headers.get("content-type"), "application/problem+json", about);
  const problem = json<{ status: number; code: string }>({ body });
  assert.equal(problem.status, status, about);
  assert.ok(Object.hasOwn(catalogue, problem.code), about);
}

const HEADER = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+): ?([\t\x20-\x7e\x80-\xff]*)$/;

/** Returns all complete answers, and the bytes after them, such as those of a truncated answer. */
export function readAnswers(bytes: Buffer, isHead = false): { answers: Answer[]; rest: Buffer } {
  const answers: Answer[] = [];
  let rest = bytes;
  for (let end = rest.indexOf("\r\n\r\n"); end !== -1; end = rest.indexOf("\r\n\r\n")) {
    const [first, ...lines] = rest.toString("latin1", 0, end).split("\r\n");
    const status = Number(/^HTTP\/1\.1 ([1-5]\d\d) [\x20-\x7e]*$/.exec(first!)?.[1]);
    assert.ok(status, `a status line: ${preview(rest)}`);
    const headers = new Map<string, string>();
    for (const line of lines) {
      const [, name, value] = HEADER.exec(line) ?? assert.fail(`a header: ${preview(rest)}`);
      assert.ok(!headers.has(name!.toLowerCase()), `a header that comes once: ${preview(rest)}`);
      headers.set(name!.toLowerCase(), value!);
    }
    const bare = isHead || status < 200 || status === 204 || status === 304;
    const framed = bare ? { body: Buffer.alloc(0), end: end + 4 } : readBody(rest, end + 4, headers);
    if (!framed) break;
    answers.push({ status, headers, body: framed.body });
    rest = rest.subarray(framed.end);
  }
  return { answers, rest };
}

function readBody(
  bytes: Buffer,
  from: number,
  headers: Map<string, string>,
): { body: Buffer; end: number } | undefined {
  if (headers.get("transfer-encoding") !== "chunked") {
    const end = from + Number(headers.get("content-length") ?? assert.fail(`a length: ${preview(bytes)}`));
    return end > bytes.length ? undefined : { body: bytes.subarray(from, end), end };
  }
  assert.ok(!headers.has("content-length"), `one framing: ${preview(bytes)}`);
  const chunks: Buffer[] = [];
  for (let at = from; ; ) {
    const lineEnd = bytes.indexOf("\r\n", at);
    if (lineEnd === -1) return undefined;
    const size = Number.parseInt(bytes.toString("latin1", at, lineEnd), 16);
    at = lineEnd + 2 + size + 2;
    if (at > bytes.length) return undefined;
    if (size === 0) return { body: Buffer.concat(chunks), end: at };
    chunks.push(bytes.subarray(lineEnd + 2, at - 2));
  }
}
