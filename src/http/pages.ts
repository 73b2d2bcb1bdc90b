import type { FastifyReply, FastifyRequest } from "fastify";
import type { Core } from "../core/core.ts";
import type { PageOf, PageRequest } from "../core/page.ts";

/** Answers with a page, and with the addresses of its neighbours in a `Link` header (RFC 8288). */
export function sendPage<T extends { id: string }>(
  core: Core,
  request: FastifyRequest,
  reply: FastifyReply,
  asked: PageRequest,
  page: PageOf<T>,
): PageOf<T> {
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
  return page;
}

function link(core: Core, request: FastifyRequest, cursor: string, id: string, relation: string): string {
  const url = new URL(core.origin() + request.routeOptions.url!);
  const mark = request.raw.url!.indexOf("?");
  url.search = mark === -1 ? "" : request.raw.url!.slice(mark);
  url.searchParams.delete("starting_after");
  url.searchParams.delete("ending_before");
  url.searchParams.set(cursor, id);
  return `<${url.href}>; rel="${relation}"`;
}
