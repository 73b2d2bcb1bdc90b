import { once } from "node:events";
import { createServer, request as forward, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

/** How the proxy treats a request: passes it on, loses its answer, answers it, or delays it. */
export type Fate =
  | "pass"
  | "lose the answer"
  | { status: number; headers?: Record<string, string>; body?: string }
  | { waitMs: number };

export interface Between {
  url: string;
  /** Requests in the order of arrival, with their times. */
  seen: { method: string; path: string; key: string | undefined; at: number }[];
  /** Returns the number of requests without a complete answer. */
  underWay(): number;
  /** Cuts all connections. */
  cut(): void;
}

/** A proxy between a client and a server. `fateOf` is called for each request, with the earlier ones in `seen`. */
export async function proxy(
  t: TestContext,
  target: string,
  fateOf: (path: string, seen: Between["seen"]) => Fate,
) {
  const seen: Between["seen"] = [];
  let underWay = 0;
  const server = createServer(async (request, response) => {
    const path = request.url!;
    const fate = fateOf(path, seen);
    const key = request.headers["idempotency-key"] as string | undefined;
    seen.push({ method: request.method!, path, key, at: performance.now() });
    if (typeof fate === "object" && "status" in fate) {
      response.writeHead(fate.status, { connection: "close", ...fate.headers }).end(fate.body);
      return;
    }
    if (typeof fate === "object") await sleep(fate.waitMs);
    const answer = await pass(request, target).catch(() => undefined);
    if (answer === undefined) response.destroy();
    else if (fate === "lose the answer") {
      await text(answer);
      response.destroy();
    } else {
      response.writeHead(answer.statusCode!, answer.headers);
      response.flushHeaders();
      underWay++;
      answer.on("error", () => response.destroy()).pipe(response);
      response.on("close", () => {
        underWay--;
        answer.destroy();
      });
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, seen, underWay: () => underWay, cut: () => server.closeAllConnections() } satisfies Between;
}

function pass(request: IncomingMessage, target: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const { method, headers } = request;
    const onward = forward(target + request.url, { method, headers, agent: false }, resolve);
    onward.on("error", reject);
    request.on("error", () => onward.destroy());
    request.pipe(onward);
  });
}

/** Starts a server that accepts requests and never answers. */
export async function silentServer(t: TestContext): Promise<string> {
  const server = createServer((_request: IncomingMessage, _response: ServerResponse) => {});
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
