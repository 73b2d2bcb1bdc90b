export { checkVersion, type Expected } from "../db/version.ts";

/** A resource with what its ETag is made of: the version of its row, and of attachments the window of their links. */
export interface Versioned<T> {
  resource: T;
  /** The row's version, a number; where the window counts, "-" and the window behind it. */
  version: string;
}
