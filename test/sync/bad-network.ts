// A transport that loses, delays, doubles and cuts: requests as `fetch`, WebSockets as a relay of bytes.
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import type { Chance } from "../support/scale.ts";

/** How often each thing happens to a request, from 0 to 1. */
export interface Faults {
  loseRequest: number;
  loseAnswer: number;
  double: number;
  delay: number;
  cut: number;
}

export const NONE: Faults = { loseRequest: 0, loseAnswer: 0, double: 0, delay: 0, cut: 0 };
export const BAD: Faults = { loseRequest: 0.1, loseAnswer: 0.1, double: 0.15, delay: 0.3, cut: 0.1 };
/** What carries events. With both, server-sent events replace a WebSocket that is lost. */
export const TRANSPORTS = ["WebSocket", "server-sent events", "both"] as const;
export type NetworkTransport = (typeof TRANSPORTS)[number];

/** Cuts come within this many bytes of an answer: some in mid-event, some in mid-character. */
const CUT_WITHIN = 4_000;
const MAX_DELAY_MS = 15;

export class BadNetwork {
  faults = NONE;
  readonly #transport: NetworkTransport;
  readonly #chance: Chance;
  readonly #cuts = new Set<() => void>();
  readonly #sockets = new Set<Socket>();
  readonly #relay = createServer((socket) => this.#carry(socket));
  #server = { hostname: "", port: 0 };
  #isAway = false;
  /** Takes the place of `WebSocket`. */
  webSocket: typeof WebSocket | false = false;
  /** How often each fault has happened. */
  readonly met = { ...NONE };

  constructor(transport: NetworkTransport, chance: Chance) {
    this.#transport = transport;
    this.#chance = chance;
  }

  async start(url: string): Promise<void> {
    if (this.#transport === "server-sent events") return;
    const { hostname, port } = new URL(url);
    this.#server = { hostname, port: Number(port) };
    this.#relay.listen(0, "127.0.0.1");
    await once(this.#relay, "listening");
    const relay = `ws://127.0.0.1:${(this.#relay.address() as AddressInfo).port}`;
    this.webSocket = class extends WebSocket {
      constructor(...[address, protocols]: ConstructorParameters<typeof WebSocket>) {
        super(relay + new URL(address).pathname, protocols);
      }
    };
  }

  end(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#relay.close();
  }

  /** Nothing arrives, and what is open is cut, as for a device that sleeps or a process that is gone. */
  leave(): void {
    this.#isAway = true;
    this.cut();
  }

  return(): void {
    this.#isAway = false;
  }

  /** Cuts all answers that are being received. */
  cut(): void {
    for (const cut of this.#cuts) cut();
  }

  #hits(name: keyof Faults): boolean {
    const isHit = this.#chance() < this.faults[name];
    if (isHit) this.met[name]++;
    return isHit;
  }

  readonly fetch: typeof fetch = async (input, init) => {
    const hits = (name: keyof Faults) => this.#hits(name);
    if (this.#transport === "WebSocket" && new Headers(init?.headers).get("accept") === "text/event-stream")
      throw new TypeError("lost");
    if (hits("delay")) await this.#pause();
    if (this.#isAway || hits("loseRequest")) throw new TypeError("lost");
    const isRepeatable = typeof init?.body === "string" || init?.body == null;
    if (isRepeatable && hits("double"))
      void fetch(input, { ...init, signal: null })
        .then((answer) => answer.body?.cancel())
        .catch(() => {});
    const answer = await fetch(input, init);
    if (hits("delay")) await this.#pause();
    if (this.#isAway || hits("loseAnswer")) {
      await answer.body?.cancel();
      throw new TypeError("lost");
    }
    return answer.body ? this.#cuttable(answer, hits("cut")) : answer;
  };

  /** Passes on the bytes of one WebSocket. */
  #carry(device: Socket): void {
    const server = connect(this.#server.port, this.#server.hostname);
    const isLost = this.#isAway || this.#hits("loseRequest");
    const losesAnswer = this.#hits("loseAnswer");
    let left = this.#hits("cut") ? Math.floor(this.#chance() * CUT_WITHIN) : Number.POSITIVE_INFINITY;
    const end = () => {
      this.#cuts.delete(cut);
      server.destroy();
      device.destroySoon();
    };
    // A device that sleeps is not notified: the connection stays silent.
    const cut = () => {
      if (this.#isAway && this.#chance() < 0.5) {
        this.#cuts.delete(cut);
        server.destroy();
      } else end();
    };
    const pass = async (from: Socket, to: Socket, isAnswer: boolean) => {
      try {
        for await (const chunk of from as AsyncIterable<Buffer>) {
          if (this.#hits("delay")) await this.#pause();
          // A silent connection passes nothing on.
          if (!this.#cuts.has(cut)) continue;
          if (isAnswer && losesAnswer) break;
          to.write(chunk.subarray(0, left));
          left -= chunk.length;
          if (left < 0) break;
        }
      } catch {
        // It was destroyed.
      }
      if (this.#cuts.has(cut)) end();
    };
    for (const socket of [device, server]) {
      this.#sockets.add(socket);
      socket.on("error", () => {}).on("close", () => this.#sockets.delete(socket));
    }
    this.#cuts.add(cut);
    if (isLost) end();
    void pass(device, server, false);
    void pass(server, device, true);
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, this.#chance() * MAX_DELAY_MS));
  }

  /** Returns the answer with a body that ends with an error when it is cut. */
  #cuttable(answer: Response, isCut: boolean): Response {
    let left = isCut ? Math.floor(this.#chance() * CUT_WITHIN) : Number.POSITIVE_INFINITY;
    const reader = answer.body!.getReader();
    let cut = () => {};
    const end = () => void this.#cuts.delete(cut);
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        cut = () => {
          end();
          controller.error(new TypeError("cut"));
          void reader.cancel().catch(() => {});
        };
        this.#cuts.add(cut);
      },
      pull: async (controller) => {
        const { done, value } = await reader.read().catch(() => ({ done: true, value: undefined }));
        if (!this.#cuts.has(cut)) return;
        if (done) {
          end();
          return controller.close();
        }
        controller.enqueue(value!.subarray(0, left));
        left -= value!.length;
        if (left < 0) cut();
      },
      cancel: (reason) => {
        end();
        return reader.cancel(reason);
      },
    });
    const { status, headers } = answer;
    return new Response(body, { status, headers });
  }
}
