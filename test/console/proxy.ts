import { once } from "node:events";
import { request as ask, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex, Writable } from "node:stream";
import type { TestContext } from "node:test";
import type { TestApp } from "../support/app.ts";
import { passSocket } from "../support/proxy.ts";

/** The line of the request that opens a WebSocket. */
export const UPGRADE = "GET /v1/events, upgrade";
const POLICY = "content-security-policy";

/** The fate of a request: pass; lose its answer; or fail as from a broken server. */
export type Fate = "pass" | "lose" | "break";

export interface ProxyServer {
  /** The base URL, without a trailing slash. */
  url: string;
  /** The server's port, which changes on a restart. */
  port: number;
  /** Decides the fate of each request by its line, such as `GET /v1/me`. An answer waits for the promise. */
  fate: (line: string) => Fate | Promise<Fate>;
  /** Called when bytes of a request's body have passed, with the total so far. */
  passed: (line: string, bytes: number) => void;
  /** Called when the server has answered, before the answer is held or passed on. */
  answered: (line: string) => void;
  /** Changes the Content-Security-Policy of each response that has one. */
  toPolicy: (policy: string) => string;
  /** Returns how many streams of events are open: WebSockets and server-sent events. */
  openStreams(): number;
  cutStreams(): void;
  /** Closes all connections abruptly. */
  cut(): void;
}

/** Starts a proxy between the browser and the server, optionally below a path. The test controls it. */
export async function startProxy(t: TestContext, server: TestApp, prefix = ""): Promise<ProxyServer> {
  const streams = new Set<Writable>();
  const proxy: ProxyServer = {
    url: "",
    port: server.app.port(),
    fate: () => "pass",
    passed: () => {},
    answered: () => {},
    toPolicy: (policy) => policy,
    openStreams: () => streams.size,
    cutStreams() {
      for (const stream of [...streams]) stream.destroy();
    },
    cut() {
      listener.closeAllConnections();
      proxy.cutStreams();
    },
  };
  const listener = createServer((request, response) => {
    const path = request.url!.slice(prefix.length);
    const line = `${request.method} ${path}`;
    const fate = proxy.fate(line);
    if (fate === "break") {
      request.resume();
      return void response.writeHead(500).end();
    }
    const { method, headers } = request;
    const onward = ask(
      `http://127.0.0.1:${proxy.port}${path}`,
      { method: method!, headers },
      async (answer) => {
        if (answer.headers["content-type"]?.startsWith("text/event-stream")) streams.add(response);
        proxy.answered(line);
        if ((await fate) === "lose") return response.destroy();
        const policy = answer.headers[POLICY];
        const changed = typeof policy === "string" ? { [POLICY]: proxy.toPolicy(policy) } : {};
        response.writeHead(answer.statusCode!, { ...answer.headers, ...changed });
        answer.pipe(response);
      },
    );
    onward.on("error", () => response.destroy());
    response.on("close", () => {
      streams.delete(response);
      onward.destroy();
    });
    let bytes = 0;
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      proxy.passed(line, bytes);
    });
    request.pipe(onward);
  });
  listener.on("upgrade", async ({ method, url, rawHeaders }, socket: Duplex) => {
    const path = url!.slice(prefix.length);
    streams.add(socket);
    socket.on("close", () => streams.delete(socket)).on("error", () => {});
    if ((await proxy.fate(`${method} ${path}, upgrade`)) !== "pass") return void socket.destroy();
    passSocket({ method, url: path, rawHeaders }, socket, `http://127.0.0.1:${proxy.port}`);
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  t.after(() => {
    proxy.cut();
    listener.close();
  });
  proxy.url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}${prefix}`;
  return proxy;
}

/** Returns a promise and the function that resolves it. */
export function gate(): { passed: Promise<Fate>; open: () => void } {
  const { promise, resolve } = Promise.withResolvers<Fate>();
  return { passed: promise, open: () => resolve("pass") };
}

/** Holds the answers to matching requests until they are released. `arrived` resolves at the first. */
export function holdAnswers(
  proxy: ProxyServer,
  kind: RegExp,
): { arrived: Promise<void>; release: () => void } {
  const late = gate();
  const { promise: arrived, resolve } = Promise.withResolvers<void>();
  proxy.fate = (line) => (kind.test(line) ? late.passed : "pass");
  proxy.answered = (line) => {
    if (kind.test(line)) resolve();
  };
  return { arrived, release: late.open };
}
