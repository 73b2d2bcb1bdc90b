import { connectionError, type ErrorCode, ParleyApiError, parseJson } from "./errors.ts";
import type { Transport } from "./transport.ts";
import type { Event, StreamEvent } from "./types.ts";

const SUBPROTOCOL = "parley.1";
/** The server answers the first frame within this time, or something between does not pass frames on. */
const READY_MS = 10_000;
/** After so long without a frame the client asks whether the server is there. Pages do not see the server's own pings. */
const QUIET_MS = 20_000;
const ANSWER_MS = 15_000;
/** Close codes of refusals are this number and the HTTP status. */
const PRIVATE = 4000;

/** Follows events on one connection. */
export interface Follow {
  /** The id of the event after which to begin; undefined for the next event. */
  after: string | undefined;
  signal: AbortSignal;
  /** Called once the server has accepted, with the id of the event after which it begins. */
  onReady: (id: string) => void;
  onEvent: (event: StreamEvent) => void;
}

/** A frame of the server. */
type Frame =
  | { type: "ready"; last_event_id: string }
  | { type: "error"; code: ErrorCode; detail: string }
  | { type: "pong" }
  | StreamEvent;

/**
 * Follows events over a WebSocket. Rejects when it ends: with the refusal if the server refused the first frame, otherwise
 * with `connection_failed` or `timeout`.
 */
export async function followSocket(
  Socket: typeof WebSocket,
  transport: Transport,
  { after, signal, onReady, onEvent }: Follow,
): Promise<never> {
  const first = JSON.stringify({ ...(await transport.credentials()), after });
  signal.throwIfAborted();
  const socket = open(Socket, transport);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const wait = (ms: number, then: () => void) => {
    clearTimeout(timer);
    timer = setTimeout(then, ms);
  };
  const { promise, reject } = withReject();
  const giveUp = () => {
    const detail = "The server sent nothing over the WebSocket for too long.";
    reject(new ParleyApiError({ code: "timeout", status: 0, detail }));
  };
  const ask = () => {
    socket.send('{"type":"ping"}');
    wait(ANSWER_MS, giveUp);
  };
  let isReady = false;
  let refusal: { code: ErrorCode; detail: string } | undefined;
  const abort = () => reject(signal.reason);
  signal.addEventListener("abort", abort);
  socket.onopen = () => socket.send(first);
  socket.onmessage = ({ data }) => {
    if (isReady) wait(QUIET_MS, ask);
    const frame = parseJson(String(data)) as Frame | undefined;
    if (frame?.type === "ready") {
      isReady = true;
      wait(QUIET_MS, ask);
      onReady(frame.last_event_id);
    } else if (frame?.type === "error") refusal = frame;
    else if (frame?.type === "typing" || isNumbered(frame)) onEvent(frame);
  };
  socket.onclose = ({ code }) => reject(toError(code, isReady ? undefined : refusal));
  wait(READY_MS, giveUp);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close();
  }
}

function open(Socket: typeof WebSocket, transport: Transport): WebSocket {
  try {
    return new Socket(transport.socketUrl(["v1", "events"]), SUBPROTOCOL);
  } catch (error) {
    // The policy of a page may not allow it.
    throw connectionError(error);
  }
}

/** `Promise.withResolvers` is missing in Node 20. */
function withReject(): { promise: Promise<never>; reject: (error: unknown) => void } {
  let reject!: (error: unknown) => void;
  const promise = new Promise<never>((_resolve, rejectIt) => {
    reject = rejectIt;
  });
  return { promise, reject };
}

/** Reports whether a frame is an event. Later servers may send other frames. */
function isNumbered(frame: Frame | undefined): frame is Event {
  return (frame as Partial<Event> | undefined)?.sequence !== undefined;
}

/**
 * After the first frame was accepted, the next connection shows whether the server still does. A first frame that came too late, for
 * example because the device slept, was not refused.
 */
function toError(
  closeCode: number,
  refusal: { code: ErrorCode; detail: string } | undefined,
): ParleyApiError {
  if (refusal === undefined || refusal.code === "request_timeout")
    return connectionError(new Error(`the WebSocket was closed with ${closeCode}`));
  const { code, detail } = refusal;
  const status = closeCode > PRIVATE ? closeCode - PRIVATE : code === "unavailable" ? 503 : 500;
  return new ParleyApiError({ code, status, detail });
}
