import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { Transform } from "node:stream";
import type { TestContext } from "node:test";
import { setTimeout } from "node:timers/promises";
import type { S3Settings } from "../../../src/config/parse.ts";

/** Later than whoever was cut off has tidied up. */
const LATE_MS = 1500;

/**
 * What goes wrong with a request: a status is answered in place of the store; "hang" is silence; "reset" cuts the
 * connection once the store has done it, "late" before it does; "cut" ends an answer after its first bytes; "stall" goes silent there; "flip"
 * changes a bit on the way to the store.
 */
export type StoreFault = number | "hang" | "reset" | "late" | "cut" | "stall" | "flip";

/** Stands between a server and the real store, which it passes everything on to that has no fault. */
export interface StoreStub {
  settings: S3Settings;
  /** Asked at each request, which has the method and what follows the key, such as "PUT ?partNumber=1&…". */
  fault: (request: string) => StoreFault | undefined;
}

export async function startStub(t: TestContext, settings: S3Settings): Promise<StoreStub> {
  const server = createServer((asked, answer) => {
    const fault = stub.fault(`${asked.method} ${asked.url!.replace(/^[^?]*/, "")}`);
    if (fault === "hang") return;
    if (typeof fault === "number") {
      asked.resume().on("end", () => answer.writeHead(fault).end());
      return;
    }
    if (fault === "late") passLate(asked, settings.endpoint!);
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
  };
  return stub;
}

function pass(
  asked: IncomingMessage,
  answer: ServerResponse,
  endpoint: string,
  fault: StoreFault | undefined,
): void {
  // The header Host goes along as it is: it is signed.
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
  // Whoever asks is told by the end of the connection. (Swift sends a body after the head that HEAD asks for: no error.)
  onward.on("error", () => (asked.method === "HEAD" && answer.headersSent ? answer.end() : answer.destroy()));
  asked.on("error", () => onward.destroy());
  if (fault === "flip") asked.pipe(flipBit()).pipe(onward);
  else asked.pipe(onward);
}

async function passLate(asked: IncomingMessage, endpoint: string): Promise<void> {
  const body = Buffer.concat(await asked.toArray());
  asked.socket.destroy();
  await setTimeout(LATE_MS);
  // Nobody waits for it any more, and the store may have gone with the test.
  request(endpoint + asked.url, { method: asked.method!, headers: asked.headers, agent: false })
    .on("error", () => {})
    .end(body);
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
