import type { FastifyReply, FastifyRequest } from "fastify";
import type { Core } from "../../core/core.ts";
import type { PageEnvelope, PageRequest } from "../../core/page.ts";
import { idOf } from "../../core/resource.ts";
import { sendJson } from "./json.ts";

/** Fields of a query that are not taken over to a neighbour's. */
const CURSORS = ["starting_after", "ending_before", ""];

/** Answers with a page, and with the addresses of its neighbours in a `Link` header (RFC 8288). */
export function sendPage(
  core: Core,
  request: FastifyRequest,
  reply: FastifyReply,
  asked: PageRequest,
  page: PageEnvelope,
): void {
  const first = page.data[0];
  const last = page.data.at(-1);
  const newer = asked.ending_before !== undefined;
  const neighbours: [cursor: string, id: string, relation: string][] = [];
  // On the side that the walk came from there is at least the item of the cursor, or was.
  if (last && (page.has_more || newer)) neighbours.push(["starting_after", idOf(last), "next"]);
  if (first && (newer ? page.has_more : asked.starting_after !== undefined)) {
    neighbours.push(["ending_before", idOf(first), "prev"]);
  }
  if (neighbours.length > 0) {
    const address = `${core.origin()}${request.routeOptions.url}?${keptFields(request.raw.url!)}`;
    const links = neighbours.map(
      ([cursor, id, relation]) => `<${address}${cursor}=${id}>; rel="${relation}"`,
    );
    reply.header("link", links.join(", "));
  }
  sendJson(reply, `{"has_more":${page.has_more},"data":[${page.data.join(",")}]}`);
}

/** The query of an address but for its cursor, each field with an ampersand behind it. */
function keptFields(url: string): string {
  const mark = url.indexOf("?");
  const fields = mark === -1 ? [] : url.slice(mark + 1).split("&");
  let kept = "";
  for (const field of fields) {
    if (!CURSORS.includes(decodeURIComponent(field.split("=", 1)[0]!))) kept += `${field}&`;
  }
  return kept;
}
