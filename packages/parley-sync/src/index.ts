export type { AroundState, AroundView } from "./around.ts";
export { type Batch, memoryStore, type Store, type Value } from "./store.ts";
export { openSync, type Sync, type SyncOptions } from "./sync.ts";
export type * from "./types.ts";
export type { TypingView } from "./typing.ts";
