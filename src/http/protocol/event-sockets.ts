import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { WebSocketServer } from "ws";
import type { Core } from "../../core/node/core.ts";
import { takeSlot } from "../../core/node/user-slots.ts";
import { ParleyError } from "../../errors.ts";
import { http } from "../../util/node-http.ts";
import type { HttpContext } from "./context.ts";
import { EventSocket, GOING_AWAY } from "./event-socket.ts";
import { networkOf } from "./rate-limits.ts";
import { answerInOrder, dropInput } from "./raw-errors.ts";

const SUBPROTOCOL = "parley.1";
const VERSION = "13";
/** 16 bytes in base64 (RFC 6455, section 4.1). */
const KEY = /^[A-Za-z0-9+/]{22}==$/;
/** How long a client may take to answer the end of a WebSocket. */
const CLOSE_MS = 2000;
/** Parts of a frame, and frames of a message, that may be in memory. */
const MAX_PARTS = 256;

/** The target of the only requests that may become a WebSocket. */
const TARGET = /^(?:https?:\/\/[^/?]*)?\/v1\/events(?:\?|$)/i;

/**
 * Reports whether to upgrade a request. Any other Upgrade header is ignored, as RFC 9110 allows (section 7.8): some clients offer
 * HTTP/2 with each request.
 */
export function mayUpgrade({ method, url, headers }: IncomingMessage): boolean {
  return method === "GET" && headers.upgrade?.toLowerCase() === "websocket" && TARGET.test(url!);
}

const upgraded = new WeakSet<IncomingMessage>();

/** Reports whether only a WebSocket can follow on the connection of a request. */
export function isUpgraded(request: IncomingMessage): boolean {
  return upgraded.has(request);
}

type Answering = Socket & { _httpMessage?: unknown };

/** Passes requests for upgrades on to the routes, which answer or accept them. */
export function routeUpgrades(server: Server, context: HttpContext): void {
  server.on("upgrade", (request: IncomingMessage, socket: Answering, head: Buffer) => {
    // Node has removed its own listener. An unhandled error would end the process.
    socket.on("error", () => {});
    // The frames of the WebSocket would mix with an earlier answer.
    if (socket._httpMessage) {
      const detail = "Wait for the answers on this connection before you upgrade it.";
      return answerInOrder(context, socket, new ParleyError("malformed_request", detail));
    }
    upgraded.add(request);
    if (head.length > 0) socket.unshift(head);
    const response = new http.ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    response.once("finish", () => {
      socket.end();
      dropInput(socket);
    });
    server.emit("request", request, response);
  });
}

/** Accepts WebSockets, and closes them when the server stops. */
export class EventSockets {
  readonly #context: HttpContext;
  readonly #origins: readonly string[];
  /** WebSockets of each network that have sent no valid token yet. */
  readonly #pending = new Map<string, number>();
  #server: WebSocketServer | undefined;
  #isClosed = false;

  /** `origins` are those whose pages may use the API. */
  constructor(context: HttpContext, origins: readonly string[]) {
    this.#context = context;
    this.#origins = origins;
  }

  /** Completes the handshake. Throws `malformed_request`, `origin_not_allowed`, `rate_limited` and `unavailable`. */
  async accept(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    checkHandshake(request, reply);
    const { core, limits } = this.#context;
    const isSameOrigin = isOwnOrigin(core, request);
    if (!isSameOrigin && !this.#origins.some((each) => each === "*" || each === request.headers.origin))
      throw new ParleyError("origin_not_allowed");
    // Loaded at the first handshake: it takes some milliseconds of each start.
    const loaded = this.#server ?? (await this.#load());
    // Another handshake may have loaded it meanwhile.
    this.#server ??= loaded;
    if (this.#isClosed) throw new ParleyError("unavailable");
    const slot = takeSlot(this.#pending, networkOf(request), limits.pendingSocketsPerAddress);
    if (!slot) {
      const detail = `An address can have ${limits.pendingSocketsPerAddress} WebSockets that have sent no valid token.`;
      throw new ParleyError("rate_limited", detail, { header: "1" });
    }
    const { id, ip, socket, headers, raw } = request;
    const handshake = { requester: { id, ip, socket, headers }, isSameOrigin, slot };
    let isOpen = false;
    reply.hijack();
    reply.raw.detachSocket(socket);
    this.#server.handleUpgrade(raw, socket, Buffer.alloc(0), (ws) => {
      isOpen = true;
      new EventSocket(this.#context, ws, socket, handshake);
    });
    if (!isOpen) slot[Symbol.dispose]();
    // Counts and logs the request now, and releases it.
    reply.raw.statusCode = 101;
    reply.raw.emit("close");
    return reply;
  }

  /** Closes all WebSockets, and accepts no more. */
  close(): void {
    this.#isClosed = true;
    for (const ws of this.#server?.clients ?? []) ws.close(GOING_AWAY);
  }

  async #load(): Promise<WebSocketServer> {
    const { WebSocketServer } = await import("ws");
    const options = {
      noServer: true,
      maxPayload: this.#context.limits.maxSocketFrameBytes,
      maxBufferedChunks: MAX_PARTS,
      maxFragments: MAX_PARTS,
      closeTimeout: CLOSE_MS,
      handleProtocols: () => SUBPROTOCOL,
    };
    return new WebSocketServer(options);
  }
}

function checkHandshake({ headers }: FastifyRequest, reply: FastifyReply): void {
  const { "sec-websocket-version": version, "sec-websocket-key": key = "" } = headers;
  const protocols = headers["sec-websocket-protocol"]?.split(",").map((name) => name.trim()) ?? [];
  if (version === VERSION && KEY.test(key) && protocols.includes(SUBPROTOCOL)) return;
  reply.header("sec-websocket-version", VERSION);
  throw new ParleyError(
    "malformed_request",
    `A WebSocket needs Sec-WebSocket-Version: ${VERSION}, a Sec-WebSocket-Key, and Sec-WebSocket-Protocol: ${SUBPROTOCOL}.`,
  );
}

/**
 * Reports whether a request comes from a page of this server, or from no page. The server is known by its public address, and by
 * the one that the browser has used.
 */
function isOwnOrigin(core: Core, { headers }: FastifyRequest): boolean {
  const { origin, host } = headers;
  if (origin === undefined) return true;
  const page = URL.parse(origin)?.host;
  return origin === new URL(core.origin()).origin || (Boolean(page) && page === host?.toLowerCase());
}
