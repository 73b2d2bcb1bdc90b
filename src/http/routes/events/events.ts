import type { FastifyReply } from "fastify";
import { eventResource, typingEventResource } from "../../../core/events/event-fields.ts";
import { eventTypes, TYPING } from "../../../core/events/event-types.ts";
import { listEvents, newestEventId } from "../../../core/events/events.ts";
import { optional } from "../../../core/resource/fields.ts";
import { pageFields } from "../../../core/resource/page.ts";
import { anyOf, described, text } from "../../../core/resource/schema.ts";
import { ParleyError } from "../../../errors.ts";
import { tokenOf } from "../../protocol/authentication.ts";
import { mediaType } from "../../protocol/bodies.ts";
import { isUpgraded } from "../../protocol/event-sockets.ts";
import { EventStream, SentEvents, toSubscription } from "../../protocol/event-stream.ts";
import { type Call, type Operation, operation } from "../../protocol/operation.ts";
import { sendPage } from "../../protocol/pages.ts";
import { sendHead } from "../../protocol/send-file.ts";

const STREAM = "text/event-stream";

const frames = described(
  { ...text, contentSchema: anyOf(eventResource, typingEventResource) },
  "Server-sent events; `contentSchema` is that of the data of each.",
);

/** Lists changes that the caller sees, in pages or as a stream (https://html.spec.whatwg.org/#server-sent-events). */
export const eventOperation: Operation = operation({
  name: "listEvents",
  method: "GET",
  path: "/v1/events",
  scope: "events:read",
  summary: "Read events in pages, or as a stream with `Accept: text/event-stream`",
  description:
    "With `Upgrade: websocket` and the subprotocol `parley.1` the connection becomes a WebSocket. The token is then in the first frame, not in a header.",
  upgrades: true,
  query: { ...pageFields("evt"), types: optional(eventTypes) },
  answer: {
    status: 200,
    page: eventResource,
    content: { [STREAM]: frames },
    headers: ["Last-Event-ID", "X-Accel-Buffering"],
  },
  headers: {
    "Last-Event-ID": described(
      { ...text, pattern: "^evt_" },
      "The stream continues after this event. Without it, it begins with the next event.",
    ),
  },
  errors: ["events_erased", "too_many_streams", "origin_not_allowed"],
  async handle(call) {
    const { core, caller, query, request, reply } = call;
    if (isUpgraded(request.raw)) return openSocket(call as never, query);
    reply.header("vary", "accept");
    if (mediaType(request.headers.accept?.split(",", 1)[0]) !== STREAM) {
      refuseTyping(query.types);
      return sendPage(call, async (page, turns) => {
        // Read the newest id before the page: no event may be missing from both the page and a stream after that id.
        reply.header("last-event-id", await newestEventId(core, caller));
        return listEvents(core, caller, page, turns);
      });
    }
    const given = ["limit", "starting_after", "ending_before"].find((name) => name in query);
    if (given === undefined) return startStream(call as never, query.types);
    throw new ParleyError(
      "unknown_parameter",
      `${given} works with pages only. A stream continues after the Last-Event-ID header, or starts now.`,
      { param: given },
    );
  },
});

function openSocket(
  { sockets, request, reply }: Pick<Call<never, never>, "sockets" | "request" | "reply">,
  query: object,
): Promise<FastifyReply> {
  const [given] = Object.keys(query);
  if (given === undefined) return sockets.accept(request, reply);
  throw new ParleyError(
    "unknown_parameter",
    `${given} works with pages and server-sent events only. A WebSocket has its fields in its first frame.`,
    { param: given },
  );
}

function refuseTyping(types: readonly string[] | undefined): void {
  if (!types?.includes(TYPING)) return;
  throw new ParleyError(
    "invalid_parameter",
    `${TYPING} works with streams only: send Accept: ${STREAM}, or leave it out of types.`,
    { param: "types" },
  );
}

async function startStream(
  { core, caller, request, reply }: Pick<Call<never, never>, "core" | "caller" | "request" | "reply">,
  types: readonly string[] | undefined,
): Promise<FastifyReply> {
  const sent = request.headers["last-event-id"] as string | undefined;
  const subscription = await toSubscription(core, caller, tokenOf(core, request)!, {
    types,
    lastId: sent || undefined,
    param: "Last-Event-ID",
  });
  reply.header("content-type", STREAM);
  reply.header("last-event-id", subscription.lastId);
  // Without this header nginx buffers the stream.
  reply.header("x-accel-buffering", "no");
  if (request.method === "HEAD") return reply.send();
  const stream = new EventStream(core, new SentEvents(reply.raw), subscription);
  await stream.open();
  // Not chunked: each write would take three buffers. The end of the connection ends the stream (RFC 9112, section 6.3).
  reply.header("connection", "close");
  reply.raw.removeHeader("transfer-encoding");
  sendHead(reply);
  reply.raw.write(": listening\n\n");
  stream.start();
  return reply;
}
