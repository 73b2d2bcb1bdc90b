// Removes the APIs of the browser that React Native 0.88 does not have.
const missing = ["EventSource", "indexedDB", "BroadcastChannel", "crypto", "ReadableStream"];
for (const name of missing) Object.defineProperty(globalThis, name, { value: undefined });
Object.defineProperty(Navigator.prototype, "locks", { value: undefined });
for (const name of ["arrayBuffer", "bytes", "stream", "text"])
  Object.defineProperty(Blob.prototype, name, { value: undefined });

export {};
