// A receiver of webhooks.
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { TestEvent } from "./event-stream.ts";

export interface Received {
  headers: IncomingHttpHeaders;
  body: string;
  event: TestEvent;
}

export interface Receiver {
  url: string;
  /** In order of arrival. */
  received: Received[];
  /** Resolves once this many have arrived. */
  wait(count: number): Promise<Received[]>;
}

const WAIT_MS = 60_000;

/** Calls `answer` for each request. If that sends nothing, the answer is 204. */
export async function receiver(
  t: TestContext,
  answer: (response: ServerResponse, received: Received) => unknown = () => {},
): Promise<Receiver> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += chunk;
    const one = { headers: request.headers, body, event: JSON.parse(body) };
    received.push(one);
    if ((await answer(response, one)) === undefined && !response.writableEnded) response.writeHead(204).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    received,
    async wait(count) {
      const deadline = performance.now() + WAIT_MS;
      while (received.length < count && performance.now() < deadline) await sleep(5);
      if (received.length < count) throw new Error(`${received.length} of ${count} came`);
      return received;
    },
  };
}
