import {
  NEWEST,
  type PageEnvelope,
  type PageFields,
  type PageRequest,
  toPageRequest,
} from "../../core/resource/page.ts";
import type { Turns } from "../../core/resource/turns.ts";
import { sendJson } from "./json.ts";
import type { Call } from "./operation.ts";
import { inTurns } from "./turns.ts";

/** Fields of a query that are left out of the links to other pages. */
const CURSORS = ["starting_after", "ending_before", "around", ""];

/** Answers with the requested page, and with links to the next and previous ones in a `Link` header (RFC 8288). */
export async function sendPage<Q extends PageFields>(
  call: Pick<Call<never, never>, "core" | "caller" | "request" | "reply"> & { query: Q },
  list: (page: PageRequest<Q>, turns: Turns) => Promise<PageEnvelope>,
): Promise<void> {
  const { core, query, request, reply } = call;
  const wanted = toPageRequest(query);
  const page = await inTurns(call, (turns) => list(wanted, turns));
  const { first, last } = page;
  // A page after or before a cursor is never the outermost on that side: the item of the cursor is there, or was.
  const isLast = !page.has_more && !wanted.newer;
  const isFirst = !(page.has_newer ?? (wanted.newer ? page.has_more : wanted.cursor !== NEWEST));
  if (first !== null && last !== null && !(isFirst && isLast)) {
    const { id = "" } = request.params as { id?: string };
    const path = request.routeConfig.url!.replace(":id", id);
    const address = `${core.origin()}${path}?${keptFields(request.query as string)}`;
    const links: string[] = [];
    if (!isLast) links.push(`<${address}starting_after=${last}>; rel="next"`);
    if (!isFirst) links.push(`<${address}ending_before=${first}>; rel="prev"`);
    reply.header("link", links.join(", "));
  }
  sendJson(reply, `{"has_more":${page.has_more},"data":[${page.data.join(",")}]}`);
}

/** Returns the query without its cursor. Each field ends with an ampersand. */
function keptFields(query: string): string {
  let kept = "";
  for (const field of query.split("&")) {
    if (!CURSORS.includes(decodeURIComponent(field.split("=", 1)[0]!))) kept += `${field}&`;
  }
  return kept;
}
