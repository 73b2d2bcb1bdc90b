import type { ServerResponse } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import { isStillValid } from "../../core/access/authentication.ts";
import { eventResource, typingEventResource } from "../../core/events/event-fields.ts";
import { type Listener, type RenderedEvent, SENT_AT_ONCE } from "../../core/events/event-hub.ts";
import { findStart, listEvents, newestEventId, nextEvents } from "../../core/events/events.ts";
import { renderEvents } from "../../core/events/render.ts";
import { eventTypes, shownTypes, showsTyping, TYPING } from "../../core/events/shown-types.ts";
import { optional, pageFields, toPageRequest } from "../../core/fields.ts";
import { anyOf, described, text } from "../../core/schema.ts";
import { ParleyError } from "../../errors.ts";
import { isId } from "../../util/ids.ts";
import { tokenOf } from "../protocol/authentication.ts";
import { mediaType } from "../protocol/bodies.ts";
import { type Call, type Operation, operation } from "../protocol/operation.ts";
import { sendPage } from "../protocol/pages.ts";
import { sendChunks } from "../protocol/send-file.ts";

const STREAM = "text/event-stream";

const frames = described(
  { ...text, contentSchema: anyOf(eventResource, typingEventResource) },
  "Server-sent events; `contentSchema` is that of the data of each.",
);

/** Changes of what the caller sees, in pages or as a stream (https://html.spec.whatwg.org/#server-sent-events). */
export const eventOperation: Operation = operation({
  name: "listEvents",
  method: "GET",
  path: "/v1/events",
  scope: "events:read",
  summary: "Read events in pages, or as a stream with `Accept: text/event-stream`",
  query: { ...pageFields("evt"), types: optional(eventTypes) },
  body: {},
  answer: {
    status: 200,
    page: eventResource,
    content: { [STREAM]: frames },
    headers: ["Last-Event-ID"],
  },
  headers: {
    "Last-Event-ID": described(
      { ...text, pattern: "^evt_" },
      "The stream continues after this event. Without it, it begins with the next event.",
    ),
  },
  errors: ["events_erased", "too_many_streams"],
  async handle(call) {
    const { core, caller, query, request, reply } = call;
    reply.header("vary", "accept");
    if (mediaType(request.headers.accept?.split(",", 1)[0]) !== STREAM) {
      refuseTyping(query.types);
      const page = toPageRequest(query);
      // Read before the page, so that no event is on neither side of it.
      reply.header("last-event-id", await newestEventId(core, caller));
      return sendPage(core, request, reply, page, await listEvents(core, caller, page));
    }
    const given = ["limit", "starting_after", "ending_before"].find((name) => name in query);
    if (given === undefined) return stream(call as never, query.types);
    throw new ParleyError(
      "unknown_parameter",
      `${given} works with pages only. A stream continues after the Last-Event-ID header, or starts now.`,
      { param: given },
    );
  },
});

function refuseTyping(types: readonly string[] | undefined): void {
  if (!types?.includes(TYPING)) return;
  throw new ParleyError(
    "invalid_parameter",
    `${TYPING} works with streams only: send Accept: ${STREAM}, or leave it out of types.`,
    { param: "types" },
  );
}

async function stream(
  { core, caller, request, reply }: Pick<Call<never, never>, "core" | "caller" | "request" | "reply">,
  asked: readonly string[] | undefined,
): Promise<FastifyReply> {
  const types = shownTypes(caller.scopes, asked);
  const lastId = lastEventId(request) ?? (await newestEventId(core, caller));
  const after = await findStart(core, caller, lastId);
  reply.header("content-type", STREAM);
  reply.header("last-event-id", lastId);
  if (request.method === "HEAD") return reply.send();
  const token = tokenOf(request)!;
  let at = after;
  /** Up to this number there are events to read; infinite while it is not known how far. */
  let told = Number.POSITIVE_INFINITY;
  const pause = new Pause();
  let isHeartbeatDue = false;
  // Not restarted by events: those of other types send nothing.
  const heartbeat = setInterval(() => {
    isHeartbeatDue = true;
    pause.end("");
  }, core.limits.eventHeartbeatMs);
  const ended = new AbortController();
  const listener: Listener = {
    userId: caller.userId,
    waitsAfter: () => (pause.isOn ? at : undefined),
    send: (events, upTo) => {
      at = upTo;
      const shown = events.filter(({ type }) => !types || types.includes(type));
      pause.end(shown.map(frame).join(""));
    },
    wake: (upTo) => {
      told = Math.max(told, upTo);
      pause.end("");
    },
    sendTyping: showsTyping(caller.scopes, asked) ? (frame) => sendNow(reply.raw, frame) : () => {},
    isAllowed: () => isStillValid(core, token, caller.userId),
    end: () => {
      ended.abort();
      pause.end("");
    },
  };
  reply.raw.once("close", listener.end);

  async function* chunks(): AsyncGenerator<Uint8Array> {
    // Sends the headers at once.
    yield Buffer.from(": listening\n\n");
    while (!ended.signal.aborted) {
      if (isHeartbeatDue) {
        isHeartbeatDue = false;
        yield Buffer.from(":\n\n");
        continue;
      }
      if (told <= at) {
        const frames = await pause.begin();
        if (frames !== "") yield Buffer.from(frames);
        continue;
      }
      // All that was told until now is there to be read.
      told = 0;
      const next = await nextEvents(core, caller.userId, at, types);
      // A client that resumes gets the error.
      if (!next) return;
      if (next.hasMore) told = Number.POSITIVE_INFINITY;
      at = next.after;
      // A few are rendered when those before have left: a slow client gets nothing that it must not see any more.
      for (let i = 0; i < next.events.length && !ended.signal.aborted; i += SENT_AT_ONCE) {
        const some = next.events.slice(i, i + SENT_AT_ONCE);
        yield Buffer.from((await renderEvents(core, caller.userId, some)).map(frame).join(""));
      }
    }
  }

  try {
    await core.eventHub.add(core, listener);
    // A stream ends with its connection (RFC 9112, section 6.3): framed as chunks, each write takes three buffers.
    reply.header("connection", "close");
    reply.raw.removeHeader("transfer-encoding");
    await sendChunks(reply, chunks(), core.limits.eventStallMs);
  } finally {
    core.eventHub.remove(listener);
    clearInterval(heartbeat);
  }
  return reply;
}

/** Sends a frame beside what the stream sends, unless the client reads slowly. */
function sendNow(raw: ServerResponse, frame: Uint8Array): void {
  if (raw.headersSent && !raw.writableEnded && !raw.writableNeedDrain) raw.write(frame);
}

/** The wait of a stream for what it sends next. */
class Pause {
  #end: ((frames: string) => void) | undefined;

  get isOn(): boolean {
    return this.#end !== undefined;
  }

  begin(): Promise<string> {
    const { promise, resolve } = Promise.withResolvers<string>();
    this.#end = resolve;
    return promise;
  }

  end(frames: string): void {
    this.#end?.(frames);
    this.#end = undefined;
  }
}

function frame({ id, type, json }: RenderedEvent): string {
  return `id: ${id}\nevent: ${type}\ndata: ${json}\n\n`;
}

function lastEventId(request: FastifyRequest): string | undefined {
  const id = request.headers["last-event-id"] as string | undefined;
  if (id === undefined || id === "") return undefined;
  if (isId("evt", id)) return id;
  throw new ParleyError("invalid_parameter", "Last-Event-ID must be the id of one of your events (evt_…).", {
    param: "Last-Event-ID",
  });
}
