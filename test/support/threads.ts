// Records the threads that this process starts from here on. Load the modules that start them afterwards, by
// `import()`.
import { syncBuiltinESMExports } from "node:module";
import workerThreads, { type Worker } from "node:worker_threads";

/** Oldest first, including ended ones. */
export const threads: Worker[] = [];

workerThreads.Worker = class extends workerThreads.Worker {
  constructor(...options: ConstructorParameters<typeof Worker>) {
    super(...options);
    threads.push(this);
  }
};
syncBuiltinESMExports();
