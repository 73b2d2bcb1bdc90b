import { once } from "node:events";
import { request as ask, createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import type { TestApp } from "../support/app.ts";

const POLICY = "content-security-policy";

/** What becomes of a request: its answer is lost once it is there, or the proxy says that the server is broken. */
export type Fate = "pass" | "lose" | "break";

export interface ProxyServer {
  /** Where it answers, without a slash at the end. */
  url: string;
  /** The port of the server behind it. One that is started again has another. */
  port: number;
  /** Decides on each request by its line, such as `GET /v1/me`. An answer that is there waits for what this promises. */
  fate: (line: string) => Fate | Promise<Fate>;
  /** Called when bytes of a request's body have come: how many by now. */
  passed: (line: string, bytes: number) => void;
  /** Called when the server has answered, before its answer waits or goes on. */
  answered: (line: string) => void;
  /** Changes the Content-Security-Policy of each answer that has one. */
  toPolicy: (policy: string) => string;
  /** How many streams of events are open. */
  openStreams(): number;
  cutStreams(): void;
  /** Closes all connections as they are. */
  cut(): void;
}

/** A network between the browser and the server, also below a path, as a test wants it. */
export async function startProxy(t: TestContext, server: TestApp, prefix = ""): Promise<ProxyServer> {
  const streams = new Set<ServerResponse>();
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
    cut: () => listener.closeAllConnections(),
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
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  t.after(() => {
    listener.closeAllConnections();
    listener.close();
  });
  proxy.url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}${prefix}`;
  return proxy;
}

/** A promise to be kept by hand. */
export function gate(): { passed: Promise<Fate>; open: () => void } {
  const { promise, resolve } = Promise.withResolvers<Fate>();
  return { passed: promise, open: () => resolve("pass") };
}

/** Holds the answers to requests of this kind until they are released. `arrived`: when the first is there. */
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
