// The threads that this process starts, noted from here on: load what starts them afterwards, by `import()`.
import { syncBuiltinESMExports } from "node:module";
import workerThreads, { type Worker } from "node:worker_threads";

/** Oldest first, ended ones included. */
export const threads: Worker[] = [];

workerThreads.Worker = class extends workerThreads.Worker {
  constructor(...options: ConstructorParameters<typeof Worker>) {
    super(...options);
    threads.push(this);
  }
};
syncBuiltinESMExports();
