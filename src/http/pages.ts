import type { FastifyReply, FastifyRequest } from "fastify";
import type { Core } from "../core/core.ts";
import type { PageOf, PageRequest } from "../core/page.ts";
import { sendJson } from "./json.ts";

/** A field of a query that is a cursor, or nothing. */
const CURSOR = /^(?:(?:starting_after|ending_before)=.*)?$/;

/** Answers with a page, and with the addresses of its neighbours in a `Link` header (RFC 8288). */
export function sendPage(
  core: Core,
  request: FastifyRequest,
  reply: FastifyReply,
  asked: PageRequest,
  page: PageOf,
): FastifyReply {
  const first = page.data[0];
  const last = page.data.at(-1);
  const newer = asked.ending_before !== undefined;
  const links: string[] = [];
  // On the side that the walk came from there is at least the item of the cursor, or was.
  if (last && (page.has_more || newer)) links.push(link(core, request, "starting_after", last.id, "next"));
  if (first && (newer ? page.has_more : asked.starting_after !== undefined)) {
    links.push(link(core, request, "ending_before", first.id, "prev"));
  }
  if (links.length > 0) reply.header("link", links.join(", "));
  return sendJson(
    reply,
    `{"has_more":${page.has_more},"data":[${page.data.map(({ json }) => json).join(",")}]}`,
  );
}

function link(core: Core, request: FastifyRequest, cursor: string, id: string, relation: string): string {
  const url = request.raw.url!;
  const mark = url.indexOf("?");
  const kept =
    mark === -1
      ? []
      : url
          .slice(mark + 1)
          .split("&")
          .filter((field) => !CURSOR.test(field));
  const query = [...kept, `${cursor}=${id}`].join("&");
  return `<${core.origin()}${request.routeOptions.url}?${query}>; rel="${relation}"`;
}
