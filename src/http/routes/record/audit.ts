import type { FastifyReply, FastifyRequest } from "fastify";
import {
  type AuditFilters,
  auditFilters,
  auditResource,
  exportAudit,
  listAudit,
} from "../../../core/record/audit-trail.ts";
import type { Shape } from "../../../core/resource/fields.ts";
import { pageFields } from "../../../core/resource/page.ts";
import { described, text } from "../../../core/resource/schema.ts";
import type { Turns } from "../../../core/resource/turns.ts";
import { ParleyError } from "../../../errors.ts";
import { errorFields } from "../../../util/log.ts";
import { mediaType } from "../../protocol/bodies.ts";
import { type Call, type Operation, operation } from "../../protocol/operation.ts";
import { sendPage } from "../../protocol/pages.ts";
import { sendChunks } from "../../protocol/send-file.ts";
import { inTurns } from "../../protocol/turns.ts";

/** The media types of JSON Lines. */
const LINES = ["application/jsonl", "application/x-ndjson"];

export const auditOperation: Operation = operation({
  name: "listAudit",
  method: "GET",
  path: "/v1/audit",
  scope: "admin",
  summary: "Read the audit trail in pages, or export it as JSON lines",
  query: { ...pageFields("aud"), ...auditFilters },
  answer: {
    status: 200,
    page: auditResource,
    content: Object.fromEntries(
      LINES.map((type) => [
        type,
        described(text, "All entries that match, oldest first: each line is the JSON of one AuditEntry."),
      ]),
    ),
  },
  async handle(call) {
    const { core, query, request, reply } = call;
    reply.header("vary", "accept");
    const type = linesWanted(request);
    if (type) {
      const given = ["limit", "starting_after", "ending_before"].find((name) => name in query);
      if (given === undefined) return inTurns(call, (turns) => sendLines(call, query, type, turns));
      throw new ParleyError(
        "unknown_parameter",
        `${given} works with pages only. Leave it out, or request application/json.`,
        { param: given },
      );
    }
    return sendPage(call, (page, turns) => listAudit(core, page, turns));
  },
});

/** Returns the type of JSON Lines that the client prefers, if any. */
function linesWanted(request: FastifyRequest): string | undefined {
  const first = mediaType(request.headers.accept?.split(",", 1)[0]);
  return LINES.find((type) => type === first);
}

async function sendLines(
  { core, caller, request, reply, log }: Omit<Call<Shape, Shape>, "query" | "body">,
  filters: AuditFilters,
  type: string,
  turns: Turns,
): Promise<FastifyReply> {
  // Wait for a turn first: an answer that has begun cannot be refused.
  await turns.next();
  reply.header("content-type", type);
  if (request.method === "HEAD") return reply.send();
  // The answer has begun, so an error can only be logged. The client notices the closed connection.
  await sendChunks(reply, bytesOf(exportAudit(core, filters, caller.userId, turns.isAborted))).catch(
    (error) =>
      log.error({ request_id: request.id, ...errorFields(error) }, "an export of the audit trail was cut"),
  );
  return reply;
}

async function* bytesOf(texts: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  for await (const text of texts) yield Buffer.from(text);
}
