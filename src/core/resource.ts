export { checkVersion, type Expected } from "../db/version.ts";

/** A resource as it is served, with what its ETag is made of. */
export interface Versioned {
  /** Its JSON text. */
  json: string;
  /** The row's version, a number; where the window counts, "-" and the window behind it, or of a contact when it was last active. */
  version: string;
  /** Whether it is what the first request with the same Idempotency-Key was answered. */
  replayed?: boolean;
}

/** The id of a resource: the first member of its JSON text, whatever it is. */
export function idOf(json: string): string {
  const start = '{"id":"'.length;
  return json.slice(start, json.indexOf('"', start));
}
