/** Whether this is Node, and no browser. */
export const isNode = globalThis.process?.versions?.node !== undefined;

/** What works with paths. Throws a TypeError where there are none. */
export async function nodeFiles() {
  if (!isNode) throw new TypeError("Paths are for Node alone: a page has a File or a Blob.");
  return import("./node-files.ts");
}
