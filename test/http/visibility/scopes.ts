import { SCOPES, type Scope } from "../../../src/core/people/tokens.ts";
import type { Operation } from "../../../src/http/protocol/operation.ts";

/** A route and the scope that it needs; undefined: any token. */
interface RouteScope {
  method: string;
  /** As in the router. */
  path: string;
  /** As in the docs. */
  shown: string;
  scope: Scope | undefined;
  /** The scope admin also suffices. */
  orAdmin?: true | undefined;
  /** Also needed, even without fields. */
  readScope?: Scope | undefined;
  /** With fields, `readScope` is needed, too. */
  showsOthers?: true | undefined;
}

const shownPath = ({ path, id }: Operation) =>
  path.replace(":id", `{${id?.name}}`).replace(/:(\w+)/g, "{$1}");

/** Opens only by a link, never by a token. */
const isByLink = ({ access, scope }: Operation) => access === "link" && scope === undefined;

/** Returns every route that needs a token. */
export function routeScopes(operations: readonly Operation[]): RouteScope[] {
  return operations
    .filter((operation) => operation.access !== "open" && !isByLink(operation))
    .map((operation) => ({ ...operation, shown: shownPath(operation) }))
    .map(({ method, path, shown, scope, orAdmin, readScope, showsOthers }) => ({
      method,
      path,
      shown,
      scope,
      orAdmin,
      readScope,
      showsOthers,
    }));
}

/** Returns the lines of the API pages that show each endpoint with its scope. */
export function scopeLines(operations: readonly Operation[]): string[] {
  const byLink = operations.filter(isByLink).map((operation) => {
    const needed = "signature" in operation.query ? "a signed link" : "no token";
    return `\`${operation.method} ${shownPath(operation)}\` · ${needed}`;
  });
  const byToken = routeScopes(operations).map(({ method, shown, scope, orAdmin, readScope, showsOthers }) => {
    const wanted = scope === undefined ? "any token" : `scope \`${scope}\``;
    const instead = shown.startsWith("/files/") ? ", or a signed link" : "";
    const other = orAdmin ? " or `admin`" : "";
    const word = showsOthers ? " and" : "; without fields also";
    const also = readScope ? `${word} \`${readScope}\`` : "";
    return `\`${method} ${shown}\` · ${wanted}${other}${instead}${also}`;
  });
  return [...byToken, ...byLink];
}

/** Returns all scopes except those that open the route. */
export function otherScopes({ scope, orAdmin }: Pick<RouteScope, "scope" | "orAdmin">): Scope[] {
  return SCOPES.filter((each) => each !== scope && !(orAdmin && each === "admin"));
}
