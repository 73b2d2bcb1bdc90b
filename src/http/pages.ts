import type { FastifyReply, FastifyRequest } from "fastify";
import type { Core } from "../core/core.ts";
import type { PageOf, PageRequest } from "../core/page.ts";
import { idOf } from "../core/resource.ts";
import { sendJson } from "./json.ts";

/** Fields of a query that are not taken over to a neighbour's. */
const CURSORS = ["starting_after", "ending_before", ""];

/** Answers with a page, and with the addresses of its neighbours in a `Link` header (RFC 8288). */
export function sendPage(
  core: Core,
  request: FastifyRequest,
  reply: FastifyReply,
  asked: PageRequest,
  page: PageOf,
): void {
  const first = page.data[0];
  const last = page.data.at(-1);
  const newer = asked.ending_before !== undefined;
  const links: string[] = [];
  // On the side that the walk came from there is at least the item of the cursor, or was.
  if (last && (page.has_more || newer)) links.push(link(core, request, "starting_after", idOf(last), "next"));
  if (first && (newer ? page.has_more : asked.starting_after !== undefined)) {
    links.push(link(core, request, "ending_before", idOf(first), "prev"));
  }
  if (links.length > 0) reply.header("link", links.join(", "));
  sendJson(reply, `{"has_more":${page.has_more},"data":[${page.data.join(",")}]}`);
}

function link(core: Core, request: FastifyRequest, cursor: string, id: string, relation: string): string {
  const url = request.raw.url!;
  const mark = url.indexOf("?");
  const fields = mark === -1 ? [] : url.slice(mark + 1).split("&");
  const kept = fields.filter((field) => !CURSORS.includes(decodeURIComponent(field.split("=", 1)[0]!)));
  const query = [...kept, `${cursor}=${id}`].join("&");
  return `<${core.origin()}${request.routeOptions.url}?${query}>; rel="${relation}"`;
}
