export { checkVersion, type Expected } from "../db/version.ts";

/** A resource as it is served. */
export interface Resource {
  id: string;
  /** Its JSON text. */
  json: string;
}

/** A resource with what its ETag is made of: the version of its row, and of attachments the window of their links. */
export interface Versioned extends Resource {
  /** The row's version, a number; where the window counts, "-" and the window behind it. */
  version: string;
}
