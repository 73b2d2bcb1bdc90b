import { once } from "node:events";
import { createServer, type Server, Socket } from "node:net";
import type { TestContext } from "node:test";

/** Where a connection is cut that sends COMMIT. */
export type CommitCut =
  /** Before the server gets it. */
  | "before"
  /** When the server gets it, without waiting for the reply. */
  | "at"
  /** After the server has replied, but before the client gets the reply. */
  | "after";

/**
 * A proxy between a node and PostgreSQL, which parses just enough of the protocol to cause faults at the right moment.
 */
export interface PostgresProxy {
  /** The URL of the database through the proxy. */
  url: string;
  /** Called for each COMMIT; undefined lets it pass. */
  onCommit: () => CommitCut | undefined;
  /** Called for each piece of a reply. A number cuts the connection after this many bytes of it. */
  onAnswer: (piece: Buffer) => number | undefined;
  /** Returns the SQL to send instead of a simple query. */
  rewrite: (sql: string) => string;
  /** While on, nothing passes in either direction, and connections stay open. */
  stall(on: boolean): void;
  /**
   * Returns how often clients waited for a reply, and how many statements and commits they sent, since the last call. A
   * node's separate connection for LISTEN does not count, because it is used on a timer.
   */
  takeCounts(): Counts;
}

export interface Counts {
  roundTrips: number;
  statements: number;
  commits: number;
}

export async function startProxy(t: TestContext, target: string): Promise<PostgresProxy> {
  const { hostname, port } = new URL(target);
  const pairs = new Set<Pair>();
  const counts = { roundTrips: 0, statements: 0, commits: 0 };
  let stalled = false;
  const server: Server = createServer({ noDelay: true }, (client) => {
    const pair = new Pair(
      client,
      new Socket().setNoDelay(true).connect(Number(port), hostname),
      proxy,
      counts,
    );
    pairs.add(pair);
    client.once("close", () => pairs.delete(pair));
    if (stalled) pair.stall(true);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(target);
  url.port = String((server.address() as { port: number }).port);
  const proxy: PostgresProxy = {
    url: url.href,
    onCommit: () => undefined,
    onAnswer: () => undefined,
    rewrite: (sql) => sql,
    stall(on) {
      stalled = on;
      for (const pair of pairs) pair.stall(on);
    },
    takeCounts() {
      const taken = { ...counts };
      Object.assign(counts, { roundTrips: 0, statements: 0, commits: 0 });
      return taken;
    },
  };
  t.after(async () => {
    server.close();
    for (const pair of pairs) pair.cut();
  });
  return proxy;
}

const QUERY = "Q".charCodeAt(0);
const EXECUTE = "E".charCodeAt(0);

/** A client's connection and its connection to the server. */
class Pair {
  readonly #client: Socket;
  readonly #server: Socket;
  readonly #proxy: PostgresProxy;
  readonly #counts: Counts;
  #unread = Buffer.alloc(0);
  /** The first message has no type byte. */
  #started = false;
  #answered = true;
  #listens = false;
  #cutAfter = false;

  constructor(client: Socket, server: Socket, proxy: PostgresProxy, counts: Counts) {
    this.#client = client;
    this.#server = server;
    this.#proxy = proxy;
    this.#counts = counts;
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      socket.on("error", () => {});
      socket.on("close", () => other.destroySoon());
      socket.on("end", () => other.end());
    }
    client.on("data", (chunk) => this.#fromClient(chunk));
    server.on("data", (chunk) => {
      if (this.#cutAfter) return this.cut();
      const passed = proxy.onAnswer(chunk);
      if (passed !== undefined) {
        client.end(chunk.subarray(0, passed));
        server.destroy();
        return;
      }
      this.#answered = true;
      client.write(chunk);
    });
  }

  stall(on: boolean): void {
    for (const socket of [this.#client, this.#server]) {
      if (on) socket.pause();
      else socket.resume();
    }
  }

  cut(): void {
    this.#client.destroy();
    this.#server.destroy();
  }

  #fromClient(chunk: Buffer): void {
    this.#unread = Buffer.concat([this.#unread, chunk]);
    for (;;) {
      const head = this.#started ? 1 : 0;
      if (this.#unread.length < head + 4) return;
      const end = head + this.#unread.readInt32BE(head);
      if (this.#unread.length < end) return;
      const message = this.#unread.subarray(0, end);
      this.#unread = this.#unread.subarray(end);
      this.#pass(message);
      this.#started = true;
    }
  }

  #pass(message: Buffer): void {
    const type = this.#started ? message[0] : undefined;
    if (!this.#listens) {
      if (type === QUERY || type === EXECUTE) this.#counts.statements++;
      if (this.#answered) this.#counts.roundTrips++;
      this.#answered = false;
    }
    if (type !== QUERY) {
      this.#server.write(message);
      return;
    }
    const sql = message.toString("utf8", 5, message.length - 1);
    this.#listens ||= sql.includes("LISTEN ");
    if (sql === "COMMIT") this.#counts.commits++;
    const cut = sql === "COMMIT" ? this.#proxy.onCommit() : undefined;
    this.#cutAfter = cut === "after";
    if (cut !== "before") this.#server.write(simpleQuery(this.#proxy.rewrite(sql)));
    // Data already written still reaches the server.
    if (cut === "before" || cut === "at") this.#client.destroy();
  }
}

function simpleQuery(sql: string): Buffer {
  const text = Buffer.from(`${sql}\0`);
  const head = Buffer.alloc(5);
  head[0] = QUERY;
  head.writeInt32BE(text.length + 4, 1);
  return Buffer.concat([head, text]);
}
