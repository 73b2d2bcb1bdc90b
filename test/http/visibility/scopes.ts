import { SCOPES, type Scope } from "../../../src/core/people/tokens.ts";
import type { Operation } from "../../../src/http/protocol/operation.ts";

/** A route, and the scope that a token must have for it; undefined: any will do. */
interface RouteScope {
  method: string;
  /** As the router takes it. */
  path: string;
  /** As the docs show it. */
  shown: string;
  scope: Scope | undefined;
  /** The scope admin does instead. */
  orAdmin?: true | undefined;
  /** Also needed without fields. */
  readScope?: Scope | undefined;
  /** `readScope` is needed with fields, too. */
  showsOthers?: true | undefined;
}

const shownPath = ({ path, id }: Operation) =>
  path.replace(":id", `{${id?.name}}`).replace(/:(\w+)/g, "{$1}");

/** Only a link opens it, and no token. */
const isByLink = ({ access, scope }: Operation) => access === "link" && scope === undefined;

/** Every route that wants a token. */
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

/** The lines by which the pages of the API show each endpoint with its scope. */
export function scopeLines(operations: readonly Operation[]): string[] {
  const byLink = operations
    .filter(isByLink)
    .map((operation) => `\`${operation.method} ${shownPath(operation)}\` · a signed link`);
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

/** All scopes without those by which the route lets a token in. */
export function otherScopes({ scope, orAdmin }: Pick<RouteScope, "scope" | "orAdmin">): Scope[] {
  return SCOPES.filter((each) => each !== scope && !(orAdmin && each === "admin"));
}
