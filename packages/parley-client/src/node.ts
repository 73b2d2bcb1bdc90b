/** Whether this runs in Node, not in a browser. */
export const isNode = globalThis.process?.versions?.node !== undefined;

/** Loads the functions for paths. Throws a TypeError in browsers. */
export async function nodeFiles() {
  if (!isNode) throw new TypeError("Paths work only in Node. In a browser, pass a File or a Blob.");
  return import("./node-files.ts");
}
