import type { Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import type { WebSocket } from "ws";
import { eventTypes } from "../../core/events/event-types.ts";
import { announceTyping } from "../../core/events/typing.ts";
import { markRead, readFields as readPosition } from "../../core/messages/conversations.ts";
import type { Caller } from "../../core/node/caller.ts";
import type { RenderedEvent, TypingFrame } from "../../core/node/event-hub.ts";
import {
  anyText,
  choice,
  type Fields,
  optional,
  readFields,
  readNewFields,
  reference,
} from "../../core/resource/fields.ts";
import { knownForm } from "../../core/resource/known-form.ts";
import { type ErrorCode, ParleyError } from "../../errors.ts";
import { errorFields } from "../../util/log.ts";
import { ACT_AS } from "./acting.ts";
import { authenticate, requireScope, tokenOf } from "./authentication.ts";
import { parseJson } from "./bodies.ts";
import type { Requester } from "./client-address.ts";
import type { HttpContext } from "./context.ts";
import { EventStream, type OnLeft, toSubscription, type Wire } from "./event-stream.ts";
import { statusOf } from "./problems.ts";
import { KEY_HEADER } from "./sessions.ts";

const firstFields = {
  token: optional(anyText),
  session: optional(anyText),
  act_as: optional(anyText),
  after: optional(anyText),
  types: optional(eventTypes),
};
const pingFields = { type: choice("ping", "read", "typing") };
const typingFields = { type: anyText, conversation_id: reference("cnv") };
const readingFields = { ...typingFields, ...readPosition };

/** Errors of a frame that close the connection. */
const CLOSING: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "malformed_body",
  "missing_token",
  "invalid_token",
  "user_paused",
  "rate_limited",
]);

/** The endpoint is going away, and an unexpected condition (RFC 6455, section 7.4.1). */
export const GOING_AWAY = 1001;
const UNEXPECTED = 1011;
/** Codes for private use begin here: the status of the error follows. */
const PRIVATE = 4000;

/** The handshake of a WebSocket. */
interface Handshake {
  requester: Requester;
  /** Whether the page that opened it, if any, is one of this server. */
  isSameOrigin: boolean;
  /** Held until the client has sent a valid token, or is gone. */
  slot: Disposable;
}

/**
 * Carries a stream over a WebSocket (RFC 6455), and does what the frames of its client ask for, one after another. The first
 * frame has the token and starts the stream.
 */
export class EventSocket implements Wire {
  readonly transport = "websocket";
  readonly #context: HttpContext;
  readonly #ws: WebSocket;
  readonly #socket: Socket;
  readonly #isSameOrigin: boolean;
  /** Undefined after the first frame has arrived. */
  #patience: NodeJS.Timeout | undefined;
  #slot: Disposable | undefined;
  #requester: Requester;
  /** Both are set once the stream has started. */
  #stream: EventStream | undefined;
  #caller: Caller | undefined;
  /** Frames that wait: at most those of one read, because the connection is paused meanwhile. */
  readonly #frames: string[] = [];
  #isWorking = false;
  /** Whether the peer has sent nothing since the last ping. */
  #isPinged = false;
  /** When to look whether the peer has sent anything, by `performance.now`. */
  #checkAt: number;

  constructor(context: HttpContext, ws: WebSocket, socket: Socket, handshake: Handshake) {
    this.#context = context;
    this.#ws = ws;
    this.#socket = socket;
    this.#requester = handshake.requester;
    this.#isSameOrigin = handshake.isSameOrigin;
    this.#slot = handshake.slot;
    const { socketFirstFrameMs, eventHeartbeatMs } = context.limits;
    this.#checkAt = performance.now() + eventHeartbeatMs;
    this.#patience = setTimeout(
      () => this.#refuse(new ParleyError("request_timeout", "The first frame did not arrive in time.")),
      socketFirstFrameMs,
    );
    ws.on("message", (data, isBinary) => this.#onMessage(isBinary ? undefined : String(data)));
    ws.on("ping", () => this.#onControl());
    ws.on("pong", () => (this.#isPinged ? this.#onHeard() : this.#onControl()));
    // It closes itself then.
    ws.on("error", () => {});
    ws.once("close", () => {
      clearTimeout(this.#patience);
      this.#freeSlot();
    });
  }

  onClose(closed: () => void): void {
    if (this.#ws.readyState === this.#ws.CLOSED) closed();
    else this.#ws.once("close", closed);
  }

  onQuiet(ms: number, quiet: () => void): void {
    // Uses the timer that each connection has anyway. It restarts whenever something is sent or received. Look after reading the
    // bytes that have arrived: the client is not to blame if this process was blocked.
    this.#socket.setTimeout(ms).on("timeout", () => void setImmediate().then(quiet));
  }

  send(events: readonly RenderedEvent[], onLeft: OnLeft): void {
    // Events keep the connection from being quiet, and prove nothing about the peer.
    if (performance.now() >= this.#checkAt) this.beat(() => {});
    for (const { json } of events.slice(0, -1)) this.#ws.send(json);
    this.#ws.send(events.at(-1)!.json, onLeft);
  }

  sendTyping({ json }: TypingFrame): void {
    if (!this.#socket.writableNeedDrain) this.#ws.send(json, { binary: false });
  }

  /**
   * Sends a ping, or closes the connection if the last one is unanswered. An answer cannot be read while a frame is handled: the
   * connection is paused.
   */
  beat(onLeft: OnLeft): void {
    if (this.#isPinged && !this.#isWorking) {
      this.#hangUp("request_timeout");
      onLeft();
      return;
    }
    this.#isPinged = true;
    this.#checkAt = performance.now() + this.#context.limits.eventHeartbeatMs;
    this.#ws.ping(undefined, false, onLeft);
  }

  end(code: ErrorCode): void {
    this.#ws.close(toCloseCode(code), code);
  }

  destroy(): void {
    this.#ws.terminate();
  }

  #onHeard(): void {
    this.#isPinged = false;
    this.#checkAt = performance.now() + this.#context.limits.eventHeartbeatMs;
  }

  /** Counts a control frame as a request. */
  #onControl(): void {
    this.#onHeard();
    // It arrived in one read with the first frame, whose token is still being checked.
    if (!this.#caller && !this.#patience) return;
    try {
      this.#count();
    } catch (error) {
      this.#refuse(error);
    }
  }

  /** Throws `rate_limited`, and `malformed_body` before the first frame. */
  #count(): void {
    if (!this.#caller) throw new ParleyError("malformed_body", "The first frame must have a token.");
    this.#context.rates.count(this.#caller);
  }

  #onMessage(text: string | undefined): void {
    // Frames that arrived before the peer learned of the end.
    if (this.#ws.readyState !== this.#ws.OPEN) return;
    clearTimeout(this.#patience);
    this.#patience = undefined;
    this.#onHeard();
    if (text === undefined) void this.#refuse(new ParleyError("malformed_body", "Send text frames."));
    else if (this.#frames.push(text) === 1 && !this.#isWorking) void this.#work();
  }

  async #work(): Promise<void> {
    this.#isWorking = true;
    this.#ws.pause();
    for (let text = this.#frames.shift(); text !== undefined; text = this.#frames.shift()) {
      try {
        await (this.#stream ? this.#handle(parseJson(text)) : this.#begin(parseJson(text)));
      } catch (error) {
        await this.#refuse(error);
      }
      if (this.#ws.readyState !== this.#ws.OPEN) this.#frames.length = 0;
      // One read can bring thousands.
      else if (this.#frames.length > 0) await setImmediate();
    }
    this.#ws.resume();
    this.#isWorking = false;
  }

  /** Starts the stream. Throws what a request for server-sent events would be answered. */
  async #begin(fields: Fields): Promise<void> {
    const { token, session, act_as, after, types } = readNewFields(firstFields, fields);
    // A page of another origin cannot send these headers of HTTP requests either.
    if (!this.#isSameOrigin && (session ?? act_as) !== undefined) throw new ParleyError("origin_not_allowed");
    const { headers, ...rest } = this.#requester;
    this.#requester = {
      ...rest,
      headers: {
        authorization: token === undefined ? undefined : `Bearer ${token}`,
        cookie: session === undefined ? undefined : headers.cookie,
        [KEY_HEADER]: session,
        [ACT_AS.toLowerCase()]: act_as,
      },
    };
    const { core } = this.#context;
    const caller = await authenticate(this.#context, this.#requester);
    requireScope(caller, "events:read");
    const valid = tokenOf(core, this.#requester)!;
    const subscription = await toSubscription(core, caller, valid, { types, lastId: after, param: "after" });
    const stream = new EventStream(core, this, subscription);
    await stream.open();
    this.#freeSlot();
    this.#stream = stream;
    this.#caller = caller;
    this.#ws.send(JSON.stringify({ type: "ready", last_event_id: subscription.lastId }));
    stream.start();
  }

  /** Does what a frame asks for, as the endpoint of the same name does. */
  async #handle(fields: Fields): Promise<void> {
    const { core, metrics } = this.#context;
    const type = fields.get("type");
    if (type !== "read" && type !== "typing") {
      this.#count();
      readFields(pingFields, fields);
      metrics.socketFrames.inc({ type: "ping" });
      return this.#reply({ type: "pong" });
    }
    metrics.socketFrames.inc({ type });
    const caller = await authenticate(this.#context, this.#requester);
    requireScope(caller, "messages:write");
    if (type === "read") {
      const { conversation_id, ...position } = readFields(readingFields, fields);
      await markRead(core, caller, toConversation(conversation_id), position);
    } else {
      const { conversation_id } = readFields(typingFields, fields);
      await announceTyping(core, caller, toConversation(conversation_id));
    }
  }

  /** Sends the error, and closes the connection if nothing else can follow. */
  #refuse(error: unknown): void | Promise<void> {
    const known = error instanceof ParleyError ? error : new ParleyError("internal_error");
    const { code, message: detail } = known;
    if (known !== error || known.cause)
      this.#context.log.error({ request_id: this.#requester.id, ...errorFields(error) }, "frame failed");
    const frame = { type: "error", code, detail };
    if (this.#stream && !CLOSING.has(code)) return this.#reply(frame);
    this.#ws.send(JSON.stringify(frame));
    this.#hangUp(code);
  }

  /** Resolves when the frame has left, so that a client that reads nothing is not answered any more. */
  #reply(frame: object): Promise<void> {
    return new Promise((resolve) => {
      this.#ws.send(JSON.stringify(frame), () => resolve());
    });
  }

  #hangUp(code: ErrorCode): void {
    this.#stream?.end(code);
    this.end(code);
  }

  #freeSlot(): void {
    this.#slot?.[Symbol.dispose]();
    this.#slot = undefined;
  }
}

function toConversation(id: string): string {
  return knownForm(id, "cnv", "conversation_not_found");
}

function toCloseCode(code: ErrorCode): number {
  if (code === "unavailable") return GOING_AWAY;
  const status = statusOf(code);
  return status < 500 ? PRIVATE + status : UNEXPECTED;
}
