// Load over raw sockets, which costs the side that makes it as little as can be.
import { createConnection, type Socket } from "node:net";

export interface Server {
  port: number;
  pid: number;
}

/** What to send to servers, and how. */
export interface Requests {
  /** Connections go to them in turn. */
  servers: readonly Server[];
  /** The process id of their database, if that is another process. */
  database?: number;
  connections: number;
  /** The status of each answer. */
  status: number;
  /** Whether this process sleeps between answers: it must where it shares its core with a server. */
  sleeps?: boolean;
  /** The next request, as it goes over the wire. */
  next: () => Buffer[];
}

export interface Loaded {
  /** Answers a second. */
  rate: number;
  /** Milliseconds from each request's first byte to its answer's last, sorted. */
  latencies: number[];
}

/** All sockets read into this one: what it holds is looked at before the next read. */
const received = Buffer.allocUnsafe(256 * 1024);

/** One connection that is kept alive and has one request at a time. */
export class Client {
  readonly #socket: Socket;
  #head = "";
  #left = 0;
  #answered: () => void = () => {};
  #fail: (error: Error) => void = () => {};
  readonly #status: number;

  constructor({ port }: Server, status: number) {
    this.#status = status;
    const callback = (length: number) => {
      this.#take(length);
      return true;
    };
    const onread = { buffer: received, callback };
    this.#socket = createConnection({ port, host: "127.0.0.1", noDelay: true, onread });
    this.#socket.on("error", (error) => this.#fail(error));
    this.#socket.on("close", () => this.#fail(new Error("The server closed the connection.")));
  }

  /** Resolves once the answer has come in whole; its bytes are dropped. */
  send(wire: Buffer[]): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#answered = resolve;
      this.#fail = reject;
      for (const part of wire) this.#socket.write(part);
    });
  }

  close(): void {
    this.#fail = () => {};
    this.#socket.destroy();
  }

  #take(length: number): void {
    if (this.#left > 0) this.#left -= length;
    else if (!this.#readHead(length)) return;
    if (this.#left < 0) this.#fail(new Error("More came than one answer."));
    if (this.#left === 0) this.#answered();
  }

  /** Whether the head is whole; then `#left` says how much of the body is still to come. */
  #readHead(length: number): boolean {
    this.#head += received.toString("latin1", 0, length);
    const end = this.#head.indexOf("\r\n\r\n");
    if (end === -1) return false;
    const head = this.#head.slice(0, end);
    if (Number(head.slice(9, 12)) !== this.#status) {
      this.#fail(new Error(`The answer is not ${this.#status}: ${this.#head.slice(0, 1000)}`));
    }
    const body = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
    this.#left = end + 4 + body - this.#head.length;
    this.#head = "";
    return true;
  }
}

function connect({ servers, connections, status }: Requests): Client[] {
  return Array.from({ length: connections }, (_, i) => new Client(servers[i % servers.length]!, status));
}

/** Sends requests for a while, over each connection the next as soon as the one before is answered. */
export async function closedLoop(requests: Requests, ms: number): Promise<Loaded> {
  const clients = connect(requests);
  const latencies: number[] = [];
  const begun = performance.now();
  let last = begun;
  async function drive(client: Client): Promise<void> {
    for (let sent = begun; sent < begun + ms; sent = last) {
      await client.send(requests.next());
      last = performance.now();
      latencies.push(last - sent);
    }
  }
  const stopSpinning = requests.sleeps ? () => {} : spin(() => {});
  try {
    await Promise.all(clients.map(drive));
  } finally {
    stopSpinning();
    for (const client of clients) client.close();
  }
  return loaded(latencies, last - begun);
}

export function loaded(latencies: number[], ms: number): Loaded {
  return { rate: (latencies.length / ms) * 1000, latencies: sorted(latencies) };
}

/**
 * Sends requests at a fixed rate, whether or not those before are answered, and returns the sorted latencies. They
 * count from the moment at which a request was due, so that a server that stalls cannot hide it.
 */
export async function openLoop(requests: Requests, perSecond: number, ms: number): Promise<number[]> {
  const clients = connect(requests);
  const idle = [...clients];
  const latencies: number[] = [];
  const count = Math.floor((ms * perSecond) / 1000);
  const begun = performance.now();
  const dueOf = (number: number) => begun + (number * 1000) / perSecond;
  let sent = 0;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  async function answer(client: Client, due: number): Promise<void> {
    await client.send(requests.next());
    latencies.push(performance.now() - due);
    idle.push(client);
    if (latencies.length === count) resolve();
  }
  const stopSpinning = spin(() => {
    while (sent < count && idle.length > 0 && dueOf(sent) <= performance.now()) {
      answer(idle.pop()!, dueOf(sent++)).catch(reject);
    }
  });
  try {
    await promise;
  } finally {
    stopSpinning();
    for (const client of clients) client.close();
  }
  return sorted(latencies);
}

/**
 * Calls the function in each turn of the event loop, and so keeps this process from sleeping. Waking a process on
 * another core costs the server that answers it, in virtual machines several times what the answer itself does, and
 * the slower server pays it more often.
 */
export function spin(each: () => void): () => void {
  let handle: NodeJS.Immediate;
  const again = () => {
    each();
    handle = setImmediate(again);
  };
  again();
  return () => clearImmediate(handle);
}

function sorted(numbers: number[]): number[] {
  return numbers.sort((a, b) => a - b);
}

/** Of sorted numbers. */
export function percentile(numbers: number[], p: number): number {
  return numbers[Math.min(numbers.length - 1, Math.floor((numbers.length * p) / 100))]!;
}

export function median(numbers: number[]): number {
  return percentile(sorted([...numbers]), 50);
}
