// The URLs (#admin/…) of the administration, and which tokens may open which part of the console.

export interface AdminPlace {
  /** Empty for the overview. */
  section: string;
  /** Empty for a list. */
  id: string;
  query: URLSearchParams;
}

export function isAdminPlace(place: string): boolean {
  return /^admin(?:$|[/?])/.test(place);
}

/** Whether the administration is all that the console can show to these scopes. */
export function isAdminAlone(scopes: readonly string[]): boolean {
  return scopes.includes("admin") && !scopes.some((scope) => /^(?:contacts|messages):/.test(scope));
}

/** Returns the place of the URL if these scopes allow it, otherwise one that they allow. */
export function toAllowedPlace(place: string, scopes: readonly string[]): string {
  if (!scopes.includes("admin")) return isAdminPlace(place) ? "" : place;
  return isAdminAlone(scopes) && !isAdminPlace(place) ? "admin" : place;
}

export function parsePlace(place: string): AdminPlace {
  const [path = "", query = ""] = place.split("?");
  const [, section = "", id = ""] = path.split("/");
  return { section, id, query: new URLSearchParams(query) };
}

export function toUserPlace(id: string): string {
  return `#admin/users/${id}`;
}

export function toWebhookPlace(id: string): string {
  return `#admin/webhooks/${id}`;
}

/** Returns the URL of the audit trail with these filters. */
export function toAuditPlace(filters: Record<string, string>): string {
  return `#admin/audit?${new URLSearchParams(filters)}`;
}
