// Runs a corpus against a server that only its URL identifies, in this process or another. Requests are raw bytes over
// a few kept-alive connections, and errors are validated.
import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { SCOPES, type TokenChoice } from "../../src/core/people/tokens.ts";
import { catalogue } from "../../src/errors.ts";
import { allOperations } from "../../src/http/routes/operations.ts";

export interface Target {
  url: string;
  user(choice?: TokenChoice): Promise<Member>;
}

/** A user, by a token of theirs. */
export interface Member {
  id: string;
  headers: { authorization: string };
}

export interface Answer {
  status: number;
  /** Names are in lower case. */
  headers: Record<string, string>;
  body: Buffer;
}

export interface Asked {
  headers?: Record<string, string>;
  body?: Uint8Array | string;
}

export type Ask = (method: string, path: string, asked?: Asked) => Promise<Answer>;

export const AT_ONCE = 16;
/** The limit of concurrent searches per user. */
export const SEARCHES_AT_ONCE = 4;
const ANSWER_WITHIN_MS = 60_000;
/** How many characters of a failed case are printed. */
const MAX_TOLD = 500;

/** Returns a client that sends path and headers unchanged, as no HTTP library does. Strings are sent as UTF-8. */
export function client({ url }: Pick<Target, "url">, user?: Member): Ask {
  const idle: Socket[] = [];
  const { hostname, port, host } = new URL(url);
  return async (method, path, { headers = {}, body = "" } = {}) => {
    const bytes = Buffer.from(body);
    const all = { host, ...user?.headers, "content-length": String(bytes.length), ...headers };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    let socket = idle.pop();
    while (socket?.destroyed) socket = idle.pop();
    socket ??= connect(Number(port), hostname).setNoDelay().setTimeout(ANSWER_WITHIN_MS, hangUp);
    // An idle connection does not keep the process running.
    socket.ref();
    socket.write(Buffer.concat([Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n`), bytes]));
    const answer = await readAnswer(socket, method === "HEAD");
    if (answer.headers.connection === "close") socket.destroy();
    else idle.push(socket.unref());
    return answer;
  };
}

function hangUp(this: Socket): void {
  this.destroy();
}

/** Reads one whole answer, which must have a length. */
function readAnswer(socket: Socket, isHead: boolean): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let got: Buffer = Buffer.alloc(0);
    const end = (settle: () => void) => {
      socket.off("data", onData).off("close", onClose).off("error", onClose);
      settle();
    };
    const onData = (chunk: Buffer) => {
      got = got.length === 0 ? chunk : Buffer.concat([got, chunk]);
      const answer = wholeAnswer(got, isHead);
      if (answer) end(() => resolve(answer));
    };
    const onClose = () => end(() => reject(new Error(`no whole answer: ${got.toString("latin1")}`)));
    socket.on("data", onData).on("close", onClose).on("error", onClose);
  });
}

function wholeAnswer(got: Buffer, isHead: boolean): Answer | undefined {
  const end = got.indexOf("\r\n\r\n");
  if (end === -1) return undefined;
  const [line, ...rest] = got.toString("latin1", 0, end).split("\r\n");
  const headers: Record<string, string> = {};
  for (const each of rest) {
    const colon = each.indexOf(": ");
    headers[each.slice(0, colon).toLowerCase()] = each.slice(colon + 2);
  }
  const length = isHead ? 0 : Number(headers["content-length"] ?? 0);
  if (got.length < end + 4 + length) return undefined;
  return { status: Number(line!.split(" ")[1]), headers, body: got.subarray(end + 4, end + 4 + length) };
}

export const JSON_TYPE = { "content-type": "application/json" };
export const FORM_TYPE = { "content-type": "application/x-www-form-urlencoded" };

export const json = (fields: Fields): Asked => ({ headers: JSON_TYPE, body: JSON.stringify(fields) });
export const form = (fields: Fields): Asked => ({
  headers: FORM_TYPE,
  body: new URLSearchParams(fields as Record<string, string>).toString(),
});

export type Fields = Record<string, unknown>;

export function parsed<T = Fields>(answer: Answer): T {
  return JSON.parse(answer.body.toString()) as T;
}

/** Returns the code of an error, which must be a 4xx with a detail, in the shape of all errors. */
export function refused({ status, headers, body }: Answer): string {
  const text = body.toString();
  assert.ok(status >= 400 && status < 500, `${status}: ${text}`);
  assert.equal(headers["content-type"], "application/problem+json", text);
  const problem = JSON.parse(text) as { status: number; code: string; detail: string };
  assert.equal(problem.status, status);
  assert.ok(Object.hasOwn(catalogue, problem.code), text);
  assert.ok(problem.detail, text);
  return problem.code;
}

/** Returns the resource of the answer, or undefined for an error. */
export function accepted(answer: Answer): Fields | undefined {
  if (answer.status >= 300) refused(answer);
  return answer.status < 300 ? parsed(answer) : undefined;
}

/** Runs all cases, several at once. A failure names its case. `runner` numbers those that run at the same time. */
export async function each<T>(
  cases: readonly T[],
  run: (each: T, index: number, runner: number) => Promise<unknown>,
  atOnce = AT_ONCE,
): Promise<void> {
  assert.ok(cases.length > 0, "a corpus without a case");
  let next = 0;
  const runner = async (_: unknown, number: number) => {
    while (next < cases.length) {
      const index = next++;
      await run(cases[index]!, index, number).catch((cause: unknown) => {
        throw new Error(`${JSON.stringify(cases[index]).slice(0, MAX_TOLD)}: ${cause}`, { cause });
      });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, runner));
}

/**
 * Returns the words by which a name is searched. A character that stands for several letters, such as ™, is a separate
 * word.
 */
export function toWords(name: string): string[] {
  return name
    .replaceAll("™", " ™ ")
    .normalize("NFKC")
    .split(/[\p{P}\p{Z}\p{C}]+/u);
}

export const turn = <T>(list: readonly T[], index: number): T => list[index % list.length]!;

export const administrator = (target: Target) => target.user({ scopes: SCOPES });

/** All operations that require a token. */
export const operations = () => allOperations.filter(({ access }) => access === undefined);
