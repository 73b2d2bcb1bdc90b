// WebSockets: who may open one, what they may do, and what bounds them.
import type { Mutant } from "./mutant.ts";

export const sockets: readonly Mutant[] = [
  {
    name: "sockets: pages of any origin open WebSockets",
    find: "if (!isSameOrigin && !this.#origins.some(",
    replace: "if (!this.#origins && !this.#origins.some(",
    tests: ["attacks/websockets"],
  },
  {
    name: "sockets: pages of other origins use sessions",
    find: "if (!this.#isSameOrigin && (session ?? act_as) !== undefined)",
    replace: "if (!this.#isSameOrigin && act_as !== undefined)",
    tests: ["attacks/websockets"],
  },
  {
    name: "sockets: a token in the query is ignored, not refused",
    find: "if (given === undefined) return sockets.accept(request, reply);",
    replace: "if (given !== 'limit') return sockets.accept(request, reply);",
    tests: ["attacks/websockets"],
  },
  {
    name: "sockets: a WebSocket begins in the middle of earlier answers",
    find: "if (socket._httpMessage) {",
    replace: "if (!socket) {",
    tests: ["attacks/websockets"],
  },
  {
    name: "sockets: an address may have any number of WebSockets without a token",
    find: "networkOf(request), limits.pendingSocketsPerAddress)",
    replace: "networkOf(request), Number.POSITIVE_INFINITY)",
    tests: ["attacks/websockets"],
  },
  {
    name: "sockets: a token without events:read starts a stream",
    find: 'requireScope(caller, "events:read");',
    replace: "",
    tests: ["http/event-sockets"],
  },
  {
    name: "sockets: a token without messages:write reads and types",
    find: 'requireScope(caller, "messages:write"); if (type === "read") {',
    replace: 'if (type === "read") {',
    tests: ["http/event-sockets"],
  },
  {
    name: "sockets: a frame is handled after its token expired",
    find: "metrics.socketFrames.inc({ type }); const caller = await authenticate(this.#context, this.#requester);",
    replace: "metrics.socketFrames.inc({ type }); const caller = this.#caller!;",
    tests: ["http/event-sockets"],
  },
  {
    name: "sockets: those without a token stay",
    find: '() => this.#refuse(new ParleyError("request_timeout", "The first frame did not arrive in time.")),',
    replace: "() => {},",
    tests: ["http/event-sockets"],
  },
  {
    name: "sockets: a frame may have any size",
    find: "maxPayload: this.#context.limits.maxSocketFrameBytes,",
    replace: "",
    tests: ["attacks/websockets"],
  },
  {
    name: "sockets: a client that reads no events stays",
    find: "const stalled = setTimeout(() => this.#wire.destroy(), this.#core.limits.eventStallMs);",
    replace: "const stalled = setTimeout(() => {}, this.#core.limits.eventStallMs);",
    tests: ["http/event-sockets"],
  },
  {
    name: "sockets: pings of the protocol are not counted",
    find: "try { this.#count(); }",
    replace: "try { if (!this.#caller) this.#count(); }",
    tests: ["http/event-sockets"],
  },
  {
    name: "sockets: text that is no UTF-8 is accepted",
    find: "handleProtocols: () => SUBPROTOCOL,",
    replace: "handleProtocols: () => SUBPROTOCOL, skipUTF8Validation: true,",
    tests: ["attacks/websocket-frames"],
  },
  {
    name: "sockets: a client that answers no ping stays",
    find: 'this.#hangUp("request_timeout");',
    replace: "this.#isPinged = false;",
    tests: ["http/event-sockets"],
  },
  {
    name: "sockets: a client whose pong cannot be read is cut",
    find: "if (this.#isPinged && !this.#isWorking) {",
    replace: "if (this.#isPinged) {",
    tests: ["http/event-sockets"],
  },
  {
    name: "sockets: events keep a dead WebSocket open",
    find: "if (performance.now() >= this.#checkAt) this.beat(() => {});",
    replace: "",
    tests: ["http/event-sockets"],
  },
  {
    name: "sockets: answers do not wait for the client to read",
    find: "this.#ws.send(JSON.stringify(frame), () => resolve());",
    replace: "this.#ws.send(JSON.stringify(frame)); resolve();",
    tests: ["http/event-sockets"],
  },
  {
    name: "sockets: a stop leaves those without a token",
    find: "for (const ws of this.#server?.clients ?? []) ws.close(GOING_AWAY);",
    replace: "",
    tests: ["http/event-sockets"],
  },
];
