import type { Scope } from "../../src/core/access/tokens.ts";
import type { Operation } from "../../src/http/protocol/operation.ts";

/** A route, and the scope that a token must have for it; undefined: any will do. */
interface RouteScope {
  method: string;
  /** As the router takes it. */
  path: string;
  /** As the docs show it. */
  shown: string;
  scope: Scope | undefined;
  /** Also needed without fields. */
  readScope?: Scope | undefined;
}

/** Every route that wants a token. */
export function routeScopes(operations: readonly Operation[]): RouteScope[] {
  return operations
    .filter(({ access }) => access !== "open")
    .map(({ method, path, id, scope, readScope }) => ({
      method,
      path,
      shown: path.replace(":id", `{${id?.name}}`).replace(/:(\w+)/g, "{$1}"),
      scope,
      readScope,
    }));
}

/** The lines by which the pages of the API show each endpoint with its scope. */
export function scopeLines(operations: readonly Operation[]): string[] {
  return routeScopes(operations).map(({ method, shown, scope, readScope }) => {
    const wanted = scope === undefined ? "any token" : `scope \`${scope}\``;
    const instead = shown.startsWith("/files/") ? ", or a signed link" : "";
    const also = readScope ? `; without fields also \`${readScope}\`` : "";
    return `\`${method} ${shown}\` · ${wanted}${instead}${also}`;
  });
}
