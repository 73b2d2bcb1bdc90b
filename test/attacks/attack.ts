// Sends requests that no HTTP library would send, byte by byte, and reads the answers.
import assert from "node:assert/strict";
import type { TestUser } from "../support/app.ts";
import type { Place } from "../support/people.ts";
import { openSocket, readAnswer } from "../support/raw-socket.ts";

export interface Attack {
  method?: string;
  path: string;
  /** Sent in this order and spelling, duplicates included. Content-Length is added, and Host if it is missing. */
  headers: readonly [name: string, value: string][];
  /** A string is sent as Latin-1. */
  body?: Buffer | string;
  /** The Content-Length if the body is only the beginning of a longer one. */
  length?: number;
}

export interface Answered {
  status: number;
  /** Without the status line. Names are in lower case. */
  headers: [name: string, value: string][];
  body: string;
}

export async function attack(
  server: Place,
  user: Pick<TestUser, "headers"> | undefined,
  what: Attack,
): Promise<Answered> {
  const socket = await openSocket(server.url);
  // The server may reset the connection while the rest of a refused body arrives.
  socket.on("error", () => {});
  const bytes = typeof what.body === "string" ? Buffer.from(what.body, "latin1") : what.body;
  const headers = [...what.headers];
  if (!headers.some(([name]) => name === "host")) headers.push(["host", "localhost"]);
  if (user) headers.push(["authorization", user.headers.authorization]);
  if (bytes) headers.push(["content-length", String(what.length ?? bytes.length)]);
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  socket.write(`${what.method ?? "POST"} ${what.path} HTTP/1.1\r\n${lines}\r\n`, "latin1");
  if (bytes) socket.write(bytes);
  const text = await readAnswer(socket);
  socket.destroy();
  return parse(text);
}

function parse(text: string): Answered {
  const end = text.indexOf("\r\n\r\n");
  assert.ok(end !== -1, `no answer: ${JSON.stringify(text.slice(0, 200))}`);
  const [first = "", ...lines] = text.slice(0, end).split("\r\n");
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1]);
  return { status, headers, body: text.slice(end + 4) };
}

export function codeOf({ body }: Answered): string | undefined {
  try {
    return (JSON.parse(body) as { code?: string }).code;
  } catch {
    return undefined;
  }
}

export function isRefused({ status }: Pick<Answered, "status">): boolean {
  return status >= 400 && status < 500;
}

const UNKNOWN = "01h455vb4pex5vsknk084sn02q";
const KINDS: Record<string, string> = {
  ...{ conversations: "cnv", messages: "msg", contacts: "con", groups: "grp", attachments: "att" },
  ...{ webhooks: "whk", push_subscriptions: "psh", users: "usr", tokens: "tok" },
};

/** Returns an id of that kind that does not exist. */
export const unknownId = (kind: string) => `${kind}_${UNKNOWN}`;

/** Returns the path of a route, with unknown ids of the right kinds. */
export function unknownPath(route: string): string {
  return route
    .replace(":id", unknownId(KINDS[route.split("/")[2]!] ?? "undefined"))
    .replace(":delivery_id", unknownId("dlv"))
    .replace(":member_id", unknownId("mem"));
}
