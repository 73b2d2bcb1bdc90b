import { once } from "node:events";
import { createServer, request as forward, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
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
  seen: { method: string; path: string; key: string | undefined; at: number; isUpgrade: boolean }[];
  /** Returns the number of requests without a complete answer. */
  underWay(): number;
  /** Cuts all connections. */
  cut(): void;
}

/** A proxy between a client and a server. `fateOf` is called for each request, with the earlier ones in `seen`. */
export async function proxy(
  t: TestContext,
  target: string,
  fateOf: (path: string, seen: Between["seen"], isUpgrade: boolean) => Fate,
) {
  const seen: Between["seen"] = [];
  let underWay = 0;
  const decide = ({ url, method, headers }: IncomingMessage, isUpgrade = false): Fate => {
    const fate = fateOf(url!, seen, isUpgrade);
    const key = headers["idempotency-key"] as string | undefined;
    seen.push({ method: method!, path: url!, key, at: performance.now(), isUpgrade });
    return fate;
  };
  const server = createServer(async (request, response) => {
    const fate = decide(request);
    if (typeof fate === "object" && "status" in fate) {
      response.writeHead(fate.status, { connection: "close", ...fate.headers }).end(fate.body);
      return;
    }
    if (typeof fate === "object") await sleep(fate.waitMs);
    const answer = await pass(request, target).catch(() => undefined);
    if (answer === undefined) response.destroy();
    // It was cut meanwhile.
    else if (request.socket.destroyed) answer.destroy();
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
  const sockets = new Set<Socket>();
  server.on("upgrade", async (request, socket: Socket) => {
    sockets.add(socket.on("error", () => {}).on("close", () => sockets.delete(socket)));
    const fate = decide(request, true);
    if (fate === "lose the answer") socket.destroy();
    else if (typeof fate === "object" && "status" in fate) socket.end(`HTTP/1.1 ${fate.status} No\r\n\r\n`);
    else {
      if (typeof fate === "object") await sleep(fate.waitMs);
      if (socket.destroyed) return;
      underWay++;
      socket.on("close", () => underWay--);
      passSocket(request, socket, target);
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = () => {
    server.closeAllConnections();
    for (const socket of sockets) socket.destroy();
  };
  t.after(() => {
    server.close();
    cut();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, seen, underWay: () => underWay, cut } satisfies Between;
}

/** Passes on a request for a WebSocket, and all bytes of it. */
export function passSocket(
  { method, url, rawHeaders }: Pick<IncomingMessage, "method" | "url" | "rawHeaders">,
  socket: Duplex,
  target: string,
): void {
  const { hostname, port } = new URL(target);
  const onward = connect(Number(port), hostname);
  const lines = rawHeaders.map((each, i) => (i % 2 === 0 ? `${each}: ` : `${each}\r\n`));
  onward.write(`${method} ${url} HTTP/1.1\r\n${lines.join("")}\r\n`);
  onward.on("error", () => socket.destroy()).on("close", () => socket.destroy());
  socket.on("close", () => onward.destroy());
  onward.pipe(socket).pipe(onward);
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
