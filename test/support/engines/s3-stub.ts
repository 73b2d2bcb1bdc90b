import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { Transform } from "node:stream";
import type { TestContext } from "node:test";
import { setTimeout } from "node:timers/promises";
import type { S3Settings } from "../../../src/config/parse.ts";

/** Later than the cleanup of the client whose connection was cut. */
const LATE_MS = 1500;

/**
 * The fault of a request. A status is answered without asking the store; "hang" never answers; "reset" cuts the
 * connection after the store has executed the request, "late" before; "cut" ends an answer after its first bytes,
 * "stall" stops sending there; "flip" changes a bit in transit to the store.
 */
export type StoreFault = number | "hang" | "reset" | "late" | "cut" | "stall" | "flip";

/** A proxy between a server and the real store, which passes on all requests without a fault. */
export interface StoreStub {
  settings: S3Settings;
  /** Called for each request with its method and query, such as "PUT ?partNumber=1&…". */
  fault: (request: string) => StoreFault | undefined;
  /** Resolves when the store has answered all late requests. */
  lateRequests: () => Promise<unknown>;
}

export async function startStub(t: TestContext, settings: S3Settings): Promise<StoreStub> {
  const late: Promise<void>[] = [];
  const server = createServer((asked, answer) => {
    const fault = stub.fault(`${asked.method} ${asked.url!.replace(/^[^?]*/, "")}`);
    if (fault === "hang") return;
    if (typeof fault === "number") {
      asked.resume().on("end", () => answer.writeHead(fault).end());
      return;
    }
    if (fault === "late") late.push(passLate(asked, settings.endpoint!));
    else pass(asked, answer, settings.endpoint!, fault);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as { port: number };
  const stub: StoreStub = {
    settings: { ...settings, endpoint: `http://127.0.0.1:${port}`, pathStyle: true },
    fault: () => undefined,
    lateRequests: () => Promise.all(late),
  };
  return stub;
}

function pass(
  asked: IncomingMessage,
  answer: ServerResponse,
  endpoint: string,
  fault: StoreFault | undefined,
): void {
  // The Host header stays unchanged, because it is signed.
  const options = { method: asked.method!, headers: asked.headers, agent: false };
  const onward = request(endpoint + asked.url, options, async (answered) => {
    if (fault === "reset") {
      await answered.resume().toArray();
      asked.socket.destroy();
      return;
    }
    answer.writeHead(answered.statusCode!, answered.headers);
    if (fault !== "cut" && fault !== "stall") return void answered.pipe(answer);
    const first = (await answered.iterator().next()).value as Buffer;
    answer.write(first.subarray(0, first.length / 2), () => fault === "cut" && answer.destroy());
  });
  // Closing the connection reports the error to the client. For HEAD it is no error: Swift sends a body that does not
  // belong there.
  onward.on("error", () => (asked.method === "HEAD" && answer.headersSent ? answer.end() : answer.destroy()));
  asked.on("error", () => onward.destroy());
  if (fault === "flip") asked.pipe(flipBit()).pipe(onward);
  else asked.pipe(onward);
}

async function passLate(asked: IncomingMessage, endpoint: string): Promise<void> {
  const body = await asked.toArray().then(Buffer.concat, () => undefined);
  asked.socket.destroy();
  // The client has given up before its body was complete.
  if (!body) return;
  await setTimeout(LATE_MS);
  const onward = request(endpoint + asked.url, {
    method: asked.method!,
    headers: asked.headers,
    agent: false,
  });
  // The store may be gone with the test.
  await new Promise<void>((resolve) => {
    onward.on("response", (answered) => answered.resume());
    onward.on("close", resolve).on("error", () => {});
    onward.end(body);
  });
}

function flipBit(): Transform {
  let flipped = false;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const bytes = Buffer.from(chunk);
      if (!flipped) bytes[0]! ^= 1;
      flipped = true;
      done(null, bytes);
    },
  });
}
