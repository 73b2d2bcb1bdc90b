import type { Lookup } from "../util/words.ts";
import type { QuickReader, Reader, Statement, ValuesReader } from "./sql.ts";
import type { Write } from "./write.ts";
import type { writes } from "./writes.ts";

type Writes = typeof writes;
export type WriteName = keyof Writes;
export type WriteInput<N extends WriteName> = Parameters<Writes[N]>[0];
export type WriteResult<N extends WriteName> = ReturnType<Writes[N]> extends Write<infer T> ? T : never;

/** Callbacks from a database to its process. */
export interface Callbacks {
  /** Called when any node may have published or numbered events, or revoked tokens. */
  onEvents(): void;
  /** Called with texts that a node has broadcast. */
  onBroadcast(texts: readonly string[]): void;
  /** Called if the search index was damaged and is being rebuilt. */
  onDamagedIndex(cause: unknown): void;
  /** Called if a newer release has migrated the database to this version, which this one does not support. */
  onOutdated(version: number): void;
}

export const NO_CALLBACKS: Callbacks = {
  onEvents() {},
  onBroadcast() {},
  onDamagedIndex() {},
  onOutdated() {},
};

/** The connections of a node to a database server, for its operator. The counts are since the start. */
export interface ConnectionStats {
  used: number;
  idle: number;
  /** How often a write was repeated because it conflicted with another. */
  conflicts: number;
  /** How often the session was lost, and with it the claims on background work. */
  lostSessions: number;
}

/** A database of either engine. Writes are named and take plain data, so that they can run anywhere. */
export interface Database extends QuickReader {
  /** Reads for requests that read a lot. Other reads and all writes come first. */
  readonly background: ValuesReader;
  /** Runs reads that all see one committed state, with every write answered before. Few run at once, so others wait. */
  snapshot<T>(work: (db: QuickReader) => Promise<T>): Promise<T>;
  /**
   * Runs a named write in a transaction. Resolves only once it is durable. Rejects with the error that the write threw, or
   * with `unavailable` or `disk_full` if the engine failed. Rejects with `outcome_unknown`, or with an unknown error, if
   * it is not known whether the transaction committed.
   */
  write<N extends WriteName>(name: N, input: WriteInput<N>): Promise<WriteResult<N>>;
  /**
   * Returns bodies of messages that have an entry in the search index, in no order, at most `limit`, some possibly twice.
   * `keys` are the keys of their conversations (`queries/search/search.ts`).
   */
  findBodies(keys: readonly string[], lookup: Lookup, limit: number): Promise<number[]>;
  /** True if events have their numbers when they are committed, so that `numberEvents` has nothing to do. */
  readonly numbersEvents: boolean;
  /** Changes whenever any process revokes a token; null if it is not known now. */
  revocations(): number | null;
  /** Returns the time of the database server in Unix milliseconds; null if it is unknown, or the clock is that of this machine. */
  serverTime(): number | null;
  /** Null without a database server. */
  connectionStats(): ConnectionStats | null;
  /** Reports whether this process may do this kind of background work now. Only one of those that share a database may. */
  claim(work: string): Promise<boolean>;
  /** Sends short ASCII texts without line breaks to all nodes, this one included. They are stored nowhere, and may be lost. */
  broadcast(texts: readonly string[]): void;
  /** Returns the number of waiting writes. */
  queueLength(): number;
  close(): Promise<void>;
}

/** Reads the search index, to compare it with the texts. */
export interface IndexReader {
  /** Finds the bodies of this range of ids that have the words: one row for each word of each body. */
  find(words: readonly string[], from: number, to: number): Statement<{ body_id: number }>;
  /** Yields the bodies that are in the index and have no text, once each. */
  bodiesWithoutText(db: Reader): AsyncGenerator<number>;
}
