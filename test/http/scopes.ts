import type { Scope } from "../../src/core/tokens.ts";
import type { Operation } from "../../src/http/operation.ts";

/** A route, and the scope that a token must have for it; undefined: any will do. */
interface RouteScope {
  method: string;
  /** As the router takes it. */
  path: string;
  scope: Scope | undefined;
}

/** Every route that wants a token. */
export function routeScopes(operations: readonly Operation[]): RouteScope[] {
  return [
    ...operations.map(({ method, path, scope }) => ({ method, path, scope })),
    { method: "GET", path: "/files/:id/:filename", scope: "attachments:read" },
    { method: "GET", path: "/metrics", scope: "admin" },
  ];
}

/** The reference of the scopes as a table in Markdown. */
export function scopesReference(operations: readonly Operation[]): string {
  const rows = routeScopes(operations).map(({ method, path, scope }) => {
    const wanted = scope === undefined ? "any token" : `\`${scope}\``;
    const instead = path.startsWith("/files/") ? ", or a signed link" : "";
    return `| \`${method} ${path.replace(/:(\w+)/g, "{$1}")}\` | ${wanted}${instead} |`;
  });
  return ["| route | scope |", "|---|---|", ...rows].join("\n");
}
